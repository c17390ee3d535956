package permission

import (
	"slices"
	"strings"

	"parley/tools/lazy"
)

// shells are programs that run a line of sh from -c or from their input.
var shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "lksh", "oksh", "posh", "rbash", "yash", "brush", "hush", "loksh", "osh", "pdksh", "rksh", "sash", "static-sh", "ysh",
	"bash-static", "zsh-static", "dash.real", "sh.distrib", "gosh", "mrsh", "bosh", "bsh", "pfsh", "pfbash", "pfksh"}

// opaqueFunc returns a function that reports whether a program's arguments can run programs
// that rules cannot see; nil if opaque.txt suffices for the program.
func opaqueFunc(program string) func(args []string, fed bool) bool {
	if slices.Contains(shells, program) {
		return isOpaqueShell
	}
	switch program {
	case "git":
		return isOpaqueGit
	case "make", "gmake", "bmake":
		return isOpaqueMake
	case "find", "bfs", "gfind", "fd", "fdfind":
		return isOpaqueFind
	case "xargs", "gxargs":
		return isOpaqueXargs
	case "capsh":
		return isOpaqueCapsh
	case "parallel", "rush":
		return isOpaqueParallel
	case "rsync":
		return isOpaqueRsync
	case ".", "source":
		return isOpaqueSource
	case "sed", "gsed", "ssed":
		return isOpaqueSed
	case "awk", "gawk", "mawk", "nawk", "original-awk", "goawk", "bioawk":
		return isOpaqueAwk
	}
	return nil
}

// devicePath matches inputs that are not files of the workspace.
var devicePath = lazy.NewRegexp(`^(-$|/dev/|/proc/)`)

// isOpaqueShell reports whether a shell gets its commands from outside the
// line.
func isOpaqueShell(args []string, fed bool) bool {
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
				return i+1 == len(args) // otherwise its text is checked
			}
		case strings.HasPrefix(word, "+"):
		default:
			return devicePath.MatchString(word) && !(fed && word == "-")
		}
	}
	return !fed
}

// isOpaqueCapsh reports whether the shell that capsh starts after -- gets its commands from outside the line.
func isOpaqueCapsh(args []string, fed bool) bool {
	at := slices.Index(args, "--")
	return at >= 0 && isOpaqueShell(args[at+1:], fed)
}

// scriptOfShell returns the index of the operand that is the shell's script; -1 if there is none.
func scriptOfShell(args []string) int {
	for i := 0; i < len(args); i++ {
		switch word := args[i]; {
		case word == "-o", word == "+o", word == "-O", word == "+O":
			i++
		case !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "+"):
			return i
		case word == "-", !strings.HasPrefix(word, "--") && strings.ContainsAny(word, "cs"):
			return -1
		}
	}
	return -1
}

// isOpaqueSource reports whether a shell sources something other than a file.
func isOpaqueSource(args []string, _ bool) bool {
	return len(args) > 0 && devicePath.MatchString(args[0])
}

// harmlessGitSetting matches settings of git -c that run nothing.
var harmlessGitSetting = lazy.NewRegexp(`(?i)^(user|color|advice|column|i18n|safe|status|branch|log|init|push|pull|rerere|tag|versionsort|commit\.gpgsign|tag\.gpgsign|core\.(quotepath|autocrlf|eol|filemode|ignorecase|abbrev|longpaths|symlinks|whitespace|bare|preloadindex|untrackedcache)|diff\.(renames|renamelimit|algorithm|context|noprefix|mnemonicprefix|colormoved|submodule)|merge\.(conflictstyle|renames|ff|stat)|fetch\.(prune|parallel)|rebase\.(autostash|autosquash|updaterefs)|http\.(version|lowspeedlimit|lowspeedtime|postbuffer|sslverify)|gc\.auto|pager\.[a-z-]+|protocol\.file\.allow|submodule\.recurse)(\.|=|$)`)

var (
	harmlessGitValue = lazy.NewRegexp(`(?i)^(core\.pager=(cat)?|core\.fsmonitor=(false|true|0)|core\.editor=(true|:)|core\.hookspath=/dev/null|credential\.helper=|sequence\.editor=(true|:)|pager\.[a-z-]+=(false|0|cat))$`)
	gitOption        = lazy.NewRegexp(`^(--(upload-pa|receive-pa|exec|open-files|extc|to-cmd|cc-cmd|header-cmd|sendmail-cmd|smtp-server|config-env|tool)|--pager=|--config=)|::`)
	gitStrategy      = lazy.NewRegexp(`^(ort|recursive|resolve|octopus|ours|subtree)$`)
)

