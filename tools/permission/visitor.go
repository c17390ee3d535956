package permission

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"parley/tools/lazy"
)

// visitor walks the syntax tree of one line.
type visitor struct {
	*parser
	source  string
	depth   int
	fed     bool // the line's commands have an input from an outer line
	unclear bool // the line is not plain, or a command in it runs something that is not seen
	own     []Command
	nesting int                     // of commands that build others
	targets []string                // files of redirections
	inputs  map[syntax.Command]bool // commands that the line gives an input
}

// checkStatement checks that a statement is a list of simple commands; piped reports that it
// reads another command's output.
func (s *visitor) checkStatement(stmt *syntax.Stmt, piped bool) {
	for ; s.notSimple == ""; stmt = stmt.Cmd.(*syntax.BinaryCmd).X { // long lists nest on the left
		switch {
		case stmt.Background, stmt.Coprocess, stmt.Disown:
			s.setNotSimple("runs in the background")
		case stmt.Negated:
			s.setNotSimple("is negated")
		case slices.ContainsFunc(stmt.Redirs, func(r *syntax.Redirect) bool { return !mergesOrDiscards.MatchString(s.sourceOf(r)) }):
			s.setNotSimple("is redirected")
		case stmt.Cmd == nil:
			s.setNotSimple("is empty")
		case len(stmt.Redirs) > 0:
			s.setNotBare("is redirected")
		}
		switch cmd := stmt.Cmd.(type) {
		case *syntax.BinaryCmd:
			pipe := cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll
			if pipe {
				s.setNotBare("is a pipeline")
			}
			s.checkStatement(cmd.Y, piped || pipe)
			continue
		case *syntax.CallExpr:
			s.checkCall(cmd, piped)
		default:
			s.setNotSimple("is compound")
		}
		return
	}
}

// mergesOrDiscards matches a redirection that only merges the outputs, or discards an output or the input.
var mergesOrDiscards = lazy.NewRegexp(`^([012]?>&[12]|([012]?>>?|&>>?|[012]?<)[ \t]*/dev/null)$`)

// givesInput matches a redirection that provides a standard input.
var givesInput = lazy.NewRegexp(`^0?<[^<]`)

// filesBelow matches a word with wildcards that expands to files below a directory of the workspace,
// and so never to an option.
var filesBelow = lazy.NewRegexp(`^(\.|[A-Za-z0-9_][A-Za-z0-9_.-]*)(/[A-Za-z0-9_*?][A-Za-z0-9_.*?-]*)+$`)

// plainProgram matches a program without quotes or letters that look like others.
var plainProgram = lazy.NewRegexp(`^(?:\\\n|[^'"\\\x80-\x{10FFFF}])+$`)

// checkCall checks that a call is simple.
func (s *visitor) checkCall(cmd *syntax.CallExpr, piped bool) {
	if len(cmd.Assigns) > 0 {
		s.setNotSimple("sets variables")
		return
	}
	for i, word := range cmd.Args {
		v := evalWord(word)
		switch {
		case i > 0 && filesBelow.MatchString(s.sourceOf(word)) && !v.isStatic():
			s.setNotBare(dynamicReason + s.sourceOf(word))
		case !v.isStatic():
			s.setNotSimple(dynamicReason + s.sourceOf(word))
		case i == 0 && !plainProgram.MatchString(s.sourceOf(word)):
			s.setNotSimple("does not write its program plainly: " + s.sourceOf(word))
		default:
			s.setNotSimple(lookalikeReason(v))
		}
	}
	words := s.wordsOf(cmd.Args)
	s.parser.list = append(s.parser.list, Command{Words: words, piped: piped})
	s.isWrapped = s.isWrapped || isWrapper(words) && !isNarrow(words)
}

