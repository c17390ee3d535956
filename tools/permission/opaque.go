package permission

import (
	"cmp"
	_ "embed"
	"path"
	"slices"
	"strings"
	"sync"

	"parley/tools/lazy"
)

// Opaque commands run programs that are not among their words, because their
// arguments contain code or a language of their own. Commands that rules deny can
// hide there.

//go:embed opaque.txt
var opaqueText string

// opaqueArgsOf parses opaque.txt. A program that is not in it has no arguments that make it opaque.
var opaqueArgsOf = sync.OnceValue(func() map[string]*argSet {
	table := parseArgs(opaqueText)
	for name := range table {
		program, _, _ := strings.Cut(name, " ") // so that its commands are looked up
		table[program] = cmp.Or(table[program], &argSet{})
	}
	return table
})

// opaqueArgsFor returns the opaque arguments of a program.
func opaqueArgsFor(name string) *argSet {
	return cmp.Or(opaqueArgsOf()[name], &argSet{})
}

// names reports whether a word is an option, abbreviates it, or combines it with others.
func (o *argSet) names(word, option string) bool {
	name, _, _ := strings.Cut(word, "=")
	switch {
	case !strings.HasPrefix(word, "-"):
		return false
	case o.is["=long"]:
		return strings.TrimPrefix(name[1:], "-") == strings.TrimLeft(option, "-")
	case len(option) == 2:
		return isShort(word) && strings.Contains(word, option[1:])
	}
	return name == option || len(name) > 2 && strings.HasPrefix(option, "--") && strings.HasPrefix(option, name)
}

func isShort(word string) bool { return len(word) > 1 && word[0] == '-' && word[1] != '-' }

// value reports whether a word is an option with a value, and returns the rest of the word; "" if the next
// word is the value.
func (o *argSet) value(word, option string) (rest string, ok bool) {
	if len(option) != 2 || o.is["=long"] {
		name, _, _ := strings.Cut(word, "=")
		return word[len(name):], o.names(word, option)
	}
	if !isShort(word) {
		return "", false
	}
	at := 1 + strings.IndexAny(word[1:], o.letters)
	return word[at+1:], at > 0 && word[at] == option[1]
}

// takesNext reports whether a word is an option whose value is the next word.
func (o *argSet) takesNext(word string) bool {
	return slices.ContainsFunc(o.options["+"], func(option string) bool {
		rest, ok := o.value(word, option)
		return ok && rest == ""
	})
}

// operandOf returns the index of the first operand, len(args) if there is none.
func (o *argSet) operandOf(args []string) int {
	at := 0
	for ; at < len(args) && strings.HasPrefix(args[at], "-"); at++ {
		if o.takesNext(args[at]) {
			at++
		}
	}
	return min(at, len(args))
}

// has reports whether any of words is an option with a mark.
func (o *argSet) has(mark string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.ContainsFunc(o.options[mark], func(option string) bool { return o.names(word, option) })
	})
}

// match reports whether any of words matches an expression with a mark.
func (o *argSet) match(mark string, words []string) bool {
	return slices.ContainsFunc(o.exprs[mark], func(re *lazy.Regexp) bool { return re.MatchString(inLines(words)) })
}

// inLines returns words as lines, with form feeds for the line breaks in them.
func inLines(words []string) string {
	text := strings.ReplaceAll(strings.Join(words, "\x00\x00"), "\n", "\f")
	return strings.ReplaceAll(text, "\x00\x00", "\n") + "\n"
}

// maxOpaqueWords is how many words of a command are examined; a longer command is opaque.
const maxOpaqueWords = 300

// isOpaque reports whether a command, with a standard input from the line if fed, can run programs
// that rules cannot see.
func isOpaque(words []string, fed bool) bool {
	name, args := programName(words[0]), words[1:]
	if opaqueArgsOf()[name] == nil || isDynamic(words[0]) { // already treated as hidden
		return false
	}
	if len(args) > maxOpaqueWords || opaqueArgsFor(name).isOpaque(args, fed) || opaqueArgsFor(name+" *").isOpaque(args, fed) {
		return true
	}
	for i, word := range args[:commandEnd(args)] {
		if opaqueArgsFor(name+" "+word).isOpaque(args[i+1:], fed) {
			return true
		}
	}
	return false
}

// madeFile matches words that name a file that the line makes.
var madeFile = lazy.NewRegexp(`(?m)(?:^|=|^-[A-Za-z]+)/+(?:dev/+(?:stdin|fd|\.)|proc/)|^\x00.*(?:/dev/|/proc/)`)

// inputAsFile matches words that name the standard input as a file.
var inputAsFile = lazy.NewRegexp(`^(-|-[A-Za-z]+=?-|--[a-z-]+=-)$`)

// noOperand matches options, variables and numbers.
var noOperand = lazy.NewRegexp(`^-|=|^[0-9%]*$`)

