package permission

import (
	_ "embed"
	"maps"
	"path"
	"regexp"
	"strings"
	"sync"

	"parley/tools/lazy"
)

// Arguments that may follow a prefix without a question.
//
// A rule "git log *" was meant for git log -3 and git log main.go, not for git
// log --output=/etc/cron.d/x. Nobody can list all options that make a program
// write, run or reach something, so it is the other way around: options ask,
// unless they are part of the prefix or known only to choose and show
// (options.txt); and so do words that programs take for settings and lists
// of arguments (NAME=value, +x, @file), that lead out of the workspace or that
// match what the table never lets follow. Abbreviated options are not known ones.

//go:embed options.txt
var optionText string

// harmlessArgs holds the arguments that may follow a program's name.
type harmlessArgs struct {
	options    map[string]bool
	forbidden  []*regexp.Regexp // words that may not follow, whatever the options are
	harmless   []*regexp.Regexp // words that may, though they look like settings
	singleDash bool             // long options have one dash, so that letters cannot be combined
}

// add adds one item of options.txt.
func (a *harmlessArgs) add(item string) {
	if word, ok := strings.CutPrefix(item, "=/"); ok {
		a.harmless = append(a.harmless, regexp.MustCompile(strings.TrimSuffix(word, "/")))
		return
	}
	body, without := strings.CutPrefix(item, "!")
	expr, isExpr := strings.CutPrefix(body, "/")
	switch {
	case without && isExpr:
		a.forbidden = append(a.forbidden, regexp.MustCompile(strings.TrimSuffix(expr, "/")))
	case without:
		delete(a.options, body)
	default:
		a.options[item] = true
		a.singleDash = a.singleDash || len(item) > 2 && item[1] != '-'
	}
}

// harmlessTable parses options.txt into a map from a program, or a program and its command,
// to its arguments. Known letters may be combined, as in -la, with digits in between.
var harmlessTable = sync.OnceValue(func() map[string]*harmlessArgs {
	table, names := map[string]*harmlessArgs{}, []string(nil)
	for line := range strings.Lines(optionText) {
		body, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "\t")
		switch {
		case body == "", strings.HasPrefix(body, "#"):
		case !indented:
			names = strings.Split(strings.TrimSuffix(body, ","), ", ")
			for _, name := range names {
				table[name] = &harmlessArgs{options: map[string]bool{}}
				if all := table[anyProgram]; name != anyProgram {
					maps.Copy(table[name].options, all.options)
				}
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

// anyProgram stands for all programs in options.txt.
const anyProgram = "*"

// harmlessArgsOf returns the arguments that may follow a command.
func harmlessArgsOf(words []string) *harmlessArgs {
	words = withoutNoPager(words)
	table, name, a := harmlessTable(), programName(words[0]), (*harmlessArgs)(nil)
	for i := range min(len(words), 3) { // words of the longest name
		if i > 0 {
			name += " " + words[i]
		}
		if found := table[name]; found != nil {
			a = found
		}
	}
	if a == nil {
		a = table[anyProgram]
	}
	return a
}

// takesValue reports whether word is an option that is not known to be harmless and could
// take the next word for its value.
func takesValue(words []string, word string) bool {
	a := harmlessArgsOf(words)
	return len(words) > 1 && strings.HasPrefix(word, "-") && !strings.Contains(word, "=") && !a.hasOption(word) && !matchesAny(a.harmless, word)
}

// hasOption reports whether a holds an option, by its whole name or letter by letter.
func (a *harmlessArgs) hasOption(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	if a.options[name] {
		return true
	}
	letters := strings.TrimPrefix(word, "-")
	if letters == "" || strings.HasPrefix(letters, "-") || a.singleDash && strings.Trim(letters[1:], "0123456789") != "" {
		return false
	}
	for i, c := range letters {
		switch {
		case c >= '0' && c <= '9', a.options["-"+string(c)], i > 0 && strings.ContainsRune(":;,| ", c): // as in cut -d: -f1
		default:
			return false
		}
	}
	return true
}

var (
	assignment   = lazy.NewRegexp(`^[A-Za-z_][A-Za-z0-9_]*[:?+!]*=`)
	urlScheme    = lazy.NewRegexp(`^[A-Za-z0-9+-]+:(//|:)`) // https://x, and ext::sh of git
	windowsDrive = lazy.NewRegexp(`^[A-Za-z]:[/\\]`)
)

// mayFollow reports whether word may follow a prefix.
func mayFollow(words []string, word, folder string) bool {
	a := harmlessArgsOf(words)
	switch {
	case matchesAny(a.forbidden, word):
		return false
	case matchesAny(a.harmless, word):
		return true
	case word == "-", word == "--":
		return true
	case strings.HasPrefix(word, "-"):
		if !a.hasOption(word) {
			return false
		}
		_, value, _ := strings.Cut(word, "=")
		return !strings.HasPrefix(value, "@") && !urlScheme.MatchString(value) && staysInside(value, folder)
	case strings.HasPrefix(word, "+"), strings.HasPrefix(word, "@"), assignment.MatchString(word), urlScheme.MatchString(word):
		return false
	}
	return staysInside(word, folder)
}

// staysInside reports whether word, should it be a path or contain one as in
// template-file=/etc/x, stays in the workspace; "" is no workspace.
func staysInside(word, folder string) bool {
	for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune(`/\:=,`, r) }) {
		if part == ".." {
			return false
		}
	}
	if windowsDrive.MatchString(word) {
		return false
	}
	for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune(":=,", r) }) {
		if !strings.HasPrefix(part, "/") {
			continue
		}
		clean := path.Clean(part)
		if folder == "" || clean != folder && !strings.HasPrefix(clean, strings.TrimSuffix(folder, "/")+"/") {
			return false
		}
	}
	return true
}
