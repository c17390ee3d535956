package permission

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"mvdan.cc/sh/v3/syntax"
)

// Decide is what the rules say about a call, and the rule that says it; not ok
// if none does. If there are rules that ask or deny, what they cannot see
// through is asked about, unless it is allowed word for word.
func (rs Rules) Decide(c Call) (effect Effect, by Rule, ok bool) {
	var line *reading
	if c.Tool == shell {
		line = read(c.Command)
	}
	var blind Rule
	for _, effect := range []Effect{Deny, Ask} {
		for _, r := range rs {
			switch {
			case r.Effect != effect || !r.about(c):
			case r.Match == "" || r.hits(c, line):
				return effect, r, true
			case line != nil && blind.Tool == "" && line.blind():
				blind = r
			}
		}
	}
	by, ok = rs.allow(c, line)
	if blind.Tool != "" && (!ok || by.Match == "") {
		return Ask, blind, true
	}
	return by.Effect, by, ok
}

// about reports whether r is about the tool in the workspace.
func (r Rule) about(c Call) bool {
	if r.Folder != "" && r.Folder != c.Folder {
		return false
	}
	if start, family := strings.CutSuffix(r.Tool, "*"); family {
		return strings.HasPrefix(c.Tool, start)
	}
	return r.Tool == c.Tool || r.ofClass(c)
}

// ofClass reports whether r names the class of the file that a call is about.
func (r Rule) ofClass(c Call) bool { return c.Class != "" && r.Tool == c.Class && r.Match == "" }

// hits reports whether a rule that asks or denies holds for a call.
func (r Rule) hits(c Call, line *reading) bool {
	switch c.Tool {
	case shell:
		if strings.TrimSpace(r.Match) == strings.TrimSpace(c.Command) {
			return true
		}
		wanted := r.wanted()
		return len(wanted) > 0 && slices.ContainsFunc(line.cmds, func(cmd Command) bool { return begins(cmd.Words, wanted) })
	case fetch:
		name, _, err := net.SplitHostPort(c.Host)
		if err != nil {
			name = c.Host
		}
		below := strings.TrimPrefix(r.Match, "*.")
		return c.Host == below || name == below || strings.HasSuffix(name, "."+below)
	}
	ok, _ := doublestar.Match(strings.ToLower(r.Match), strings.ToLower(c.Path))
	return ok && c.Path != "" // letter case is no way around: on some file systems it does not count
}

// wanted is the words of a rule about commands; nil if it is about more than one
// command, and then holds for its very text only.
func (r Rule) wanted() []string {
	line := read(r.Match)
	if len(line.list) != 1 || line.why != "" && !strings.HasPrefix(line.why, isDynamic) {
		return nil
	}
	return line.list[0].Words
}

// begins reports whether a command is one that begins with the words of a rule,
// taking it wide: the program in any directory; options anywhere and short ones in
// any company; and before each other word as many options as there are.
func begins(words, wanted []string) bool {
	if len(words) == 0 || !strings.EqualFold(program(words[0]), program(wanted[0])) {
		return false
	}
	reached := make([]bool, len(words)+1) // what stands before here was found or may be skipped
	reached[1] = true
	for _, want := range wanted[1:] {
		if strings.HasPrefix(want, "-") {
			if !hasOption(words[1:], want) {
				return false
			}
			continue
		}
		next := make([]bool, len(words)+1)
		for i := 1; i < len(words); i++ {
			if !reached[i] {
				continue
			}
			if words[i] == want {
				next[i+1] = true
			}
			if strings.HasPrefix(words[i], "-") || dynamic(words[i]) {
				reached[i+1] = true
				if i+2 < len(reached) {
					reached[i+2] = true // the option's value
				}
			}
		}
		reached = next
	}
	return slices.Contains(reached, true)
}

// hasOption reports whether an option is among words; -rf is in -r -f too.
func hasOption(words []string, want string) bool {
	short, letters := "", strings.TrimPrefix(want, "-")
	for _, word := range words {
		if word == want || strings.HasPrefix(word, want+"=") {
			return true
		}
		if strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") {
			short += word[1:]
		}
	}
	return !strings.HasPrefix(letters, "-") && strings.Trim(letters, short) == ""
}

