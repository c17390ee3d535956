package rules

import (
	_ "embed"
	"path"
	"regexp"
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
// of arguments (NAME=value, +x, @file) or that lead out of the workspace.
// Abbreviated options are not known ones.

//go:embed options.txt
var optionText string

// harmless are the options of options.txt, by program, or program and its
// command. A letter is good in every company of good ones, as in -la, with
// digits in between.
var harmless = sync.OnceValue(func() map[string]map[string]bool {
	table, names, all := map[string]map[string]bool{}, []string(nil), []string(nil)
	for line := range strings.Lines(optionText) {
		body, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "\t")
		switch {
		case body == "", strings.HasPrefix(body, "#"):
			continue
		case !indented:
			names = strings.Split(body, ", ")
			for _, name := range names {
				table[name] = map[string]bool{}
				for _, option := range all {
					table[name][option] = true
				}
			}
			continue
		}
		options := strings.Fields(body)
		if names[0] == every {
			all = append(all, options...)
		}
		for _, name := range names {
			for _, option := range options {
				table[name][option] = true
			}
		}
	}
	return table
})

// every stands for all programs in options.txt.
const every = "*"

// known are the harmless options of a command.
func known(words []string) map[string]bool {
	words = bare(words)
	table, name := harmless(), program(words[0])
	if len(words) > 1 {
		if options, ok := table[name+" "+words[1]]; ok {
			return options
		}
	}
	if options, ok := table[name]; ok {
		return options
	}
	return table[every]
}

// open reports whether word is an option that could take what follows for its
// value and is not known to be harmless.
func open(words []string, word string) bool {
	return len(words) > 1 && strings.HasPrefix(word, "-") && !strings.Contains(word, "=") && !option(known(words), word)
}

// option reports whether an option is one of these: by its whole name, or letter
// by letter.
func option(these map[string]bool, word string) bool {
	name, _, _ := strings.Cut(word, "=")
	if these[name] {
		return true
	}
	letters := strings.TrimPrefix(word, "-")
	if letters == "" || strings.HasPrefix(letters, "-") {
		return false
	}
	for _, c := range letters {
		if (c < '0' || c > '9') && !these["-"+string(c)] {
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
	switch {
	case word == "-", word == "--":
		return true
	case strings.HasPrefix(word, "-"):
		if !option(known(words), word) {
			return false
		}
		_, value, _ := strings.Cut(word, "=")
		return inside(value, folder)
	case strings.HasPrefix(word, "+"), strings.HasPrefix(word, "@"), setting.MatchString(word), transport.MatchString(word):
		return false
	}
	return inside(word, folder)
}

// inside reports whether word, should it be a path, stays in the folder.
func inside(word, folder string) bool {
	for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return r == '/' || r == '\\' || r == ':' }) {
		if part == ".." {
			return false
		}
	}
	if drive.MatchString(word) {
		return false
	}
	if !strings.HasPrefix(word, "/") {
		return true
	}
	clean := path.Clean(word)
	return folder != "" && (clean == folder || strings.HasPrefix(clean, strings.TrimSuffix(folder, "/")+"/"))
}