// visit adds the commands of a node. A line is plain if it has no other nodes than those of simple
// commands, lists, pipes, redirections to files, and parameters without operators.
func (s *visitor) visit(node syntax.Node) bool {
	switch node := node.(type) {
	case nil, *syntax.File, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.Comment:
	case *syntax.Stmt:
		s.unclear = s.unclear || node.Coprocess || node.Disown
		if slices.ContainsFunc(node.Redirs, func(r *syntax.Redirect) bool {
			return givesInput.MatchString(s.sourceOf(r)) && !mergesOrDiscards.MatchString(s.sourceOf(r))
		}) {
			s.inputs[node.Cmd] = true
		}
	case *syntax.BinaryCmd:
		if node.Op == syntax.Pipe || node.Op == syntax.PipeAll {
			s.inputs[node.Y.Cmd] = true
		}
	case *syntax.ParamExp:
		s.unclear = s.unclear || !parameter.MatchString(s.sourceOf(node))
	case *syntax.Redirect:
		s.addRedirect(node)
	case *syntax.TimeClause:
		s.addCommand([]string{"time"}, false)
	case *syntax.CallExpr:
		s.unclear = s.unclear || len(node.Assigns) > 0 || s.inputs[node] && len(node.Args) == 1 && node.Args[0].Lit() == "exec" // for what follows
		s.addCommand(s.wordsOf(node.Args), s.fed || s.inputs[node])
	case *syntax.DeclClause:
		s.unclear = true
		s.addCommand([]string{node.Variant.Value}, false)
	default:
		s.unclear = true
	}
	return true
}

// parameter matches a parameter without operators.
var parameter = lazy.NewRegexp(`^\$(\w+|[@*#?$!-]|\{#?(\w+|[@*#?$!-])\})$`)

// addRedirect adds the file of a redirection.
func (s *visitor) addRedirect(r *syntax.Redirect) {
	switch file := s.wordsOf([]*syntax.Word{r.Word})[0]; r.Op.String() {
	case "<":
	case ">", ">>", "<>", ">|", "&>", "&>>":
		if !strings.HasPrefix(file, "/dev/") {
			s.targets = append(s.targets, file)
		}
	case "<&", ">&": // bash expands the word twice
		s.unclear = s.unclear || strings.ContainsAny(s.sourceOf(r.Word), "$`")
	default:
		s.unclear = true
	}
}

// addCommand adds a command of this line, with an input from the line if fed.
func (s *visitor) addCommand(words []string, fed bool) {
	if len(words) == 0 {
		return
	}
	if git := gitWords(words); git[0] != words[0] {
		s.addCommand(git, fed)
	}
	s.cmds = append(s.cmds, Command{Words: words, fed: fed})
	name := programName(words[0])
	inner, built := builtCommand(words)
	if !built {
		s.own = append(s.own, Command{Words: words})
	}
	switch o, why := opaqueArgsFor(name), refusalReason(name); {
	case isDynamic(words[0]), strings.HasPrefix(words[0], "/proc/"), strings.HasPrefix(words[0], "/dev/"):
		s.unclear = true
	case s.nesting == maxWrappers:
		s.unclear = true
		s.addSuffixes(words[1:], fed)
	case built:
		if s.nesting == 0 { // in case its options were misread
			s.addWrapped(words, fed, true)
		}
		s.unclear = s.unclear || choosesCommand(inner)
		s.nesting++
		s.addCommand(inner, fed && why == reasonRuns && o.operands > 0)
		s.nesting--
	case o.is["=own"], o.onlyChecks(words[1:]):
	case scriptOf(words) != nil && !isOpaque(words, fed):
		s.addSuffixes(scriptOf(words), fed) // the script may run its arguments
	case isWrapper(words):
		s.addWrapped(words, fed, false)
	case why == reasonAltersShell: // test -v 'a[$(x)]' runs x
		s.unclear = s.unclear || slices.ContainsFunc(words[1:], func(word string) bool {
			return evaluated.MatchString(word) || isDynamic(word) && (name == "test" || name == "[") && splits.MatchString(quotedPart.ReplaceAllString(word, ""))
		})
	case why == reasonUnknown:
		s.addHandedOn(words, fed)
	}
}

var (
	evaluated  = lazy.NewRegexp("^[^\x00]*(\\$\\(|`)")
	quotedPart = lazy.NewRegexp(`"[^"\\]*"|'[^'\\]*'`)
	splits     = lazy.NewRegexp("\\$[^#?$!{]|\\$\\{[^#]|`|\\$[#?$!][^#?$!]") // a word into several; one may be -v
)