// isOpaqueGit reports whether a setting or an option gives git a program to run.
func isOpaqueGit(args []string, _ bool) bool {
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
			if isDynamic(value) || !harmlessGitValue.MatchString(value) && (!harmlessGitSetting.MatchString(value) || strings.HasPrefix(strings.ToLower(value), "pager.")) {
				return true
			}
		case gitOption.MatchString(word) && word != "--exec-path":
			return true
		case command == "grep" && strings.HasPrefix(word, "-O"), command == "clone" && word == "-u", command == "difftool" && strings.HasPrefix(word, "-x"):
			return true
		case word == "-s" && slices.Contains([]string{"merge", "rebase", "pull", "cherry-pick", "revert"}, command) && value != "" && !strings.HasPrefix(value, "-"):
			if !gitStrategy.MatchString(value) {
				return true
			}
		case strings.HasPrefix(word, "--strategy="):
			if !gitStrategy.MatchString(strings.TrimPrefix(word, "--strategy=")) {
				return true
			}
		case command == "" && !strings.HasPrefix(word, "-") && (i == 0 || !slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace"}, args[i-1])):
			command = word
		}
	}
	return false
}

var (
	makeOption     = lazy.NewRegexp(`^(--ev|-E)`)
	makeFile       = lazy.NewRegexp(`^\x00?(?:-[bBdeikmnpqrsStvw]*f|--(?:fi[a-z]*|ma[a-z]*)=?)(.*)$`)
	unseenMakefile = lazy.NewRegexp(`^(-$|/+dev/|/+proc/)|[<{*?\[]`)
	makeAssignment = lazy.NewRegexp(`^([A-Za-z_.][A-Za-z0-9_.-]*)[:?+]*(!?)=(.*)$`)
	processorCount = lazy.NewRegexp(`^\x00(-j)?"?\$\((nproc( --all)?|getconf _NPROCESSORS_ONLN|sysctl -n hw\.(logical|physical)?(ncpu|cpu))\)"?$`)
	plainValue     = lazy.NewRegexp(`^[A-Za-z0-9_./+:,@%=-]*$`)
)

// isOpaqueMake reports whether make gets anything but targets, plain values and a makefile
// with a known name.
func isOpaqueMake(args []string, _ bool) bool {
	for i, word := range args {
		m := makeAssignment.FindStringSubmatch(word)
		switch {
		case processorCount.MatchString(word):
			continue
		case makeOption.MatchString(word), strings.ContainsAny(word, "$`"):
			return true
		case m != nil && (strings.Contains(m[1], "SHELL") || m[1] == "MAKEFLAGS" || m[2] != "" || !plainValue.MatchString(m[3])):
			return true
		}
		file := makeFile.FindStringSubmatch(word)
		if file != nil && file[1] == "" && i+1 < len(args) {
			file[1] = strings.TrimPrefix(args[i+1], dynamicMark)
		}
		if file != nil && unseenMakefile.MatchString(file[1]) {
			return true
		}
	}
	return false
}

var plainSSH = lazy.NewRegexp(`^ssh( -(p ?[0-9]+|[46CTqx]|l ?[a-z0-9_-]+|i ?[A-Za-z0-9_./-]+))*$`)

// isOpaqueRsync reports whether rsync gets a remote shell other than ssh.
func isOpaqueRsync(args []string, _ bool) bool {
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
		if !plainSSH.MatchString(value) {
			return true
		}
	}
	return false
}

// findExec matches options of find and fd before a command.
var findExec = lazy.NewRegexp(`^(-exec|-execdir|-ok|-okdir|--exec|--exec-batch|-[A-Za-z]{0,3}[xX])$`)

// isOpaqueFind reports whether find runs the files it finds.
func isOpaqueFind(args []string, _ bool) bool {
	for i, word := range args {
		if !findExec.MatchString(word) {
			continue
		}
		inner := args[i+1:]
		if end := slices.IndexFunc(inner, func(w string) bool { return w == ";" || w == "+" }); end >= 0 {
			inner = inner[:end]
		}
		if inputBecomesCode(inner, "{}") {
			return true
		}
	}
	return false
}

// isOpaqueParallel is isOpaqueXargs for GNU parallel, which inserts its input at {} or at
// the end. Without a command, each input line is a command.
func isOpaqueParallel(args []string, fed bool) bool {
	if !fed && !slices.ContainsFunc(args, func(word string) bool {
		return !strings.HasPrefix(word, "-") && strings.Trim(word, "0123456789%") != ""
	}) {
		return true
	}
	return isOpaqueXargs(args, fed) || isOpaqueXargs(append([]string{"-i"}, args...), fed)
}
