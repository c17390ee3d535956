package permission

import (
	_ "embed"
	"path"
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

// opaqueArgs describes the arguments that make a program opaque, by the items of opaque.txt. Its
// expressions match arguments that each end with a line break.
type opaqueArgs struct {
	is          map[string]bool         // items without an expression or option
	maxOperands int                     // of =input; 0 for any
	items       map[string][]string     // expressions by the mark before them, options by the mark after them
	exprs       map[string]*lazy.Regexp // compiled items
	checks      []valueCheck
	letters     string       // of options with values, quoted
	valued      *lazy.Regexp // options with their values; nil for none
	leading     *lazy.Regexp // what precedes the first operand
	stops       bool         // only the words up to the first operand are the program's own
}

// A valueCheck is an option that makes a program opaque unless its value is harmless.
type valueCheck struct {
	option   string
	find     *lazy.Regexp // the option, and its value in parentheses
	harmless *regexp.Regexp
}

func (o *opaqueArgs) add(item string) {
	mark, expr, isExpr := strings.Cut(item, "/")
	expr = strings.TrimSuffix(expr, "/")
	body := strings.TrimRight(item, "+?.")
	option, checked := strings.CutSuffix(mark, "=")
	switch {
	case isExpr && checked:
		o.checks = append(o.checks, valueCheck{option: option, harmless: regexp.MustCompile(expr)})
		o.items["+"] = append(o.items["+"], option)
	case isExpr:
		o.items[mark+"/"] = append(o.items[mark+"/"], expr)
	case item[0] == '-':
		o.items[item[len(body):]] = append(o.items[item[len(body):]], body)
	case item[0] == '<':
		o.items["<"] = append(o.items["<"], item[1:])
	default:
		name := strings.TrimRight(item, "0123456789")
		o.is[name] = true
		if n, err := strconv.Atoi(item[len(name):]); err == nil {
			o.maxOperands = n
		}
	}
}

// compile sets the expressions when all items are added.
func (o *opaqueArgs) compile() {
	o.stops = o.is["=first"] || o.is["=stdin"]
	if o.is["=code"] || o.is["=stdin"] {
		o.items["/"] = append(o.items["/"], `(?:^|=|^-[A-Za-z]+)/+(?:dev/+(?:stdin|fd|\.)|proc/)|^\x00.*(?:/dev/|/proc/)`) // a file that the line makes
	}
	for mark, all := range o.items {
		if !strings.HasSuffix(mark, "/") {
			var options []string
			for _, option := range all {
				options = append(options, o.pattern(option, `(?:=.*)?$`))
			}
			all = []string{"^(?:" + strings.Join(options, "|") + ")"}
		}
		o.exprs[mark] = anyOf("(?m)", all, "")
	}
	valued := []string{"-.*\n"}
	for _, option := range slices.Concat(o.items["+"], o.items["?"]) {
		if len(option) == 2 {
			o.letters += regexp.QuoteMeta(option[1:])
		}
	}
	for _, mark := range []string{"+", "?"} {
		for _, option := range o.items[mark] {
			rest := map[string]string{"+": "\n.*\n", "?": ".*\n"}[mark]
			if len(option) > 2 && mark == "?" {
				valued = append([]string{option + "\n"}, valued...)
				continue
			}
			valued = append([]string{o.pattern(option, "") + rest}, valued...)
		}
	}
	for i, c := range o.checks {
		o.checks[i].find = anyOf("(?m)^", []string{o.pattern(c.option, "")}, "[=\n]?(.*)\n")
	}
	o.leading = anyOf(`\A`, valued, "*")
	if valued = valued[:len(valued)-1]; len(valued) > 0 {
		o.valued = anyOf("(?m)^", valued, "")
	}
}

// anyOf returns an expression for one of all, and what is before and after it.
func anyOf(before string, all []string, after string) *lazy.Regexp {
	return lazy.NewRegexp(before + "(?:" + strings.Join(all, "|") + ")" + after)
}

// pattern returns an expression for an option: by its name or an abbreviation, and end, or as one of
// combined letters. If end is empty, no letter before it takes a value.
func (o *opaqueArgs) pattern(option, end string) string {
	without := o.letters
	if end != "" {
		without = ""
	}
	switch {
	case o.is["=long"]:
		return "--?" + regexp.QuoteMeta(strings.TrimLeft(option, "-")) + end
	case len(option) == 2:
		return "-(?:[^-\n" + without + "][^\n" + without + "]*)?" + regexp.QuoteMeta(option[1:])
	case !strings.HasPrefix(option, "--"):
		return regexp.QuoteMeta(option) + end
	}
	abbreviated := ""
	for i := len(option) - 1; i > 2; i-- {
		abbreviated = "(?:" + regexp.QuoteMeta(option[i:i+1]) + abbreviated + ")?"
	}
	return regexp.QuoteMeta(option[:3]) + abbreviated + end
}

// opaqueArgsOf parses opaque.txt into a map by program. A program that is not in it has no arguments
// that make it opaque.
var opaqueArgsOf = sync.OnceValue(func() map[string]*opaqueArgs {
	table := map[string]*opaqueArgs{}
	readTable(opaqueText, func(name, items string) {
		program, _, _ := strings.Cut(name, " ") // so that its commands are looked up
		for _, name := range []string{name, program} {
			if table[name] == nil {
				table[name] = &opaqueArgs{is: map[string]bool{}, items: map[string][]string{}, exprs: map[string]*lazy.Regexp{}}
			}
		}
		for item := range strings.FieldsSeq(items) {
			table[name].add(item)
		}
	})
	for _, o := range table {
		o.compile()
	}
	return table
})

var noOpaqueArgs = func() *opaqueArgs { o := &opaqueArgs{}; o.compile(); return o }()

// opaqueArgsFor returns the opaque arguments of a program.
func opaqueArgsFor(name string) *opaqueArgs {
	if o := opaqueArgsOf()[name]; o != nil {
		return o
	}
	return noOpaqueArgs
}

func (o *opaqueArgs) match(mark, text string) bool {
	return o.exprs[mark] != nil && o.exprs[mark].MatchString(text)
}

// maxOpaqueWords is how many words of a command are examined; a longer command is opaque.
const maxOpaqueWords = 300

// isOpaque reports whether a command, with a standard input from the line if fed, can run programs
// that rules cannot see.
func isOpaque(words []string, fed bool) bool {
	name, args := programName(words[0]), words[1:]
	o := opaqueArgsOf()[name]
	if o == nil || isDynamic(words[0]) { // already treated as hidden
		return false
	}
	if len(args) > maxOpaqueWords || o.isOpaque(args, fed) || opaqueArgsFor(name+" *").isOpaque(args, fed) {
		return true
	}
	for i, word := range args { // one of them may be the program's command
		switch {
		case opaqueArgsFor(name+" "+word).isOpaque(args[i+1:], fed):
			return true
		case !strings.HasPrefix(word, "-") && (i == 0 || !strings.HasPrefix(args[i-1], "-")): // and not the value of an option
			return false
		}
	}
	return false
}

// inLines returns the first words as lines, without the line breaks in them.
func inLines(words []string) string {
	text := strings.ReplaceAll(strings.Join(words[:min(len(words), maxOpaqueWords)], "\x00\x00"), "\n", "\f")
	return strings.ReplaceAll(text, "\x00\x00", "\n") + strings.Repeat("\n", min(len(words), 1))
}

// withoutValues removes the values of options.
func (o *opaqueArgs) withoutValues(text string) string {
	if o.valued == nil {
		return text
	}
	return o.valued.ReplaceAllStringFunc(text, func(found string) string {
		option, value, _ := strings.Cut(found, "\n")
		if value == "" && !strings.HasPrefix(option, "--") { // in the same word
			return ""
		}
		return option + "\n"
	})
}

// isOpaque reports whether arguments or the input make a program opaque.
func (o *opaqueArgs) isOpaque(args []string, fed bool) bool {
	text := inLines(args)
	own := o.leading.FindString(text)
	operand, _, found := strings.Cut(text[len(own):], "\n")
	scope, hasCode := text, false
	if o.stops {
		scope = text[:min(len(text), len(own)+len(operand)+1)]
	}
	for _, c := range o.checks {
		for _, m := range c.find.FindAllStringSubmatch(scope, -1) {
			if hasCode = true; m[1] != "" && !c.harmless.MatchString(m[1]) {
				return true
			}
		}
	}
	return o.is["*"] || o.match("+/", inLines(args[:min(1, len(args))])) || o.match("/", scope) || o.match("", o.withoutValues(scope)) ||
		o.exprs["^/"] != nil && found && !hasCode && !o.match("^/", operand) ||
		o.is["=stdin"] && !found && !o.match(".", own) || fed && o.runsInput(text)
}

// inputAsFile matches words that name the standard input as a file.
var inputAsFile = lazy.NewRegexp(`(?m)^(-|-[A-Za-z]+=?-|--[a-z-]+=-)$`)

// runsInput reports whether the program may run commands from its input.
func (o *opaqueArgs) runsInput(text string) bool {
	own, operands, ended := strings.Cut("\n"+text, "\n--\n")
	if o.is["=code"] && !o.stops && !o.is["=long"] && inputAsFile.MatchString(own) {
		return true
	}
	if ended {
		own += "\n--\n"
	}
	own = o.withoutValues(own)
	count := strings.Count(operands, "\n")
	for word := range strings.FieldsFuncSeq(own, func(r rune) bool { return r == '\n' }) {
		if word[0] != '-' && !o.match("~/", word) {
			count++
		}
		for i := 1; i < len(word) && word[0] == '-' && word[1] != '-'; i++ {
			if o.match("!/", "-"+word[i:i+1]) {
				return false
			}
			if strings.Contains(o.letters, word[i:i+1]) {
				break
			}
		}
	}
	return o.is["=input"] && !o.match("!/", own) && (o.exprs["<"] == nil || o.match("<", own)) && (o.maxOperands == 0 || count < o.maxOperands)
}

// takesNext reports whether a word is an option whose value is the next word.
func (o *opaqueArgs) takesNext(word string) bool {
	return o.valued != nil && o.valued.FindString(word+"\n-\n") == word+"\n-\n"
}

// operandOf returns the index of the first operand, len(args) if there is none.
func (o *opaqueArgs) operandOf(args []string) int {
	if at := strings.Count(o.leading.FindString(inLines(args)), "\n"); at < maxOpaqueWords {
		return at
	}
	return len(args)
}

// scriptOf returns the file that a shell or an interpreter runs and its arguments; nil if there is
// none, or its name is not known.
func scriptOf(words []string) []string {
	name, args := programName(words[0]), words[1:]
	o := opaqueArgsFor(name)
	at := o.operandOf(args)
	if name != "." && name != "source" && (!o.is["=stdin"] || o.match(".", inLines(args[:at]))) || at == len(args) || slices.ContainsFunc(args[:at], isDynamic) || isDynamic(args[at]) && !homeFile.MatchString(args[at]) {
		return nil
	}
	return args[at:]
}

// homeFile matches a file below the home directory, by a tilde.
var homeFile = lazy.NewRegexp(`^\x00~/[A-Za-z0-9_./-]*$`)

// onlyChecks reports whether an option in args keeps the program from running code, as bash -n does.
func (o *opaqueArgs) onlyChecks(args []string) bool {
	own := o.leading.FindString(inLines(args))
	return o.match(".", own) && !codeFollows.MatchString(own)
}

// codeFollows matches options before code or the name of a module.
var codeFollows = lazy.NewRegexp(`(?m)^-[a-zA-Z]*[cm]`)

// copiers are programs that write, link or copy the files that their words name.
var copiers = []string{"cp", "ln", "mv", "install", "ginstall", "link", "tee", "dd", "rsync", "scp", "curl", "wget", "ditto", "rename"}

// buildFile matches files that programs run without being told their names.
var buildFile = lazy.NewRegexp(`(?i)^(gnu)?makefile$|\.mk$|^(package\.json|justfile|taskfile\.ya?ml|rakefile|cmakelists\.txt|build\.(gradle|xml|ninja).*|pom\.xml|sconstruct|conftest\.py|.*_test\.go|build\.rs)$`)

// runsOwnFile reports whether a command runs a file that the line itself writes, links or copies.
// Targets are the files of redirections, "" for one whose name is not known.
func runsOwnFile(cmds []Command, targets []string) bool {
	var running [][]string
	for _, cmd := range cmds {
		if slices.Contains(copiers, programName(cmd.Words[0])) {
			targets = append(targets, cmd.Words[1:]...)
		} else {
			running = append(running, cmd.Words)
		}
	}
	written, builds := map[string]bool{}, false
	for _, target := range targets {
		name := path.Base(target[strings.LastIndexByte(target, '=')+1:]) // of=x
		written[name] = true
		builds = builds || buildFile.MatchString(name)
	}
	return len(written) > 0 && slices.ContainsFunc(running, func(words []string) bool {
		name, run := programName(words[0]), words[:1]
		o, why := opaqueArgsFor(name), refusalReason(name)
		runsFiles := o.is["=code"] || o.is["=stdin"]
		if script := scriptOf(words); script != nil {
			run = script[:1]
		} else if (why == reasonRuns || why == reasonInterprets || runsFiles) && !o.is["=own"] {
			run = words
		}
		return builds && (runsFiles || refusedPrefixes()[strings.Join(words[:min(2, len(words))], " ")] == reasonScripts) || slices.ContainsFunc(run, func(word string) bool {
			return written[path.Base(word)] || written["."] && strings.Contains(word, "/") // the base name of "" is .
		})
	})
}
