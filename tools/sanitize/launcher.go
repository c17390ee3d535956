package sanitize

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// A strictness is what a launcher makes of options that it does not know.
type strictness int

const (
	refuses strictness = iota + 1 // it does not run: after "--token" its target has been named
	ignores                       // it may run the word after one: "npx --token TARGET"
)

// launchers are programs that run what their arguments name.
var launchers = sync.OnceValue(func() map[string]strictness {
	all := map[string]strictness{}
	for _, name := range strings.Fields("npx npm pnpm pnpx yarn bun bunx tsx ts-node nodemon pwsh powershell cmd") {
		all[name] = ignores
	}
	for _, name := range strings.Fields(`node nodejs deno python py pypy ruby perl java go cargo uv uvx pip pipx poetry pdm hatch rye
		conda mamba micromamba docker podman nerdctl sh bash zsh dash ksh fish env sudo doas
		nice nohup timeout stdbuf setsid time xargs exec command eval source busybox ssh nix gem bundle mise dotnet php make`) {
		all[name] = refuses
	}
	return all
})

// launchFlags are options of launchers that have no value, though a word after them looks as if it
// were one: of no launcher they have one.
var launchFlags = []string{"y", "yes", "q", "quiet", "silent", "verbose", "force", "bun", "prefer-offline", "prefer-online", "offline", "ignore-scripts", "legacy-peer-deps", "it", "rm", "init", "interactive", "tty", "detach"}

// launchVariables are the launchers to which NAME=VALUE is a variable, never what runs.
var launchVariables = []string{"docker", "podman", "nerdctl", "env", "sudo", "doas", "make"}

// launchActions are what launchers do with their target, whose name follows.
var launchActions = []string{"run", "exec", "x", "dlx", "tool", "compose", "container", "create", "c", "/c", "/k"}

// targetOptions are options of launchers whose value runs.
var targetOptions = []string{"package", "p", "from", "with", "call", "c", "require", "r", "import", "loader", "entrypoint", "m", "e", "eval", "jar", "experimental-loader"}

// A launch is what a launcher in a command line has been told, word by word. Nothing is hidden of
// what it may run but passwords in addresses.
type launch struct {
	by     strictness // 0: no launcher waits for its target
	sets   bool       // NAME=VALUE is a variable to it
	option string     // that the last word was, if it may have a value
	last   bool       // the next word that is no option is the target, whatever is before it
}

// names reports whether the next word may name what runs. Begins says that it may be the program of a
// command of a shell.
func (l *launch) names(word string, begins bool) bool {
	word = strings.Trim(word, `"';`)
	before, value, assigned := strings.Cut(word, "=")
	program := programName(word)
	switch by := launchers()[program]; {
	case word == `\` || l.by > 0 && l.option == "" && slices.Contains(launchActions, word): // \ ends a line
		return true
	case by > 0:
		*l = launch{by: by, sets: slices.Contains(launchVariables, program)}
		return true
	case begins && !assigned && strings.ContainsAny(path.Base(word), "$`\\\"'"): // whose name the shell makes
		*l = launch{by: ignores}
		return true
	case l.by == 0 || begins && assigned && isVariableName(before):
		return false
	case word == "--":
		l.last, l.option = true, ""
		return false
	case l.last && strings.HasPrefix(word, "-"): // what follows is for the target, as of cargo run -- --token
		*l = launch{}
		return false
	case strings.HasPrefix(word, "-"):
		l.option = ""
		if bare := strings.TrimLeft(word, "-"); !assigned && !(l.by == ignores && strings.HasPrefix(bare, "no-")) && !slices.Contains(launchFlags, bare) {
			l.option = bare
		}
		return value != "" && slices.Contains(targetOptions, strings.TrimLeft(before, "-"))
	case l.by == refuses && l.option != "" && HoldsSecret(l.option):
		l.option = ""
		return false
	}
	option := l.option
	l.option = ""
	switch {
	case assigned && l.sets:
		return false
	case strings.Contains(word, "$"): // which may be nothing
	case option == "" || l.last || slices.Contains([]string{"m", "jar"}, option) || !l.sets && strings.HasSuffix(option, "c"):
		*l = launch{}
	}
	return true
}

// isScriptName reports whether a word of a command line is only how a shell calls the script before
// it, as the last one of sh -c SCRIPT NAME.
func isScriptName(argv []string, i int) bool {
	if i < 2 || !strings.HasPrefix(argv[i-2], "-") || !strings.HasSuffix(argv[i-2], "c") {
		return false
	}
	return !slices.ContainsFunc([]string{"$0", "${0", "eval"}, func(use string) bool { return strings.Contains(argv[i-1], use) })
}

// beginsCommand reports whether a command of a shell may begin after word, which begins one itself or not.
func beginsCommand(begins bool, word string) bool {
	name, _, assigned := strings.Cut(word, "=")
	return strings.ContainsAny(word[len(word)-1:], ";|&({`!") || slices.Contains([]string{"then", "else", "do"}, word) ||
		begins && assigned && isVariableName(strings.ToUpper(name))
}

func isVariableName(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}

// programName returns the name of the program that a word may be, without its path and its version.
func programName(word string) string {
	word = strings.TrimLeft(strings.NewReplacer(`"`, "", "'", "", `\`, "").Replace(word), "(`$!{")
	if strings.HasPrefix(word, "@") { // a package
		return ""
	}
	name := strings.ToLower(path.Base(word))
	for _, ending := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, ending)
	}
	return strings.TrimRight(name, ".0123456789")
}

// targetSpans returns what is hidden of a word that may run: the password of an address, and what its
// query calls a secret. start is where the word stands.
func targetSpans(word string, start int) (spans []span) {
	word = strings.TrimRight(word, `"';`)
	address := strings.Index(word, "://")
	if address < 0 {
		return nil
	}
	address += len("://")
	rest := word[address:]
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	for _, s := range addressSpans(rest) {
		inQuery := s.from > 0 && strings.Contains(rest[:s.from], "?") && rest[s.from-1] == '='
		if (s.to <= end || inQuery) && s.from < s.to && isKeyRun.MatchString(rest[s.from:s.to]) {
			spans = append(spans, span{start + address + s.from, start + address + s.to})
		}
	}
	return spans
}