// findExec matches options of find and fd before a command.
var findExec = lazy.NewRegexp(`^(-exec|-execdir|-ok|-okdir|--exec|--exec-batch|-[A-Za-z]{0,3}[xX])$`)

// inputMark matches options of xargs that set a mark for the input.
var inputMark = lazy.NewRegexp(`(?m)^(?:-[0-9A-Za-z]*?[IJ]\n?(.+)|(?:-[0-9A-Za-z]*?i|--r[a-z]*=?)(.*))$`)

// builtCommand returns the command that a program runs with words of its own choice: xargs, parallel
// and find, where the words for input and found files are not known, and sudo.
func builtCommand(words []string) (inner []string, ok bool) {
	name := programName(words[0])
	mark, value, o := "{}", "$x", opaqueArgsFor(name)
	at, appends := 1+o.operandOf(words[1:]), true
	switch {
	case o.is["=finds"]:
		value, appends = "./$x", name[:2] == "fd"
		at = 1 + slices.IndexFunc(words, findExec.MatchString)
		if at == 0 || slices.ContainsFunc(words[at:], findExec.MatchString) {
			return nil, false
		}
		if end := slices.IndexFunc(words[at:], func(word string) bool { return word == ";" || word == "+" }); end >= 0 {
			words = words[:at+end]
		}
	case o.is["=feeds"]:
		m := inputMark.FindStringSubmatch(inLines(words[:at]))
		if m != nil {
			mark = cmp.Or(m[1]+m[2], mark)
		}
		appends = m == nil && at < len(words)
	default:
		if o.operands != 1 || refusalReason(name) != reasonRuns || at == len(words) {
			return nil, false
		}
		return words[at:], !strings.ContainsAny(words[at], "=!"+separators)
	}
	for _, word := range words[at:] {
		switch {
		case !strings.Contains(word, mark):
		case strings.ContainsAny(word, "\"\\$`"):
			word = dynamicMark + "$x" // anything
		default:
			word = dynamicMark + `"` + strings.ReplaceAll(word, mark, value) + `"`
		}
		inner = append(inner, word)
	}
	if appends {
		inner = append(inner, dynamicMark+`"`+value+`"`)
	}
	return inner, len(inner) > 0
}

// choosesCommand reports whether a word whose value is not known is the command of a program that does
// many things.
func choosesCommand(words []string) bool {
	name, args := programName(words[0]), words[1:]
	o := opaqueArgsFor(name)
	for refusedPrefixes()[name] == reasonSubcommands && !strings.HasPrefix(name, "git ") {
		args = args[o.operandOf(args):]
		if len(args) == 0 {
			return false
		}
		if !strings.HasPrefix(args[0], dynamicMark+`"-`) {
			if isDynamic(args[0]) {
				return true
			}
			name += " " + args[0]
		}
		args = args[1:]
	}
	return false
}

// addWrapped adds the arguments of a command as commands: once one runs its arguments, any of them
// may be one. Loose ones may well be none.
func (s *visitor) addWrapped(words []string, fed, loose bool) {
	runs := !loose && refusalReason(programName(words[0])) == reasonRuns
	for i, word := range words[1:] {
		cmd := Command{Words: words[1+i:], fed: fed && !loose, isLoose: loose}
		s.cmds = append(s.cmds, cmd)
		if runs {
			s.own = append(s.own, cmd)
			runs = !opaqueArgsFor(programName(word)).is["=writes"] // its files are no commands
		}
	}
	name, isData := programName(words[0]), loose
	for i := range words[1:min(len(words), maxWrappers)] {
		inner := words[1+i:]
		_, built := builtCommand(inner)
		switch {
		case loose, !built && !(opaqueArgsFor(programName(inner[0])).is["=aliases"] && isWrapper(inner)):
		case s.nesting > 0:
			s.unclear = true
		default:
			s.nesting++
			s.addCommand(inner, fed)
			s.nesting--
		}
	}
	is := opaqueArgsFor(name).is
	for i, word := range words[1:] {
		switch {
		case isValue.MatchString(inLines(words[i : i+2])):
		case isDynamic(word):
			s.unclear = s.unclear || !loose
		default:
			plain := s.addText(word, fed)
			s.unclear = s.unclear || !plain && !isData
			if is["=aliases"] {
				s.addText(name+" "+word, fed)
			}
		}
		if is["=stdin"] && codeFollows.MatchString(words[i]) {
			return // arguments of the text
		}
		isData = isData || i < maxWrappers && runsNothing(words[i+1:])
	}
	s.addText(strings.Join(words[1:], " "), fed)
}

