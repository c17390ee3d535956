package permission

import (
	_ "embed"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"parley/tools/lazy"
)

// Arguments that may follow a prefix without approval.
//
// A rule "git log *" is meant for git log -3 and git log main.go, not for git log
// --output=/etc/cron.d/x. Nobody can list all options that make a program write,
// run or reach something. So every option needs approval unless it is part of the
// prefix or known to only select or display (options.txt). Approval is also
// needed for words that programs treat as settings or lists of arguments
// (NAME=value, +x, @file), that lead out of the workspace, or that match a
// forbidden pattern of the table. Abbreviated options are not recognized.

//go:embed options.txt
var optionText string

// harmlessArgs describes the arguments that may follow a program's name.
type harmlessArgs struct {
	options    map[string]bool
	forbidden  []*regexp.Regexp // words that never may follow
	harmless   []*regexp.Regexp // words that may follow although they look like settings
	singleDash bool             // long options have one dash, so letters cannot be combined
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
// to its arguments. Known letters may be combined, as in -la, also with digits.
var harmlessTable = sync.OnceValue(func() map[string]*harmlessArgs {
	table := map[string]*harmlessArgs{}
	readTable(optionText, func(name, items string) {
		if table[name] == nil {
			table[name] = &harmlessArgs{options: map[string]bool{}}
			if all := table[anyProgram]; name != anyProgram {
				maps.Copy(table[name].options, all.options)
			}
		}
		for item := range strings.FieldsSeq(items) {
			table[name].add(item)
		}
	})
	return table
})

// readTable calls add for each name of a line that is not indented, with each indented line after it.
func readTable(text string, add func(name, item string)) {
	var names []string
	for line := range strings.Lines(text) {
		switch body, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "\t"); {
		case body == "", strings.HasPrefix(body, "#"):
		case !indented:
			names = strings.Split(body, ", ")
		default:
			for _, name := range names {
				add(name, body)
			}
		}
	}
}

// anyProgram is the entry for all programs in options.txt.
const anyProgram = "*"

// harmlessArgsOf returns the arguments that may follow a command.
func harmlessArgsOf(words []string) *harmlessArgs {
	words = withoutNoPager(words)
	table, name, a := harmlessTable(), programName(words[0]), (*harmlessArgs)(nil)
	for i := range min(len(words), 3) { // the longest entry has three words
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

// takesValue reports whether word is an option outside the lists of harmless ones, so that the next
// word may be its value.
func takesValue(words []string, word string) bool {
	a := harmlessArgsOf(words)
	return len(words) > 1 && strings.HasPrefix(word, "-") && !strings.Contains(word, "=") && !a.hasOption(word) && !matchesAny(a.harmless, word)
}

// hasOption reports whether a includes an option, by its full name or letter by letter.
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

func matchesAny(all []*regexp.Regexp, word string) bool {
	return slices.ContainsFunc(all, func(re *regexp.Regexp) bool { return re.MatchString(word) })
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

// staysInside reports whether word, if it is or contains a path as in
// template-file=/etc/x, stays in the workspace; folder "" is no workspace.
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
