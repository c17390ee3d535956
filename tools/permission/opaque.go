package permission

import (
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"parley/tools/lazy"
)

// Opaque commands run programs that are not among their words, because their
// arguments contain code or a language of their own. Commands that rules deny can
// hide there.

//go:embed opaque.txt
var opaqueText string

// opaqueArgs describes the arguments that make a program opaque: the items of opaque.txt.
type opaqueArgs struct {
	always, singleDash, stopsAtOperand, readsStdin bool
	runsFiles                                      bool             // the files named by its words are code
	options                                        []string         // options that make it opaque
	valued, terminators                            []string         // take the next word; end the program's own arguments
	glued                                          []string         // take only the rest of their word as a value
	anyWord                                        []*regexp.Regexp // match any word
	firstWord                                      []*regexp.Regexp // match the first word
	inputArgs
}

// inputArgs describes the arguments with which a program reads code from its standard input.
type inputArgs struct {
	readsInput   bool             // code on the standard input makes it opaque
	maxOperands  int              // with this many operands it is not read; 0 for any
	inputText    []*regexp.Regexp // match input that makes it opaque
	inputOptions []string         // if not empty, one of these options is required for reading it
	noInput      []*regexp.Regexp // match words with which it is not read
	noOperand    []*regexp.Regexp // match words that are not operands
}

func (o *opaqueArgs) add(item string) {
	expr := func(s string) *regexp.Regexp {
		return regexp.MustCompile(strings.TrimSuffix(strings.TrimPrefix(s, "/"), "/"))
	}
	switch {
	case item == "*":
		o.always = true
	case item == "=long":
		o.singleDash = true
	case item == "=first":
		o.stopsAtOperand = true
	case item == "=stdin":
		o.readsStdin, o.runsFiles = true, true
	case item == "=code":
		o.runsFiles = true
	case strings.HasPrefix(item, "=input"):
		o.readsInput = true
		o.maxOperands, _ = strconv.Atoi(strings.TrimPrefix(item, "=input"))
	case strings.HasPrefix(item, "<-"):
		o.inputOptions = append(o.inputOptions, item[1:])
	case strings.HasPrefix(item, "</"):
		o.inputText = append(o.inputText, expr(item[1:]))
	case strings.HasPrefix(item, "!/"):
		o.noInput = append(o.noInput, expr(item[1:]))
	case strings.HasPrefix(item, "~/"):
		o.noOperand = append(o.noOperand, expr(item[1:]))
	case strings.HasPrefix(item, "+/"):
		o.firstWord = append(o.firstWord, expr(item[1:]))
	case strings.HasPrefix(item, "/"):
		o.anyWord = append(o.anyWord, expr(item))
	case strings.HasSuffix(item, "+"):
		o.valued = append(o.valued, strings.TrimSuffix(item, "+"))
	case strings.HasSuffix(item, "?"):
		o.glued = append(o.glued, strings.TrimSuffix(item, "?"))
	case strings.HasSuffix(item, "."):
		o.terminators = append(o.terminators, strings.TrimSuffix(item, "."))
	default:
		o.options = append(o.options, item)
	}
}

// opaqueArgsOf parses opaque.txt into a map by program.
var opaqueArgsOf = sync.OnceValue(func() map[string]*opaqueArgs {
	table, names := map[string]*opaqueArgs{}, []string(nil)
	for line := range strings.Lines(opaqueText) {
		body, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "\t")
		switch {
		case body == "", strings.HasPrefix(body, "#"):
		case !indented:
			names = strings.Split(body, ", ")
			for _, name := range names {
				if table[name] == nil {
					table[name] = &opaqueArgs{}
				}
			}
		default:
			for _, name := range names {
				for item := range strings.FieldsSeq(body) {
					table[name].add(item)
				}
			}
		}
	}
	return table
})

// maxOpaqueWords is how many words of a command are examined; a longer command is opaque.
const maxOpaqueWords = 300

// isOpaque reports whether a command can run programs that rules cannot see.
func isOpaque(words []string, in input) bool {
	if len(words) == 0 || isDynamic(words[0]) {
		return false // already treated as hidden
	}
	name, args := programName(words[0]), words[1:]
	special, o, hasCommands := opaqueFunc(name), opaqueArgsOf()[name], opaquePrograms()[name]
	if special == nil && o == nil && !hasCommands {
		return false
	}
	if len(args) > maxOpaqueWords {
		return true
	}
	return special != nil && special(args, in.visible) || o.isOpaque(args, in) || hasCommands && isOpaqueCommand(name, args, in)
}

// opaquePrograms returns the programs with commands in opaque.txt.
var opaquePrograms = sync.OnceValue(func() map[string]bool {
	programs := map[string]bool{}
	for name := range opaqueArgsOf() {
		if program, _, ok := strings.Cut(name, " "); ok {
			programs[program] = true
		}
	}
	return programs
})