// maxWrappers bounds the words searched for a program that others run.
const maxWrappers = 32

// runsNothing reports whether words are a command that does not run others.
func runsNothing(words []string) bool {
	if isDynamic(words[0]) {
		return false
	}
	name := programName(words[0])
	why := refusalReason(name)
	return (why == "" || why == reasonKnown) && !isWrapper(words) || opaqueArgsFor(name).is["=own"] || scriptOf(words) != nil
}

// handsOn matches words before a command that a program runs, as used by many programs, or with it.
var handsOn = lazy.NewRegexp(`^(?:--|-c|--(?:execute|run)|--?(?:[a-z]+-)*[a-z]*(?:commands?|cmd|exec|rsh|script|editor|pager))$`)

// addHandedOn adds commands that a program not in any table probably runs: the words after --
// or an option such as --exec or --password-command, and the value of -c if it is a command
// line.
func (s *visitor) addHandedOn(words []string, fed bool) {
	for i, word := range words {
		option, value, _ := strings.Cut(word, "=")
		if i == 0 || !handsOn.MatchString(option) {
			continue
		}
		rest := append([]string{value}, words[i+1:]...)
		if value == "" {
			rest = rest[1:]
		}
		switch {
		case len(rest) == 0 || isDynamic(rest[0]):
		case strings.ContainsAny(rest[0], separators):
			plain := s.addText(rest[0], fed)
			s.unclear = s.unclear || !plain
		case option != "-c" && (path.IsAbs(rest[0]) || !strings.Contains(rest[0], "/")): // otherwise a file of the workspace
			s.nesting++
			s.addCommand(rest, fed)
			s.nesting--
			return
		}
	}
}

// isValue matches a word and the one before it, if it cannot be a program, whatever its value: a directory to
// mount or a variable to set, as in docker run -v "$PWD:/src" -e "A=$B".
var isValue = lazy.NewRegexp(`\n\x00"\$(PWD|\{PWD\})"?:[A-Za-z0-9_./:-]*"?\n|^(-e|--env)\n\x00("[A-Za-z_][A-Za-z0-9_]*=[^"]*"|[A-Za-z_][A-Za-z0-9_]*="[^"]*")\n`)

// addText adds text that may be a command line, also the values of options or settings in it, and after
// the ! of a shell alias in git, gh and hg. It reports whether a line that it is is plain.
func (s *visitor) addText(text string, fed bool) (plain bool) {
	line := strings.TrimLeft(text, "! \t\n")
	isLine := line != text || strings.ContainsAny(line, separators)
	for value := line; strings.Contains(value, "="); {
		if _, value, _ = strings.Cut(value, "="); isLine || strings.HasPrefix(value, "!") {
			s.addLine(strings.TrimLeft(value, "! \t\n"), s.depth+1, fed)
		}
	}
	return !isLine || line == "" || line == ";" || s.addLine(line, s.depth+1, fed) // find -exec ends in ;
}

// separators separate or expand words of a line.
const separators = " \t\n;&|()`$"

func (s *visitor) wordsOf(args []*syntax.Word) []string {
	words := make([]string, len(args))
	for i, arg := range args {
		if v := evalWord(arg); v.isKnown {
			words[i] = v.text
			continue
		}
		words[i] = dynamicMark + s.sourceOf(arg)
	}
	return words
}

// sourceOf returns the source text of a node.
func (s *visitor) sourceOf(word syntax.Node) string {
	from, to := int(word.Pos().Offset()), int(word.End().Offset())
	return s.source[min(from, len(s.source)):min(max(from, to), len(s.source))]
}
