package permission

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"parley/tools/lazy"
)

// Reasons in programs.txt that the code depends on.
const (
	reasonRuns        = "runs its arguments"
	reasonInterprets  = "runs code given as an argument"
	reasonAltersShell = "changes the shell for what follows"
	reasonSubcommands = "does many things: name which"
	reasonScripts     = "does many things: name which of the project's own"
	reasonKnown       = "is known" // not a refusal: a prefix can name the program
)

// reasonUnknown refuses programs that are in no table: a prefix of the name alone could
// allow more than the user saw.
const reasonUnknown = "is not known: name what it is to do"

//go:embed programs.txt
var programText string

// refusedPrefixes parses programs.txt into a map from a program, its command or its option
// to the reason why it cannot be a prefix: the following words decide what it does. A
// prefix can name more words than an entry with reasonSubcommands or reasonScripts: a known
// subcommand, or any word for reasonScripts and unknown programs.
var refusedPrefixes = sync.OnceValue(func() map[string]string {
	table := map[string]string{}
	readTable(programText, func(reason, names string) {
		for name := range strings.SplitSeq(names, ",") {
			table[strings.TrimSpace(name)] = reason
		}
	})
	delete(table, "")
	return table
})

// refusalReason returns why a program cannot be a prefix; "" if it can.
func refusalReason(name string) string {
	why := cmp.Or(refusedPrefixes()[family.FindString(name)+"*"], refusedPrefixes()[name])
	if why == "" && harmlessTable()[name] == nil {
		return reasonUnknown
	}
	return why
}

// family matches names that stand in programs.txt with an asterisk.
var family = lazy.NewRegexp(`^(git-|ld-linux|ld-musl-|s6-)`)

// refusePrefix returns why words cannot be the prefix of an allow rule; "" if they can.
func refusePrefix(words []string) string {
	words = withoutNoPager(words)
	if isNarrow(words) {
		return ""
	}
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

// narrowUses matches the arguments, as lines, of uses of programs that neither run nor set anything: test without
// -v and -R, which evaluate an index, printf %s, and sed -n with a script that prints lines.
var narrowUses = map[string]*lazy.Regexp{
	"test":   lazy.NewRegexp(`^(?:(?:[^-\n[$\x60][^\n[$\x60]*|-(?:[^vR\n[$\x60][^\n[$\x60]*|[vR][^\n[$\x60]+)?)?\n)*$`),
	"printf": lazy.NewRegexp(`^%s(?:\\n)?\n`),
	"sed": lazy.NewRegexp(`^-n\n(?:` +
		`(?:[0-9]+|\$|/[^/\\\f\n]*/)(?:,(?:[+~]?[0-9]+|\$|/[^/\\\f\n]*/))?p\n` +
		`(?:(?:[^-\n].*)?\n)*)?$`),
}

// isNarrow reports whether words are, or begin, a narrow use of a program.
func isNarrow(words []string) bool {
	return len(words) > 0 && narrowUses[words[0]] != nil && narrowUses[words[0]].MatchString(inLines(words[1:]))
}

// narrowFollows reports whether a narrow prefix of n words covers words.
func narrowFollows(words []string, n int, folder string) bool {
	if words[0] == "sed" {
		n = max(n, 3) // the script is not a path
	}
	return isNarrow(words) && (words[0] == "printf" || !slices.ContainsFunc(words[min(n, len(words)):], func(word string) bool {
		return isDynamic(word) || !staysInside(word, folder)
	}))
}

// gitWords returns the words of git-X as git X.
func gitWords(words []string) []string {
	if len(words) > 0 {
		if command, ok := strings.CutPrefix(programName(words[0]), "git-"); ok {
			return append([]string{"git", command}, words[1:]...)
		}
	}
	return words
}

// execOption returns the option among words that makes the program run others; "" if none does.
func execOption(words []string) string {
	for _, word := range words[1:] {
		if opaqueArgsFor(programName(words[0])).has("!", []string{word}) {
			option, _, _ := strings.Cut(word, "=")
			return option
		}
	}
	return ""
}

// withoutNoPager removes git's --no-pager, which is harmless before its command.
func withoutNoPager(words []string) []string {
	if len(words) > 1 && words[1] == "--no-pager" && programName(words[0]) == "git" {
		return append([]string{words[0]}, words[2:]...)
	}
	return words
}
