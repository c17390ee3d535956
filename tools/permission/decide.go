package permission

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
	"mvdan.cc/sh/v3/syntax"

	"parley/tools/lazy"
)

// Decide returns the effect of the rules on a call, and the rule that decides; ok is false
// if none matches. If any rules ask or deny, an opaque command line asks unless a rule
// allows it word for word, or the sandbox hides all programs that rules deny. The rule that
// decides is then one that denies.
func (rs Rules) Decide(c Call) (effect Effect, by Rule, ok bool) {
	var line *parser
	if c.Tool == shellTool {
		line = parseLine(c.Command)
		if c.Foreign {
			line.opaque, line.notSimple = true, "is not in POSIX syntax"
		}
	}
	isOpaque := sync.OnceValue(func() bool {
		return line != nil && (line.opaque || slices.ContainsFunc(line.cmds, func(cmd Command) bool { return isOpaque(cmd.Words, cmd.fed) }))
	})
	var blind Rule
	for _, effect := range []Effect{Deny, Ask} {
		for _, r := range rs {
			switch {
			case r.Effect != effect || !appliesTo(r, c):
			case r.Match == "" || matchesWide(r, c, line):
				return effect, r, true
			case blind.Tool == "" && (isOpaque() || matchesCommand(r, line, true)) && !(r.Effect == Deny && r.Program() != "" && c.Hides != nil && c.Hides(r.Program())): // unless it cannot run at all
				blind = r
			}
		}
	}
	by, ok = rs.findAllow(c, line)
	if blind.Tool != "" && (!ok || by.Match == "") {
		return Ask, blind, true
	}
	return by.Effect, by, ok
}

// appliesTo reports whether r is for the tool, or the file's class, in the workspace of c.
func appliesTo(r Rule, c Call) bool {
	if r.Workspace != "" && r.Workspace != c.Workspace {
		return false
	}
	if start, family := strings.CutSuffix(r.Tool, "*"); family {
		return strings.HasPrefix(c.Tool, start)
	}
	return r.Tool == c.Tool || namesClass(r, c)
}

func namesClass(r Rule, c Call) bool { return c.Class != "" && r.Tool == c.Class && r.Match == "" }

// matchesWide reports whether a rule that asks or denies matches a call.
func matchesWide(r Rule, c Call, line *parser) bool {
	switch c.Tool {
	case shellTool:
		if strings.TrimSpace(r.Match) == strings.TrimSpace(c.Command) {
			return true
		}
		return matchesCommand(r, line, false)
	case fetchTool:
		name, _, err := net.SplitHostPort(c.Host)
		if err != nil {
			name = c.Host
		}
		below := strings.TrimPrefix(r.Match, "*.")
		return c.Host == below || name == below || strings.HasSuffix(name, "."+below)
	}
	ok, _ := doublestar.Match(strings.ToLower(r.Match), strings.ToLower(c.Path))
	return ok && c.Path != "" // ignore letter case, as some file systems do
}

// matchesCommand reports whether a rule matches a command of a line, or, with guess, could match one depending on
// the values of words that are not known.
func matchesCommand(r Rule, line *parser, guess bool) bool {
	if line == nil {
		return false
	}
	wanted := commandWords(r)
	return len(wanted) > 0 && slices.ContainsFunc(line.cmds, func(cmd Command) bool { return !(guess && cmd.isLoose) && begins(cmd.Words, wanted, guess) })
}

// commandWords returns the words of Match if it is exactly one command; nil otherwise, in
// which case the rule matches its exact text only.
func commandWords(r Rule) []string {
	line := parseLine(r.Match)
	why := cmp.Or(line.notSimple, line.notBare)
	if len(line.list) != 1 || why != "" && !strings.HasPrefix(why, dynamicReason) {
		return nil
	}
	return line.list[0].Words
}

