package permission

import (
	"cmp"
	"slices"
	"strings"
)

// isOpaqueXargs reports whether xargs runs its input as a program or code.
func isOpaqueXargs(args []string, _ bool) bool {
	mark, o := "", opaqueArgsOf()["parallel"]
	for i := 0; i < len(args); i++ {
		word := args[i]
		if !strings.HasPrefix(word, "-") {
			return inputBecomesCode(args[i:], mark)
		}
		letters, _ := o.splitLetters(word)
		value := word[min(len(letters)+1, len(word)):]
		if o.takesNext(word) && i+1 < len(args) {
			i++
			value = args[i]
		}
		option, rest, _ := strings.Cut(word, "=")
		switch {
		case len(option) > 3 && strings.HasPrefix("--replace", option):
			mark = cmp.Or(rest, "{}")
		case len(letters) == 0:
		case letters[len(letters)-1] == "-i":
			mark = cmp.Or(value, "{}")
		case letters[len(letters)-1] == "-I", letters[len(letters)-1] == "-J":
			mark = value
		}
	}
	return false
}

// inputBecomesCode reports whether input inserted at mark, or at the end if mark is "", can
// change which command runs.
func inputBecomesCode(words []string, mark string) bool {
	if len(words) == 0 {
		return false
	}
	if mark != "" && strings.Contains(words[0], mark) {
		return true
	}
	if why := refusalReason(programName(words[0])); mark == "" && why == reasonInterprets {
		return len(words) == 1 || isOpaque(append(slices.Clip(words), dynamicMark), input{})
	}
	if inputNamesCommand(words, mark) || mark != "" && inputIsLine(words, mark) {
		return true
	}
	if !isWrapper(words) {
		return false
	}
	for i := 1; i < len(words); i++ {
		if inputNamesCommand(words[i:], mark) {
			return true
		}
		why := refusalReason(programName(words[i]))
		if !strings.HasPrefix(words[i-1], "-") && !slices.Contains([]string{reasonUnknown, reasonRuns, reasonInterprets}, why) {
			break // the program; its arguments follow
		}
	}
	if mark != "" {
		return slices.ContainsFunc(words[1:], func(w string) bool { return strings.Contains(w, mark) && w != mark }) ||
			len(words) > 1 && words[1] == mark
	}
	return !slices.ContainsFunc(words[1:], func(w string) bool {
		return strings.ContainsAny(w, " \t") || refusalReason(programName(w)) != reasonUnknown
	})
}

// inputIsLine reports whether input inserted at mark is the command line of a shell, as in sh -c {}.
func inputIsLine(words []string, mark string) bool {
	end := slices.Index(words, mark)
	if end < 0 {
		return false
	}
	from := end - 1
	for from > 0 && strings.HasPrefix(words[from], "-") {
		from--
	}
	return from >= 0 && slices.Contains(shells, programName(words[from])) && isOpaqueShell(words[from+1:end], true)
}

// inputNamesCommand reports whether input inserted at mark, or at the end if mark is "",
// selects a subcommand of a program.
func inputNamesCommand(words []string, mark string) bool {
	name := programName(words[0])
	if refusalReason(name) != reasonSubcommands {
		return false
	}
	o := opaqueArgsOf()[name]
	if o == nil {
		o = &opaqueArgs{}
	}
	for i := 1; i < len(words); i++ {
		word := words[i]
		option, _, _ := strings.Cut(word, "=")
		switch {
		case mark != "" && strings.Contains(word, mark) && (option == word || strings.Contains(option, mark) || !o.takesNext(option)):
			return true
		case o.takesNext(word):
			i++ // a mark in an option's value is harmless
		case strings.HasPrefix(word, "-"):
		case name != "git" && refusedPrefixes()[name+" "+word] == reasonSubcommands:
			name += " " + word
		default:
			return false
		}
	}
	return mark == ""
}