// isOpaque reports whether arguments or the input make a program opaque.
func (o *argSet) isOpaque(args []string, fed bool) bool {
	at, own, hasCode := o.operandOf(args), args, false
	stops := o.is["=first"] || o.is["=stdin"] // only the words up to the first operand are the program's own
	if stops {
		own = args[:min(at+1, len(args))]
	}
	harmless := func(option, value string) bool {
		return value == "" || o.harmless[option].MatchString(strings.ReplaceAll(value, "\n", "\f"))
	}
	for i := 0; i < len(own); i++ {
		if o.has("", own[i:i+1]) {
			return true
		}
		for option := range o.harmless {
			value, ok := o.value(own[i], option)
			if ok && value == "" && i+1 < len(own) {
				value = own[i+1]
			}
			if ok && !harmless(option, strings.TrimPrefix(value, "=")) {
				return true
			}
			hasCode = hasCode || ok
		}
		if o.takesNext(own[i]) {
			i++
		}
	}
	readsFiles := o.is["=code"] || o.is["=stdin"]
	switch {
	case o.is["*"], o.match("+", args[:min(1, len(args))]), o.match("", own), readsFiles && madeFile.MatchString(inLines(own)):
		return true
	case o.harmless["^"] != nil && !hasCode && at < len(args) && !harmless("^", args[at]):
		return true
	case at == len(args) && o.is["=stdin"] && !o.has(".", args):
		return true
	case fed && o.is["=code"] && !stops && !o.is["=long"] && slices.ContainsFunc(args, inputAsFile.MatchString):
		return true
	}
	operands := args[at:]
	return fed && o.is["=input"] && (o.operands == 0 || len(operands) < o.operands || slices.ContainsFunc(operands[:o.operands], noOperand.MatchString))
}

// scriptOf returns the file that a shell or an interpreter runs and its arguments; nil if there is
// none, or its name is not known.
func scriptOf(words []string) []string {
	name, args := programName(words[0]), words[1:]
	o := opaqueArgsFor(name)
	at := o.operandOf(args)
	if name != "." && name != "source" && (!o.is["=stdin"] || o.has(".", args[:at])) || at == len(args) || slices.ContainsFunc(args[:at], isDynamic) || isDynamic(args[at]) && !homeFile.MatchString(args[at]) {
		return nil
	}
	return args[at:]
}

// homeFile matches a file below the home directory, by a tilde.
var homeFile = lazy.NewRegexp(`^\x00~/[A-Za-z0-9_./-]*$`)

// onlyChecks reports whether an option in args keeps the program from running code, as bash -n does.
func (o *argSet) onlyChecks(args []string) bool {
	own := args[:o.operandOf(args)]
	return o.has(".", own) && !codeFollows.MatchString(inLines(own))
}

// codeFollows matches options before code or the name of a module.
var codeFollows = lazy.NewRegexp(`(?m)^-[a-zA-Z]*[cm]`)

// buildFile matches files that programs run without being told their names.
var buildFile = lazy.NewRegexp(`(?i)^(gnu)?makefile$|\.mk$|^(package\.json|justfile|taskfile\.ya?ml|rakefile|cmakelists\.txt|build\.(gradle|xml|ninja).*|pom\.xml|sconstruct|conftest\.py|.*_test\.go|build\.rs)$`)

// runsOwnFile reports whether a command runs a file that the line itself writes, links or copies.
// Targets are the files of redirections.
func runsOwnFile(cmds []Command, targets []string) bool {
	var running [][]string
	for _, cmd := range cmds {
		words := cmd.Words[:min(len(cmd.Words), maxOpaqueWords)] // longer commands ask
		if opaqueArgsFor(programName(words[0])).is["=writes"] {
			targets = append(targets, words[1:]...)
		} else {
			running = append(running, words)
		}
	}
	written, builds := map[string]bool{}, false
	for _, target := range targets {
		name := path.Base(target[strings.LastIndexByte(target, '=')+1:]) // of=x
		if isDynamic(target) {
			name = "."
		}
		written[name] = true
		builds = builds || buildFile.MatchString(name)
	}
	return len(written) > 0 && slices.ContainsFunc(running, func(words []string) bool {
		name, run := programName(words[0]), words
		o := opaqueArgsFor(name)
		runsFiles := o.is["=code"] || o.is["=stdin"]
		if script := scriptOf(words); script != nil {
			run = script[:1]
		} else if why := refusalReason(name); o.is["=own"] || !runsFiles && why != reasonInterprets {
			run = words[:1]
		}
		return builds && (runsFiles || refusedPrefixes()[strings.Join(words[:min(2, len(words))], " ")] == reasonScripts) || slices.ContainsFunc(run, func(word string) bool {
			return written[path.Base(word)] || written["."] && strings.Contains(word, "/")
		})
	})
}
