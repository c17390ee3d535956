package sanitize

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// A strictness is a launcher's treatment of unknown options.
type strictness int

const (
	refuses strictness = iota + 1 // it fails: after "--token" its target is already known
	ignores                       // it may run the word after an unknown option: "npx --token TARGET"
)

// launchers are programs that run programs named by their arguments.
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

// launchFlags are options of launchers without a value, although a word after them could be taken
// for one. No launcher gives them a value.
var launchFlags = []string{"y", "yes", "q", "quiet", "silent", "verbose", "force", "bun", "prefer-offline", "prefer-online", "offline", "ignore-scripts", "legacy-peer-deps", "it", "rm", "init", "interactive", "tty", "detach"}

// launchVariables are launchers for which NAME=VALUE always sets a variable.
var launchVariables = []string{"docker", "podman", "nerdctl", "env", "sudo", "doas", "make"}

// launchActions are launchers' subcommands before the target.
var launchActions = []string{"run", "exec", "x", "dlx", "tool", "compose", "container", "create", "c", "/c", "/k"}

// targetOptions are options of launchers whose value is run.
var targetOptions = []string{"package", "p", "from", "with", "call", "c", "require", "r", "import", "loader", "entrypoint", "m", "e", "eval", "jar", "experimental-loader"}

// A launch tracks the arguments of a launcher word by word. Words that it may run are not hidden,
// except for passwords in addresses.
type launch struct {
	by     strictness // 0: no launcher is waiting for its target
	sets   bool       // NAME=VALUE sets a variable
	option string     // the last word, if it is an option that may have a value
	last   bool       // the next word that is not an option is the target
}

// names reports whether the next word may name the program to run. Begins reports that it may begin a
// shell command.
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
	case begins && !assigned && strings.ContainsAny(path.Base(word), "$`\\\"'"): // a name computed by the shell
		*l = launch{by: ignores}
		return true
	case l.by == 0 || begins && assigned && isVariableName(before):
		return false
	case word == "--":
		l.last, l.option = true, ""
		return false
	case l.last && strings.HasPrefix(word, "-"): // later options belong to the target, as in cargo run -- --token
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
	case strings.Contains(word, "$"): // it may expand to nothing
	case option == "" || l.last || slices.Contains([]string{"m", "jar"}, option) || !l.sets && strings.HasSuffix(option, "c"):
		*l = launch{}
	}
	return true
}

// isScriptName reports whether a word is only the name that a shell gives a script, as the last
// word of sh -c SCRIPT NAME.
func isScriptName(argv []string, i int) bool {
	if i < 2 || !strings.HasPrefix(argv[i-2], "-") || !strings.HasSuffix(argv[i-2], "c") {
		return false
	}
	return !slices.ContainsFunc([]string{"$0", "${0", "eval"}, func(use string) bool { return strings.Contains(argv[i-1], use) })
}

// beginsCommand reports whether a shell command may begin after word; begins reports whether word may itself begin one.
func beginsCommand(begins bool, word string) bool {
	name, _, assigned := strings.Cut(word, "=")
	return strings.ContainsAny(word[len(word)-1:], ";|&({`!") || slices.Contains([]string{"then", "else", "do"}, word) ||
		begins && assigned && isVariableName(strings.ToUpper(name))
}

func isVariableName(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}

// programName returns the name of the program in a word, without path and version.
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

// targetSpans returns the positions to hide in a word that may run: the password of an address, and
// secrets in its query. start is the offset of the word.
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