// begins reports whether a command begins with the words of a rule in a wide sense:
// the program may be in any directory, options may be anywhere and combined, and
// further options may come between the words. With guess, a word whose value is not known
// matches any value it may have.
func begins(words, wanted []string, guess bool) bool {
	words, wanted = gitWords(words), gitWords(wanted)
	if len(words) == 0 || !strings.EqualFold(programName(words[0]), programName(wanted[0])) {
		return false
	}
	if len(words) > maxOpaqueWords {
		if guess {
			return true
		}
		words = words[:maxOpaqueWords]
	}
	values := opaqueArgsFor(programName(words[0]))
	reached := make([]bool, len(words)+1) // the words before this index are matched or may be skipped
	reached[1] = true
	for _, want := range wanted[1:] {
		if strings.HasPrefix(want, "-") {
			if !hasOption(words[1:], want) && !(guess && slices.ContainsFunc(words[1:], mayBeOption)) {
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
			if guess && !isDynamic(want) && mayBe(words[i], want) && !values.takesNext(words[i-1]) {
				next[i], next[i+1] = true, true // the word may expand to several
			}
			if strings.HasPrefix(words[i], "-") || isDynamic(words[i]) {
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

// hasOption reports whether words have an option; -rf counts as -r -f.
func hasOption(words []string, want string) bool {
	short, letters := "", strings.TrimPrefix(want, "-")
	for _, word := range words {
		if word == want || strings.HasPrefix(word, want+"=") {
			return true
		}
		if isShort(word) {
			short += word[1:]
		}
	}
	return !strings.HasPrefix(letters, "-") && strings.Trim(letters, short) == ""
}

// findAllow returns the narrowest rule that allows c. For a list of commands, which needs
// one rule each, it returns the narrowest of these.
func (rs Rules) findAllow(c Call, line *parser) (Rule, bool) {
	find := func(holds func(Rule) bool) (Rule, bool) {
		i := slices.IndexFunc(rs, func(r Rule) bool { return r.Effect == Allow && appliesTo(r, c) && holds(r) })
		if i < 0 {
			return Rule{}, false
		}
		return rs[i], true
	}
	for _, holds := range []func(Rule) bool{
		func(r Rule) bool { return r.IsLiteral() && matchesExactly(r, c) },
		func(r Rule) bool { return namesClass(r, c) },
		func(r Rule) bool { return r.Match != "" && matchesExactly(r, c) },
	} {
		if r, ok := find(holds); ok {
			return r, true
		}
	}
	if line != nil && line.notSimple == "" && !line.isWrapped {
		if by, ok := allowList(c, line.list, find); ok {
			return by, true
		}
	}
	return find(func(r Rule) bool { return r.Match == "" })
}

// allowList returns the rule that allows least of those that find finds for each command of a list in reverse
// order; ok is false if a command has none.
func allowList(c Call, list []Command, find func(holds func(Rule) bool) (Rule, bool)) (by Rule, ok bool) {
	moved := false
	for _, cmd := range slices.Backward(list) {
		if !moved && !cmd.piped && entersFolder(cmd.Words, c.Workspace) {
			moved = true // only one cd: with two, a failed first one would matter
			continue
		}
		r, ok := find(func(r Rule) bool { return r.Match != "" && coversCommand(r, cmd.Words, c.Workspace) })
		if !ok || len(list) > 1 && refusalReason(programName(cmd.Words[0])) == reasonAltersShell && !isNarrow(cmd.Words) ||
			moved && !isSameBelow(cmd.Words) || cmd.piped && !isFilter(cmd.Words) {
			return Rule{}, false
		}
		if by.Tool == "" || r.Sandboxed {
			by = r
		}
	}
	return by, by.Tool != "" // and not only cd commands
}

// entersFolder reports whether words only change to an existing directory of the workspace.
func entersFolder(words []string, workspace string) bool {
	if len(words) != 2 || words[0] != "cd" || workspace == "" || os.Getenv("CDPATH") != "" {
		return false
	}
	dir := words[1]
	if dir == "" || isDynamic(dir) || strings.HasPrefix(dir, "-") || !staysInside(dir, "/") {
		return false
	}
	if filepath.IsAbs(dir) {
		var err error
		if dir, err = filepath.Rel(workspace, dir); err != nil {
			return false
		}
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return false
	}
	defer root.Close()
	info, err := root.Stat(dir)
	return err == nil && info.IsDir()
}

// isSameBelow reports whether words are the same command in a subdirectory: its program is not a
// file of that directory, and no word leads out of it.
func isSameBelow(words []string) bool {
	local := !filepath.IsAbs(words[0]) && strings.Contains(words[0], "/")
	return !local && !slices.ContainsFunc(words, func(word string) bool { return !staysInside(word, "/") })
}

// isFilter reports whether a command is safe with any input: its name alone can be a prefix, and it
// does not interpret its input as code.
func isFilter(words []string) bool {
	name := programName(words[0])
	if why := refusalReason(name); why != "" && why != reasonKnown && !isNarrow(words) {
		return false
	}
	return !opaqueArgsFor(name).is["=code"] && !isOpaque(words, true)
}

// matchesExactly reports whether an allowing rule names exactly the target of a call.
func matchesExactly(r Rule, c Call) bool {
	switch c.Tool {
	case shellTool:
		return !r.Prefix && strings.TrimLeft(r.Match, blanks) == strings.TrimLeft(c.Command, blanks)
	case fetchTool:
		if below, wide := strings.CutPrefix(r.Match, "*"); wide {
			return strings.HasSuffix(c.Host, below) && c.Host != below
		}
		return c.Host != "" && r.Match == c.Host
	}
	ok, _ := doublestar.Match(r.Match, c.Path)
	return ok && c.Path != ""
}

// coversCommand reports whether an allowing rule matches one simple command.
func coversCommand(r Rule, words []string, folder string) bool {
	if name, _, _ := strings.Cut(r.Match, " "); unquotedWord.MatchString(name) && (len(words) == 0 || name != words[0]) {
		return false // fast path: most rules are for another program
	}
	own, err := singleCommand(r.Match)
	if err != nil {
		return false
	}
	if !r.Prefix {
		return slices.Equal(own, words)
	}
	if len(own) < 2 || own[1] != "--no-pager" {
		words = withoutNoPager(words)
	}
	if len(words) < len(own) || !slices.Equal(own, words[:len(own)]) || refusePrefix(own) != "" {
		return false
	}
	if isNarrow(own) {
		return narrowFollows(words, len(own), folder)
	}
	unchecked := len(harmlessArgsOf(own).exprs["!"]) > 0
	return !slices.ContainsFunc(words[len(own):], func(word string) bool {
		pattern, dynamic := strings.CutPrefix(word, dynamicMark)
		return dynamic && unchecked || !mayFollow(own, pattern, folder)
	})
}

// Validate reports why a rule, if it allows, can never match; nil otherwise.
func Validate(r Rule) error {
	if r.Tool != shellTool || !r.Prefix {
		return nil
	}
	words, err := singleCommand(r.Match)
	if err != nil {
		return fmt.Errorf("rule %q: the part before the asterisk %w", r, err)
	}
	if why := refusePrefix(words); why != "" {
		return fmt.Errorf("rule %q: only exact commands can be allowed, for %s", r, why)
	}
	return nil
}

// CountWords returns the number of words of a line's longest command that can have prefix
// rules; otherwise an error.
func CountWords(command string) (most int, err error) {
	list, err := simpleList(command, maxLine)
	for _, cmd := range list {
		most = max(most, len(cmd.Words))
	}
	return most, err
}

// simpleList returns the commands of a line that rules can match individually. With most 1, the line is one
// command alone. The error completes the sentence "the command …".
func simpleList(line string, most int) ([]Command, error) {
	r := parseLine(line)
	why := r.notSimple
	if len(r.list) < 2 || most == 1 {
		why = cmp.Or(why, r.notBare)
	}
	for _, cmd := range r.list {
		if i := slices.IndexFunc(cmd.Words, isDynamic); i >= 0 {
			why = cmp.Or(why, dynamicReason+strings.TrimPrefix(cmd.Words[i], dynamicMark))
		}
	}
	if len(r.list) > most {
		why = cmp.Or(why, fmt.Sprintf("contains %d commands", len(r.list)))
	}
	if why != "" {
		return nil, errors.New(why)
	}
	slices.Reverse(r.list) // the list is in reverse order
	return r.list, nil
}

// singleCommand returns the words of a line that is one simple command, which may run
// others.
func singleCommand(line string) ([]string, error) {
	list, err := simpleList(line, 1)
	if err != nil {
		return nil, err
	}
	return list[0].Words, nil
}

// PrefixRules returns the rules that allow all commands beginning with the first n words of a simple
// command. For a list, such as a pipe, it returns one rule for each command, which may have fewer
// words. The rules allow the line itself.
func PrefixRules(command string, n int) (rules Rules, err error) {
	list, err := simpleList(command, maxLine)
	if err != nil {
		return nil, fmt.Errorf("only this exact command can be allowed: it %w", err)
	}
	if most, _ := CountWords(command); n < 1 || n > most {
		return nil, fmt.Errorf("the command has no %d words", n)
	}
	for _, cmd := range list {
		r, err := prefixRule(cmd.Words[:min(n, len(cmd.Words))])
		if err != nil {
			return nil, err
		}
		if !slices.Contains(rules, r) {
			rules = append(rules, r)
		}
	}
	if _, _, ok := rules.Decide(Call{Tool: shellTool, Command: command}); !ok && len(list) > 1 {
		return nil, errors.New("its commands are not allowed together by a rule for each")
	}
	return rules, nil
}

// prefixRule returns the rule that allows all commands that begin with words.
func prefixRule(words []string) (Rule, error) {
	if why := refusePrefix(words); why != "" {
		return Rule{}, errors.New(why)
	}
	var out []string
	for i, word := range words {
		if !unquotedWord.MatchString(word) {
			if i == 0 {
				return Rule{}, fmt.Errorf("the name of the program, %q, needs quotes", word)
			}
			quoted, err := syntax.Quote(word, syntax.LangPOSIX)
			if err != nil {
				return Rule{}, err
			}
			if quoted == word { // unquoted letters could be mistaken for others
				quoted = "'" + word + "'"
			}
			word = quoted
		}
		out = append(out, word)
	}
	return Rule{Effect: Allow, Tool: shellTool, Match: strings.Join(out, " "), Prefix: true}, nil
}

// unquotedWord matches words that need no quotes.
var unquotedWord = lazy.NewRegexp(`^[A-Za-z0-9_./:@%+=,^-]+$`)

// parseHost normalizes a host of a rule.
func parseHost(s string) (string, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	if !hostName.MatchString(s) {
		return "", errors.New("this is no host")
	}
	return strings.TrimSuffix(s, "."), nil
}

var hostName = lazy.NewRegexp(`^(\*\.)?[^ \t\n/@?#\\*]*[^ \t\n/@?#\\*.][^ \t\n/@?#\\*]*$`)
