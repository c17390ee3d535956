package permission

import (
	"slices"
	"strings"
)

// closely are the programs whose arguments need more than a table. Each reports
// whether they can start programs unseen.
var closely map[string]func(args []string, fed bool) bool

func init() {
	closely = map[string]func([]string, bool) bool{"git": unseenGit, "make": unseenMake, "find": unseenFind, "xargs": unseenXargs, "parallel": unseenParallel, "rsync": unseenRsync}
	for _, name := range []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", "yash"} {
		closely[name] = unseenShell
	}
	for _, name := range []string{".", "source"} {
		closely[name] = unseenSource
	}
	for _, name := range []string{"sed", "gsed"} {
		closely[name] = unseenSed
	}
	for _, name := range []string{"awk", "gawk", "mawk", "nawk"} {
		closely[name] = unseenAwk
	}
	for _, name := range []string{"gmake", "bmake"} {
		closely[name] = unseenMake
	}
}

// device is what a program reads that is no file of the workspace.
var device = compiled(`^(-$|/dev/|/proc/)`)

// unseenShell reports whether a shell gets its line from somewhere else.
func unseenShell(args []string, fed bool) bool {
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == "-o", word == "+o", word == "-O", word == "+O":
			i++
		case word == "--rcfile", word == "--init-file":
			return true
		case word == "--version", word == "--help":
			return false
		case strings.HasPrefix(word, "--"), word == "+":
		case strings.HasPrefix(word, "-") && word != "-":
			if strings.Contains(word, "s") {
				return !fed
			}
			if strings.Contains(word, "c") {
				return i+1 == len(args) // else its text is looked at
			}
		case strings.HasPrefix(word, "+"):
		default:
			return device().MatchString(word) && !(fed && word == "-")
		}
	}
	return !fed
}

// unseenSource reports whether a shell reads lines that are in no file.
func unseenSource(args []string, _ bool) bool { return len(args) > 0 && device().MatchString(args[0]) }

// harmlessSetting are settings of git, as -c names them, that start nothing.
var harmlessSetting = compiled(`(?i)^(user|color|advice|column|i18n|safe|status|branch|log|init|push|pull|rerere|tag|versionsort|commit\.gpgsign|tag\.gpgsign|core\.(quotepath|autocrlf|eol|filemode|ignorecase|abbrev|longpaths|symlinks|whitespace|bare|preloadindex|untrackedcache)|diff\.(renames|renamelimit|algorithm|context|noprefix|mnemonicprefix|colormoved|submodule)|merge\.(conflictstyle|renames|ff|stat)|fetch\.(prune|parallel)|rebase\.(autostash|autosquash|updaterefs)|http\.(version|lowspeedlimit|lowspeedtime|postbuffer|sslverify)|gc\.auto|pager\.[a-z-]+|protocol\.file\.allow|submodule\.recurse)(\.|=|$)`)

var (
	noPager   = compiled(`(?i)^(core\.pager=(cat)?|core\.fsmonitor=(false|true|0)|core\.editor=(true|:)|core\.hookspath=/dev/null|credential\.helper=|sequence\.editor=(true|:)|pager\.[a-z-]+=(false|0|cat))$`)
	gitOption = compiled(`^(--(upload-pa|receive-pa|exec|open-files|extc|to-cmd|cc-cmd|header-cmd|sendmail-cmd|smtp-server|config-env|tool)|--pager=|--config=)|::`)
	strategy  = compiled(`^(ort|recursive|resolve|octopus|ours|subtree)$`)
)

// unseenGit reports whether git is told, in a setting or an option, what to run.
func unseenGit(args []string, _ bool) bool {
	command := ""
	for i, word := range args {
		value := ""
		if i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case command == "" && strings.HasPrefix(word, "-c"), command == "clone" && (word == "-c" || word == "--config"):
			if word != "-c" && word != "--config" {
				value = word[2:]
			}
			if dynamic(value) || !noPager().MatchString(value) && (!harmlessSetting().MatchString(value) || strings.HasPrefix(strings.ToLower(value), "pager.")) {
				return true
			}
		case gitOption().MatchString(word) && word != "--exec-path":
			return true
		case command == "grep" && strings.HasPrefix(word, "-O"), command == "clone" && word == "-u", command == "difftool" && strings.HasPrefix(word, "-x"):
			return true
		case word == "-s" && slices.Contains([]string{"merge", "rebase", "pull", "cherry-pick", "revert"}, command) && value != "" && !strings.HasPrefix(value, "-"):
			if !strategy().MatchString(value) {
				return true
			}
		case strings.HasPrefix(word, "--strategy="):
			if !strategy().MatchString(strings.TrimPrefix(word, "--strategy=")) {
				return true
			}
		case command == "" && !strings.HasPrefix(word, "-") && (i == 0 || !slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace"}, args[i-1])):
			command = word
		}
	}
	return false
}

