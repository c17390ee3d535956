package permission

import (
	_ "embed"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// What may follow a prefix without being asked about.
//
// A rule "git log *" was meant for git log -3 and git log main.go, not for git
// log --output=/etc/cron.d/x. Nobody can list all options that make a program
// write, run or reach something, so it is the other way around: options ask,
// unless they are part of the prefix or known to do no more than choose and show
// (options.txt); and so do words that programs take for settings and lists
// of arguments (NAME=value, +x, @file), that lead out of the workspace or that
// match what the table never lets follow. Abbreviated options are not known ones.

//go:embed options.txt
var optionText string

// An allowance is what may follow the name of a program.
type allowance struct {
	options map[string]bool
	never   []*regexp.Regexp // words that may not, whatever the options are
	long    bool             // it has long options with one dash: letters keep no company
}

// allow reads one item of options.txt.
func (a *allowance) allow(item string) {
	body, without := strings.CutPrefix(item, "!")
	expr, isExpr := strings.CutPrefix(body, "/")
	switch {
	case without && isExpr:
		a.never = append(a.never, regexp.MustCompile(strings.TrimSuffix(expr, "/")))
	case without:
		delete(a.options, body)
	default:
		a.options[item] = true
		a.long = a.long || len(item) > 2 && item[1] != '-'
	}
}

// harmless is options.txt, by program, or program and its command. A letter is
// good in every company of good ones, as in -la, with digits in between.
var harmless = sync.OnceValue(func() map[string]*allowance {
	table, names := map[string]*allowance{}, []string(nil)
	for line := range strings.Lines(optionText) {
		body, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "\t")
		switch {
		case body == "", strings.HasPrefix(body, "#"):
		case !indented:
			names = strings.Split(strings.TrimSuffix(body, ","), ", ")
			for _, name := range names {
				table[name] = &allowance{options: map[string]bool{}}
				if all := table[every]; name != every {
					maps.Copy(table[name].options, all.options)
				}
			}
		default:
			for _, name := range names {
				for item := range strings.FieldsSeq(body) {
					table[name].allow(item)
				}
			}
		}
	}
	return table
})

// every stands for all programs in options.txt.
const every = "*"

// known is what may follow a command.
func known(words []string) *allowance {
	words = bare(words)
	table, name, a := harmless(), program(words[0]), (*allowance)(nil)
	for i := range min(len(words), 3) { // words of the longest name
		if i > 0 {
			name += " " + words[i]
		}
		if found := table[name]; found != nil {
			a = found
		}
	}
	if a == nil {
		a = table[every]
	}
	return a
}

// open reports whether word is an option that could take what follows for its
// value and is not known to be harmless.
func open(words []string, word string) bool {
	return len(words) > 1 && strings.HasPrefix(word, "-") && !strings.Contains(word, "=") && !known(words).option(word)
}

// option reports whether an option is one of these: by its whole name, or letter
// by letter.
func (a *allowance) option(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	if a.options[name] {
		return true
	}
	letters := strings.TrimPrefix(word, "-")
	if letters == "" || strings.HasPrefix(letters, "-") || a.long && strings.Trim(letters[1:], "0123456789") != "" {
		return false
	}
	for _, c := range letters {
		if (c < '0' || c > '9') && !a.options["-"+string(c)] {
			return false
		}
	}
	return true
}

var (
	setting   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\+?=`)
	transport = regexp.MustCompile(`^[A-Za-z0-9+-]+:(//|:)`) // https://x, and ext::sh of git
	drive     = regexp.MustCompile(`^[A-Za-z]:[/\\]`)
)

// follows reports whether word may stand behind a prefix.
func follows(words []string, word, folder string) bool {
	a := known(words)
	if slices.ContainsFunc(a.never, func(expr *regexp.Regexp) bool { return expr.MatchString(word) }) {
		return false
	}
	switch {
	case word == "-", word == "--":
		return true
	case strings.HasPrefix(word, "-"):
		if !a.option(word) {
			return false
		}
		_, value, _ := strings.Cut(word, "=")
		return !strings.HasPrefix(value, "@") && !transport.MatchString(value) && inside(value, folder)
	case strings.HasPrefix(word, "+"), strings.HasPrefix(word, "@"), setting.MatchString(word), transport.MatchString(word):
		return false
	}
	return inside(word, folder)
}

// inside reports whether word, should it be a path or hold one, as in
// template-file=/etc/x, stays in the directory.
func inside(word, folder string) bool {
	for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune(`/\:=,`, r) }) {
		if part == ".." {
			return false
		}
	}
	if drive.MatchString(word) {
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