// allow finds the rule that allows a call, or the first of the rules that allow
// each a command of a list; the narrowest that there is.
func (rs Rules) allow(c Call, line *reading) (Rule, bool) {
	find := func(holds func(Rule) bool) (Rule, bool) {
		i := slices.IndexFunc(rs, func(r Rule) bool { return r.Effect == Allow && r.about(c) && holds(r) })
		if i < 0 {
			return Rule{}, false
		}
		return rs[i], true
	}
	if r, ok := find(func(r Rule) bool { return r.Literal() && r.same(c) }); ok {
		return r, true
	}
	if r, ok := find(func(r Rule) bool { return r.ofClass(c) }); ok {
		return r, true
	}
	if r, ok := find(func(r Rule) bool { return r.Match != "" && r.same(c) }); ok {
		return r, true
	}
	anything := func(r Rule) bool { return r.Match == "" }
	if line == nil || line.why != "" || line.wrapped != "" {
		return find(anything)
	}
	var first Rule
	for _, cmd := range line.list {
		r, ok := find(func(r Rule) bool { return r.Match != "" && r.covers(cmd.Words, c.Folder) })
		if !ok || len(line.list) > 1 && reason(program(cmd.Words[0])) == alters { // what follows cd is not what it was alone
			return find(anything)
		}
		if first.Tool == "" {
			first = r
		}
	}
	return first, true
}

// same reports whether an allowing rule names just what a call is about.
func (r Rule) same(c Call) bool {
	switch c.Tool {
	case shell:
		return !r.Prefix && strings.TrimLeft(r.Match, blanks) == strings.TrimLeft(c.Command, blanks)
	case fetch:
		if below, wide := strings.CutPrefix(r.Match, "*"); wide {
			return strings.HasSuffix(c.Host, below) && c.Host != below
		}
		return c.Host != "" && r.Match == c.Host
	}
	ok, _ := doublestar.Match(r.Match, c.Path)
	return ok && c.Path != ""
}

// covers reports whether an allowing rule holds for one simple command.
func (r Rule) covers(words []string, folder string) bool {
	own, err := single(r.Match)
	if err != nil {
		return false
	}
	if !r.Prefix {
		return slices.Equal(own, words)
	}
	if len(words) < len(own) || !slices.Equal(own, words[:len(own)]) || refusal(own) != "" {
		return false
	}
	return !slices.ContainsFunc(words[len(own):], func(word string) bool { return !follows(own, word, folder) })
}

// Err says why r, should it allow, could never do so.
func (r Rule) Err() error {
	if r.Tool != shell || !r.Prefix {
		return nil
	}
	words, err := single(r.Match)
	if err != nil {
		return fmt.Errorf("rule %q: what stands before the asterisk %w", r, err)
	}
	if why := refusal(words); why != "" {
		return fmt.Errorf("rule %q: only exact commands can be allowed, for %s", r, why)
	}
	return nil
}

// Words is how many words a command has, if it is one simple command that a
// prefix could stand for, and else why not.
func Words(command string) (int, error) {
	words, err := single(command)
	return len(words), err
}

// Prefix is the rule that allows whatever begins with the first n words of a
// simple command.
func Prefix(command string, n int) (Rule, error) {
	words, err := single(command)
	switch {
	case err != nil:
		return Rule{}, fmt.Errorf("only this exact command can be allowed: it %w", err)
	case n < 1 || n > len(words):
		return Rule{}, fmt.Errorf("the command has no %d words", n)
	}
	if why := refusal(words[:n]); why != "" {
		return Rule{}, errors.New(why)
	}
	var out []string
	for i, word := range words[:n] {
		if !plain.MatchString(word) {
			if i == 0 {
				return Rule{}, fmt.Errorf("the name of the program, %q, needs quotes", word)
			}
			if word, err = syntax.Quote(word, syntax.LangPOSIX); err != nil {
				return Rule{}, err
			}
		}
		out = append(out, word)
	}
	return Rule{Effect: Allow, Tool: shell, Match: strings.Join(out, " "), Prefix: true}, nil
}

// plain are words that need no quotes.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,^-]+$`)

// host is a host as rules name it.
func host(s string) (string, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	if strings.ContainsAny(s, " \t\n/@?#\\") || strings.Contains(strings.TrimPrefix(s, "*."), "*") || strings.Trim(s, ".*") == "" {
		return "", errors.New("this is no host")
	}
	return strings.TrimSuffix(s, "."), nil
}