var (
	makeOption = compiled(`^(--ev|-E)`)
	assigned   = compiled(`^([A-Za-z_.][A-Za-z0-9_.-]*)[:?+!]*=(.*)$`)
	oneWord    = compiled(`^[A-Za-z0-9_./+:,@%=-]*$`)
)

// unseenMake reports whether make is told more than targets and plain values.
func unseenMake(args []string, _ bool) bool {
	for i, word := range args {
		m := assigned().FindStringSubmatch(word)
		switch {
		case makeOption().MatchString(word), strings.ContainsAny(word, "$`"):
			return true
		case m != nil && (strings.Contains(m[1], "SHELL") || m[1] == "MAKEFLAGS" || !oneWord().MatchString(m[2])):
			return true
		case (word == "-f" || word == "--file") && i+1 < len(args) && device().MatchString(args[i+1]), word == "-f-":
			return true
		}
	}
	return false
}

var remoteShell = compiled(`^ssh( -(p ?[0-9]+|[46CTqx]|l ?[a-z0-9_-]+|i ?[A-Za-z0-9_./-]+))*$`)

// unseenRsync reports whether rsync is told another remote shell than ssh.
func unseenRsync(args []string, _ bool) bool {
	for i, word := range args {
		value := ""
		switch {
		case strings.HasPrefix(word, "--"):
			name, rest, given := strings.Cut(word, "=")
			if len(name) < 4 || !strings.HasPrefix("--rsh", name) {
				continue
			}
			if value = rest; !given && i+1 < len(args) {
				value = args[i+1]
			}
		case strings.HasPrefix(word, "-") && strings.Contains(word, "e"):
			if _, value, _ = strings.Cut(word, "e"); value == "" && i+1 < len(args) {
				value = args[i+1]
			}
		default:
			continue
		}
		if !remoteShell().MatchString(value) {
			return true
		}
	}
	return false
}

// unseenFind reports whether find starts what it finds.
func unseenFind(args []string, _ bool) bool {
	for i, word := range args {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, word) {
			continue
		}
		inner := args[i+1:]
		if end := slices.IndexFunc(inner, func(w string) bool { return w == ";" || w == "+" }); end >= 0 {
			inner = inner[:end]
		}
		if completed(inner, "{}") {
			return true
		}
	}
	return false
}

// unseenParallel is unseenXargs for GNU parallel, which puts what it reads in place
// of {} or at the end.
func unseenParallel(args []string, fed bool) bool {
	return unseenXargs(args, fed) || unseenXargs(append([]string{"-i"}, args...), fed)
}

// unseenXargs reports whether what xargs reads becomes a program, or code.
func unseenXargs(args []string, _ bool) bool {
	mark := ""
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case strings.HasPrefix(word, "-I"), strings.HasPrefix(word, "-J"):
			if mark = word[2:]; mark == "" && i+1 < len(args) {
				i++
				mark = args[i]
			}
		case strings.HasPrefix(word, "-i"):
			if mark = word[2:]; mark == "" {
				mark = "{}"
			}
		case strings.HasPrefix(word, "--replace"):
			if _, mark, _ = strings.Cut(word, "="); mark == "" {
				mark = "{}"
			}
		case slices.Contains([]string{"-a", "-d", "-E", "-L", "-n", "-P", "-s", "-j"}, word):
			i++
		case !strings.HasPrefix(word, "-"):
			return completed(args[i:], mark)
		}
	}
	return false
}

// completed reports whether a command that is yet to be completed, where mark stands
// or at its end if that is "", is made another by that.
func completed(words []string, mark string) bool {
	if len(words) == 0 {
		return false
	}
	if mark != "" && strings.Contains(words[0], mark) {
		return true
	}
	if why := reason(program(words[0])); mark == "" && why == interprets {
		return len(words) == 1 || unseen(append(slices.Clip(words), unknown), false)
	}
	if !wrapper(words) {
		return len(words) == 1 && mark == "" && reason(program(words[0])) == parts
	}
	if mark != "" {
		return slices.ContainsFunc(words[1:], func(w string) bool { return strings.Contains(w, mark) && w != mark }) ||
			len(words) > 1 && words[1] == mark
	}
	return !slices.ContainsFunc(words[1:], func(w string) bool {
		return strings.ContainsAny(w, " \t") || reason(program(w)) != strange
	})
}
