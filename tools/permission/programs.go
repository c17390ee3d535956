package permission

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Reasons of programs.txt that mean something here.
const (
	reasonRuns       = "runs what it is given"
	reasonInterprets = "is told in its own language what to do"
	reasonAltersShell     = "changes the shell for what follows"
	reasonSubcommands      = "does many things: name which"
	reasonScripts    = "does many things: name which of the project's own"
	reasonKnown    = "is known" // no reason: it can be named
)

// reasonUnknown is the reason of programs of which neither table has anything: alone,
// one can stand for all that it does, which may be more than whoever allowed it saw
// it do.
const reasonUnknown = "is not known: name what it is to do"

//go:embed programs.txt
var programText string

// refusedPrefixes are the programs of programs.txt, and their commands and options, with
// the reason: in each of them what comes behind a prefix decides what happens. A
// prefix may name more than an entry whose reason is parts or scripts: one of
// those that are known, or any, as it has to of a program that is no entry.
var refusedPrefixes = sync.OnceValue(func() map[string]string {
	table, reason := map[string]string{}, ""
	for line := range strings.Lines(programText) {
		body, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "\t")
		switch {
		case body == "", strings.HasPrefix(body, "#"):
		case !indented:
			reason = body
		default:
			for name := range strings.SplitSeq(body, ",") {
				if name = strings.TrimSpace(name); name != "" {
					table[name] = reason
				}
			}
		}
	}
	return table
})

// execOptions are the options of programs.txt that run their value, by program.
var execOptions = sync.OnceValue(func() map[string][]string {
	table := map[string][]string{}
	for name := range refusedPrefixes() {
		if program, option, ok := strings.Cut(name, " "); ok && strings.HasPrefix(option, "-") {
			table[program] = append(table[program], option)
		}
	}
	return table
})

// refusalReason is why no prefix can stand for a program, or "".
func refusalReason(name string) string {
	for _, family := range []string{"git-", "ld-linux-"} {
		if strings.HasPrefix(name, family) {
			return refusedPrefixes()[family+"*"]
		}
	}
	why := refusedPrefixes()[name]
	if why == "" && harmlessTable()[name] == nil {
		return reasonUnknown
	}
	return why
}

// refusePrefix says why words can be the prefix of no rule that allows, or "".
func refusePrefix(words []string) string {
	words = withoutNoPager(words)
	name := programName(words[0])
	why := refusalReason(name)
	for n := 1; why == reasonSubcommands || why == reasonScripts || why == reasonUnknown; n++ {
		switch {
		case n == len(words):
			return name + " " + why
		case n == 1 && strings.HasPrefix(words[1], "-"):
			return fmt.Sprintf("%s %s, before any option", name, why)
		}
		above := why
		name += " " + strings.ToLower(words[n])
		if why = refusedPrefixes()[name]; why == "" && above == reasonSubcommands && harmlessTable()[name] == nil {
			return name + " may be anything"
		}
	}
	if why != "" && why != reasonKnown {
		return name + " " + why
	}
	if option := execOption(words); option != "" {
		return option + " " + reasonRuns
	}
	if last := words[len(words)-1]; takesValue(words, last) {
		return fmt.Sprintf("what follows could be the value of %s", last)
	}
	return ""
}

// execOption is the option among words that has the program run others, or "".
func execOption(words []string) string {
	all := execOptions()[programName(words[0])]
	for _, word := range words[1:] {
		option, _, _ := strings.Cut(word, "=")
		if slices.Contains(all, option) {
			return option
		}
	}
	return ""
}

// withoutNoPager is words without what git may be told before its command and that does
// no harm.
func withoutNoPager(words []string) []string {
	if len(words) > 1 && words[1] == "--no-pager" && programName(words[0]) == "git" {
		return append([]string{words[0]}, words[2:]...)
	}
	return words
}
