package permission

import (
	"cmp"
	_ "embed"
	"path"
	"slices"
	"strconv"
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

// An argSet describes arguments of a program, by the items of options.txt or opaque.txt.
type argSet struct {
	is       map[string]bool           // items without an option or expression
	operands int                       // of =input; 0 for any
	options  map[string][]string       // by the mark after them
	letters  string                    // of options with values
	exprs    map[string][]*lazy.Regexp // by the mark before them
	harmless map[string]*lazy.Regexp   // harmless values by option, the first operand by ^, and other words by ""
}

func (a *argSet) add(item string) {
	mark, expr, isExpr := strings.Cut(strings.TrimSuffix(item, "/"), "/")
	options, checked := strings.CutSuffix(mark, "=")
	count, isInput := strings.CutPrefix(item, "=input")
	re := lazy.NewRegexp("(?m)" + expr) // for lines
	switch {
	case isExpr && checked:
		for option := range strings.SplitSeq(options, ",") {
			a.harmless[option] = re
			a.addOption(option + "+")
		}
	case isExpr:
		a.exprs[mark] = append(a.exprs[mark], re)
	case isInput:
		a.is["=input"] = true
		a.operands, _ = strconv.Atoi(count)
	case item[0] == '-':
		a.addOption(item)
	default:
		a.is[item] = true
	}
}

func (a *argSet) addOption(item string) {
	option := strings.TrimRight(item, "+?.!")
	mark := item[len(option):]
	a.options[mark] = append(a.options[mark], option)
	if len(option) == 2 && strings.ContainsAny(mark, "+?") {
		a.letters += option[1:]
	}
}

// parseArgs parses options.txt or opaque.txt into a map from a program, or a program and its command, to
// its arguments.
func parseArgs(text string) map[string]*argSet {
	table := map[string]*argSet{}
	readTable(text, func(name, items string) {
		if table[name] == nil {
			table[name] = &argSet{is: map[string]bool{}, options: map[string][]string{}, exprs: map[string][]*lazy.Regexp{}, harmless: map[string]*lazy.Regexp{}}
		}
		for item := range strings.FieldsSeq(items) {
			table[name].add(item)
		}
	})
	return table
}

// harmlessTable parses options.txt. Known letters may be combined, as in -la, also with digits.
var harmlessTable = sync.OnceValue(func() map[string]*argSet { return parseArgs(optionText) })

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
func harmlessArgsOf(words []string) *argSet {
	words = withoutNoPager(words)
	table, name := harmlessTable(), programName(words[0])
	a := table[name]
	for _, word := range words[1:min(len(words), 3)] { // the longest entry has three words
		name += " " + word
		a = cmp.Or(table[name], a)
	}
	return cmp.Or(a, table[anyProgram])
}

// takesValue reports whether word is an option outside the lists of harmless ones, so that the next
// word may be its value.
func takesValue(words []string, word string) bool {
	a := harmlessArgsOf(words)
	return len(words) > 1 && strings.HasPrefix(word, "-") && !strings.Contains(word, "=") && !a.hasOption(word) && !a.mayBeWord(word)
}

// hasOption reports whether a includes an option, by its full name or letter by letter.
func (a *argSet) hasOption(word string) bool {
	known := func(option string) bool {
		return slices.Contains(a.options[""], option) || slices.Contains(harmlessTable()[anyProgram].options[""], option) && !a.is["!"+option]
	}
	name, _, _ := strings.Cut(word, "=")
	if known(name) {
		return true
	}
	letters := strings.TrimPrefix(word, "-")
	if letters == "" || strings.HasPrefix(letters, "-") || a.is["=long"] && strings.Trim(letters[1:], "0123456789") != "" {
		return false
	}
	for i, c := range letters {
		switch {
		case c >= '0' && c <= '9', known("-" + string(c)), i > 0 && strings.ContainsRune(":;,| ", c): // as in cut -d: -f1
		default:
			return false
		}
	}
	return true
}

// mayBeWord reports whether a word may follow although it looks like an option or a setting.
func (a *argSet) mayBeWord(word string) bool {
	return a.harmless[""] != nil && a.harmless[""].MatchString(strings.ReplaceAll(word, "\n", "\f"))
}

var (
	assignment = lazy.NewRegexp(`^[A-Za-z_][A-Za-z0-9_]*[:?+!]*=`)
	leaves     = lazy.NewRegexp(`^[A-Za-z]:[/\\]|(^|[/\\:=,])\.\.([/\\:=,]|$)`) // a drive of Windows, or a folder above
	urlScheme  = lazy.NewRegexp(`^[A-Za-z0-9+-]+:(//|:)`)                       // https://x, and ext::sh of git
)

// mayFollow reports whether word may follow a prefix.
func mayFollow(words []string, word, folder string) bool {
	a := harmlessArgsOf(words)
	line := strings.ReplaceAll(word, "\n", "\f")
	switch {
	case slices.ContainsFunc(a.exprs["!"], func(re *lazy.Regexp) bool { return re.MatchString(line) }):
		return false
	case a.mayBeWord(word):
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
	if leaves.MatchString(word) {
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