// isOpaqueCommand reports whether a word that may be a program's command makes it opaque.
func isOpaqueCommand(program string, args []string, in input) bool {
	for i, word := range args {
		switch {
		case opaqueArgsOf()[program+" "+word].isOpaque(args[i+1:], in):
			return true
		case !strings.HasPrefix(word, "-") && (i == 0 || !strings.HasPrefix(args[i-1], "-")): // and not the value of an option
			return false
		}
	}
	return false
}

// isOpaque reports whether arguments or the input make a program opaque; a nil o never does.
func (o *opaqueArgs) isOpaque(args []string, in input) bool {
	return o != nil && (o.match(args) || o.runsInput(args, in))
}

// isOpaque reports whether a line may run programs that rules cannot see.
func (r *parser) isOpaque() bool {
	for i, cmd := range r.cmds {
		if r.opaque {
			break
		}
		r.numbers.noteCommand(cmd.Words)
		if cmd.isText && !r.givesInput { // usually the name of a program whose arguments were checked
			continue
		}
		r.opaque = isOpaque(cmd.Words, r.inputs[i])
	}
	r.opaque = r.opaque || !r.numbers.areKnown()
	return r.opaque
}

// startsNothing reports whether the arguments of a program with its own language are known
// not to run a command. A script file and its arguments count as such.
func startsNothing(words []string, in input) bool {
	switch programName(words[0]) {
	case "sqlite", "psql", "pgcli", "mysql", "mariadb":
		return !isOpaque(words, in) && !slices.ContainsFunc(words, isDynamic)
	case "sed", "gsed", "ssed", "awk", "gawk", "mawk", "nawk", "original-awk", "goawk", "bioawk":
		return len(words) > 1 && !isOpaque(words, input{})
	}
	return scriptOf(words) != nil && !isOpaque(words, in)
}

// homeFile matches a file below the home directory, by a tilde.
var homeFile = lazy.NewRegexp(`^\x00~/[A-Za-z0-9_./-]*$`)

// scriptOf returns the file that a shell or an interpreter runs and its arguments; nil if there is
// none, or its name is not known.
func scriptOf(words []string) []string {
	name, args, at := programName(words[0]), words[1:], -1
	switch o := opaqueArgsOf()[name]; {
	case name == ".", name == "source":
		at = 0
	case slices.Contains(shells, name):
		at = scriptOfShell(args)
	case o != nil && o.readsStdin:
		at = o.scriptOf(args)
	}
	if at < 0 || at >= len(args) || isDynamic(args[at]) && !homeFile.MatchString(args[at]) {
		return nil
	}
	return args[at:]
}

// scriptOf returns the index of the operand that is the file to run; -1 if
// there is none.
func (o *opaqueArgs) scriptOf(args []string) int {
	for i := 0; i < len(args); i++ {
		switch word := args[i]; {
		case slices.Contains(o.terminators, word):
			return -1
		case o.takesNext(word):
			if i++; i < len(args) && isDynamic(args[i]) {
				return -1
			}
		case !strings.HasPrefix(word, "-"):
			return i
		}
	}
	return -1
}

// madeFile matches words that name a file made by the line: an open file or a process
// substitution.
var madeFile = lazy.NewRegexp(`(^|=|^-[A-Za-z]+)/+(dev/+(stdin|fd|\.)|proc/)|^\x00.*(<\(|/dev/|/proc/)`)

// match reports whether args make the program opaque.
func (o *opaqueArgs) match(args []string) bool {
	if o.always {
		return true
	}
	if len(args) > 0 && matchesAny(o.firstWord, args[0]) {
		return true
	}
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case matchesAny(o.anyWord, word), o.runsFiles && madeFile.MatchString(word), slices.ContainsFunc(o.options, func(option string) bool { return o.isOption(word, option) }):
			return true
		case slices.ContainsFunc(o.terminators, func(option string) bool { return o.isOption(word, option) }):
			return i+1 < len(args) && matchesAny(o.anyWord, args[i+1])
		case o.stopsAtOperand && o.takesNext(word):
			if i++; i < len(args) && matchesAny(o.anyWord, args[i]) {
				return true
			}
		case o.stopsAtOperand && !strings.HasPrefix(word, "-"):
			return false
		}
	}
	return o.readsStdin
}

func matchesAny(all []*regexp.Regexp, word string) bool {
	return slices.ContainsFunc(all, func(re *regexp.Regexp) bool { return re.MatchString(word) })
}

// isOption reports whether word is an option: by its full name, abbreviated, or as one of
// several combined letters.
func (o *opaqueArgs) isOption(word, option string) bool {
	name, _, _ := strings.Cut(word, "=")
	switch {
	case name == option:
		return true
	case o.singleDash:
		return strings.TrimPrefix(name, "-") == option
	case strings.HasPrefix(option, "--"):
		return len(name) > 2 && strings.HasPrefix(name, "--") && strings.HasPrefix(option, name)
	}
	return len(option) == 2 && strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.Contains(word[1:], option[1:])
}
