package permission

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Some commands start programs that none of their words is: they are told in a
// language of their own, or in code. What deny rules are about can hide there.

// compiled is a regular expression once it is needed: they are many, and a program
// that starts does not wait for them.
func compiled(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

//go:embed unseen.txt
var unseenText string

// An opening is what in the words of a program lets it start others unseen; the
// items of unseen.txt.
type opening struct {
	always, long, first, stdin bool
	options                    []string         // that count
	valued, last               []string         // that take the next word, and behind which nothing counts
	words                      []*regexp.Regexp // any word
	head                       []*regexp.Regexp // the first word
}

func (o *opening) add(item string) {
	expr := func(s string) *regexp.Regexp {
		return regexp.MustCompile(strings.TrimSuffix(strings.TrimPrefix(s, "/"), "/"))
	}
	switch {
	case item == "*":
		o.always = true
	case item == "=long":
		o.long = true
	case item == "=first":
		o.first = true
	case item == "=stdin":
		o.stdin = true
	case strings.HasPrefix(item, "+/"):
		o.head = append(o.head, expr(item[1:]))
	case strings.HasPrefix(item, "/"):
		o.words = append(o.words, expr(item))
	case strings.HasSuffix(item, "+"):
		o.valued = append(o.valued, strings.TrimSuffix(item, "+"))
	case strings.HasSuffix(item, "."):
		o.last = append(o.last, strings.TrimSuffix(item, "."))
	default:
		o.options = append(o.options, item)
	}
}

// openings is unseen.txt by program.
var openings = sync.OnceValue(func() map[string]*opening {
	table, names := map[string]*opening{}, []string(nil)
	for line := range strings.Lines(unseenText) {
		body, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "\t")
		switch {
		case body == "", strings.HasPrefix(body, "#"):
		case !indented:
			names = strings.Split(body, ", ")
			for _, name := range names {
				table[name] = &opening{}
			}
		default:
			for _, name := range names {
				for item := range strings.FieldsSeq(body) {
					table[name].add(item)
				}
			}
		}
	}
	return table
})

// maxUnseen is how many words of a command are looked at for what starts programs
// unseen. With more it may.
const maxUnseen = 300

// unseen reports whether a command can start programs that no rule sees. Fed says
// that what it reads is in the line, as text that is looked at.
func unseen(words []string, fed bool) bool {
	if len(words) == 0 || dynamic(words[0]) {
		return false // which is hidden already
	}
	name, args := program(words[0]), words[1:]
	special, o := closely[name], openings()[name]
	if special == nil && o == nil {
		return false
	}
	if len(args) > maxUnseen {
		return true
	}
	return special != nil && special(args, fed) || o != nil && o.in(args)
}

// blind reports whether a line may start programs that no rule sees.
func (r *reading) blind() bool {
	for i, cmd := range r.cmds {
		if r.hidden {
			break
		}
		r.hidden = unseen(cmd.Words, r.fed[i])
	}
	return r.hidden
}

// understood reports whether a program that is told in a language of its own is told
// nothing that starts others: what it is given is no command.
func understood(words []string) bool {
	switch name := program(words[0]); name {
	case "sed", "gsed", "awk", "gawk", "mawk", "nawk":
		return len(words) > 1 && !unseen(words, false)
	case ".", "source":
		return len(words) > 1 && !dynamic(words[1]) && !device().MatchString(words[1])
	}
	return false
}

// in reports whether an opening is in the arguments of its program.
func (o *opening) in(args []string) bool {
	if o.always {
		return true
	}
	if len(args) > 0 && matches(o.head, args[0]) {
		return true
	}
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case matches(o.words, word), slices.ContainsFunc(o.options, func(option string) bool { return o.is(word, option) }):
			return true
		case slices.ContainsFunc(o.last, func(option string) bool { return o.is(word, option) }):
			return i+1 < len(args) && matches(o.words, args[i+1])
		case slices.Contains(o.valued, word):
			i++
		case o.first && !strings.HasPrefix(word, "-"):
			return false
		}
	}
	return o.stdin
}

func matches(all []*regexp.Regexp, word string) bool {
	return slices.ContainsFunc(all, func(re *regexp.Regexp) bool { return re.MatchString(word) })
}

// is reports whether a word is an option, by its name, abbreviated, or one letter
// among others.
func (o *opening) is(word, option string) bool {
	name, _, _ := strings.Cut(word, "=")
	switch {
	case name == option:
		return true
	case o.long:
		return strings.TrimPrefix(name, "-") == option
	case strings.HasPrefix(option, "--"):
		return len(name) > 2 && strings.HasPrefix(name, "--") && strings.HasPrefix(option, name)
	}
	return len(option) == 2 && strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.Contains(word[1:], option[1:])
}
