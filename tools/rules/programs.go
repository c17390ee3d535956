package rules

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// Reasons of programs.txt that mean something here.
const (
	runs       = "runs what it is given"
	interprets = "is told in its own language what to do"
	alters     = "changes the shell for what follows"
	parts      = "does many things: name which"
)

//go:embed programs.txt
var programText string

// refused are the programs of programs.txt, with the reason: in each of them
// what comes behind a prefix decides what happens. A prefix may name more than an
// entry whose reason is parts.
var refused = sync.OnceValue(func() map[string]string {
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

// reason is why no prefix can stand for a program, or "".
func reason(name string) string {
	for _, family := range []string{"git-", "ld-linux-"} {
		if strings.HasPrefix(name, family) {
			return refused()[family+"*"]
		}
	}
	return refused()[name]
}

// refusal says why words can be the prefix of no rule that allows, or "".
func refusal(words []string) string {
	words = bare(words)
	name := program(words[0])
	why := reason(name)
	switch {
	case why == parts && len(words) == 1, why != "" && why != parts:
		return name + " " + why
	case why == parts && strings.HasPrefix(words[1], "-"):
		return fmt.Sprintf("%s %s, before any option", name, why)
	}
	if len(words) > 1 {
		name += " " + strings.ToLower(words[1])
		why = refused()[name]
		if why == parts && len(words) == 2 || why != "" && why != parts {
			return name + " " + why
		}
	}
	if last := words[len(words)-1]; open(words, last) {
		return fmt.Sprintf("what follows could be the value of %s", last)
	}
	return ""
}

// bare is words without what git may be told before its command and that does
// no harm.
func bare(words []string) []string {
	if len(words) > 1 && words[1] == "--no-pager" && program(words[0]) == "git" {
		return append([]string{words[0]}, words[2:]...)
	}
	return words
}
