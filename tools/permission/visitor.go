package permission

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"parley/tools/lazy"
)

// visitor walks the syntax tree of one line.
type visitor struct {
	*parser
	source        string
	ownCmds       []Command                   // commands of this line, without inner ones
	texts         []string                    // quoted texts and values that could be command lines
	innerLines    []string                    // texts that their program runs as command lines
	runsArguments bool                        // a command runs its arguments, as text or as words
	ownInputs     []input                     // the inputs of ownCmds
	given         []bool                      // by node, from the root to the visited one: the line gives it an input
	piped         map[*syntax.Stmt]bool       // statements that read from a pipe
	visibleInputs map[*syntax.CallExpr]string // inputs that are literal text in this line, by command
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
		case slices.ContainsFunc(stmt.Redirs, func(r *syntax.Redirect) bool { return !isHarmlessRedirect(r) }):
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

// isHarmlessRedirect reports whether a redirection only merges the outputs, or discards an output or the input.
func isHarmlessRedirect(redir *syntax.Redirect) bool {
	if redir.N != nil && !slices.Contains([]string{"0", "1", "2"}, redir.N.Value) {
		return false
	}
	switch to := redir.Word.Lit(); redir.Op {
	case syntax.DplOut:
		return to == "1" || to == "2"
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrIn:
		return to == "/dev/null"
	}
	return false
}

// filesBelow matches a word with wildcards that expands to files below a directory of the workspace,
// and so never to an option.
var filesBelow = lazy.NewRegexp(`^(\.|[A-Za-z0-9_][A-Za-z0-9_.-]*)(/[A-Za-z0-9_*?][A-Za-z0-9_.*?-]*)+$`)

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
		case i == 0 && (!v.isUnquoted || !isASCII(v.text)):
			s.setNotSimple("does not write its program plainly: " + s.sourceOf(word))
		default:
			if why := lookalikeReason(v); why != "" {
				s.setNotSimple(why)
			}
		}
	}
	words := s.wordsOf(cmd.Args)
	s.parser.list = append(s.parser.list, Command{Words: words, piped: piped})
	if isWrapper(words) && !isNarrow(words) && s.isWrapped == "" {
		s.isWrapped = "is wrapped: " + words[0] + " runs its arguments"
	}
}

// visit collects the commands and texts of a node that could run.
func (s *visitor) visit(node syntax.Node) bool {
	switch node := node.(type) {
	case *syntax.Stmt:
		s.noteRedirects(node)
	case *syntax.BinaryCmd:
		if node.Op == syntax.Pipe || node.Op == syntax.PipeAll {
			s.notePipe(node)
		}
	case *syntax.CmdSubst:
		if source := s.sourceOf(node); node.Backquotes && bareBackquote.MatchString(source[min(1, len(source)):max(len(source)-1, 0)]) {
			s.opaque = true
			s.addUnparsed(source)
		}
	case *syntax.ParamExp:
		if node.Exp != nil && node.Exp.Op == syntax.OtherParamOps { // ${x@P} runs substitutions in the value
			s.opaque = true
		}
		s.addDefault(node)
		s.noteNumbers(node)
	case *syntax.CallExpr:
		before := len(s.texts)
		for _, assign := range node.Assigns {
			if assign.Name == nil || !directoryVariables.MatchString(assign.Name.Value) {
				s.addValue(assign.Value)
			}
		}
		if len(node.Args) > 0 { // the command may run the variables' values, as in GIT_PAGER='sh x' git log
			s.innerLines = append(s.innerLines, s.texts[before:]...)
		}
		s.noteVariables(node.Assigns)
		in := input{given: s.given[len(s.given)-1]}
		in.text, in.visible = s.visibleInputs[node]
		s.addCommand(s.wordsOf(node.Args), in)
	case *syntax.DeclClause:
		for _, assign := range node.Args {
			if assign.Name == nil || !directoryVariables.MatchString(assign.Name.Value) {
				s.addValue(assign.Value)
				s.innerLines = append(s.innerLines, s.texts[max(len(s.texts)-1, 0):]...) // an index in it is evaluated
			}
		}
		s.noteVariables(node.Args)
		s.addCommand(s.wordsOfDeclaration(node), input{})
	case *syntax.LetClause:
		s.addCommand([]string{"let"}, input{})
		s.noteNumbers(node)
	case *syntax.TimeClause:
		s.addCommand([]string{"time"}, input{})
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.CStyleLoop, *syntax.WordIter, *syntax.UnaryTest, *syntax.BinaryTest:
		s.noteNumbers(node)
	case *syntax.CoprocClause:
		s.opaque = true
	case *syntax.Redirect:
		s.addRedirect(node)
	case *syntax.SglQuoted:
		s.texts = append(s.texts, node.Value)
	}
	return true
}

// addRedirect adds the word of a redirection and its here-document.
func (s *visitor) addRedirect(r *syntax.Redirect) {
	if r.Op == syntax.DplOut || r.Op == syntax.DplIn { // bash expands the word twice
		s.opaque = s.opaque || !evalWord(r.Word).isUnquoted && strings.ContainsAny(s.sourceOf(r.Word), "$`")
	}
	s.addValue(r.Word)
	s.addValue(r.Hdoc)
	if r.Hdoc != nil && strings.Contains(s.sourceOf(r.Hdoc), `\`) { // after a quoted word the backslash is literal
		s.texts = append(s.texts, s.sourceOf(r.Hdoc))
	}
}

// addDefault adds the word of ${x:-word} as in double quotes and here-documents, where single
// quotes are literal and substitutions between them run.
func (s *visitor) addDefault(p *syntax.ParamExp) {
	var words []*syntax.Word
	if p.Exp != nil {
		words = append(words, p.Exp.Word)
	}
	if p.Repl != nil {
		words = append(words, p.Repl.With)
	}
	for _, word := range words {
		if word != nil && strings.Contains(s.sourceOf(word), "'") {
			s.innerLines = append(s.innerLines, `: "`+s.sourceOf(word)+`"`)
		}
	}
}

// addValue adds a word that is data but may run later, as in a=rm; $a x.
func (s *visitor) addValue(word *syntax.Word) {
	if word == nil {
		return
	}
	if v := evalWord(word); v.isKnown {
		s.texts = append(s.texts, v.text)
		return
	}
	s.texts = append(s.texts, s.sourceOf(word))
}

// addCommand adds a command of this line.
func (s *visitor) addCommand(words []string, in input) {
	if len(words) == 0 {
		return
	}
	if git := gitWords(words); git[0] != words[0] {
		s.addCommand(git, in)
	}
	if in.given {
		s.inputs[len(s.cmds)], s.givesInput = in, true
	}
	s.ownInputs = append(s.ownInputs, in)
	s.cmds = append(s.cmds, Command{Words: words})
	s.ownCmds = append(s.ownCmds, Command{Words: words})
	s.numbers.noteCommand(words)
	switch {
	case isDynamic(words[0]):
		s.opaque, s.runsArguments = true, true
	case startsNothing(words, in):
		s.addSuffixes(scriptOf(words)) // the script may run its arguments
	case isWrapper(words):
		s.runsArguments = true
	case refusalReason(programName(words[0])) == reasonAltersShell:
		for _, word := range words[1:] {
			if strings.Contains(word, "$(") || strings.Contains(word, "`") { // test -v 'a[$(x)]' runs x
				s.innerLines = append(s.innerLines, word)
			}
		}
	case refusalReason(programName(words[0])) == reasonUnknown:
		s.addHandedOn(words, in)
	}
}

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

// bareBackquote matches a backquote without a backslash, as in `echo '`: the shell ends the
// substitution there, regardless of quotes that the parser sees around it.
var bareBackquote = lazy.NewRegexp("^(?s:[^\\\\`]|\\\\.)*`")

// wordsOfDeclaration returns the words of declare and similar commands.
func (s *visitor) wordsOfDeclaration(decl *syntax.DeclClause) []string {
	words := []string{decl.Variant.Value}
	for _, assign := range decl.Args {
		word := s.sourceOf(assign)
		switch {
		case assign.Name == nil && assign.Value != nil:
			word = s.wordsOf([]*syntax.Word{assign.Value})[0]
		case assign.Index == nil && assign.Value != nil && evalWord(assign.Value).isKnown:
			word = assign.Name.Value + "=" + evalWord(assign.Value).text
		}
		words = append(words, word)
	}
	return words
}

// sourceOf returns the source text of a node.
func (s *visitor) sourceOf(word syntax.Node) string {
	from, to := int(word.Pos().Offset()), int(word.End().Offset())
	return s.source[min(from, len(s.source)):min(max(from, to), len(s.source))]
}

// variableCode matches, by variable, values that name a program or code. Other values are options.
var variableCode = map[string]*lazy.Regexp{
	"NODE_OPTIONS":      lazy.NewRegexp(`-r|import|loader`),
	"GOFLAGS":           lazy.NewRegexp(`exec|vettool|-extld`),
	"RUSTFLAGS":         lazy.NewRegexp(`linker`),
	"FZF_DEFAULT_OPTS":  lazy.NewRegexp(`preview|bind|execute`),
	"SKIM_DEFAULT_OPTS": lazy.NewRegexp(`preview|bind|execute|cmd`),
}

// execVariables matches variables that make programs run or load others.
var execVariables = lazy.NewRegexp(`^(PS4|PROMPT_COMMAND|BASH_ENV|ENV|BASH_CMDS|BASH_ALIASES|LD_(PRELOAD|AUDIT|LIBRARY_PATH)|GIT_EXEC_PATH|DYLD_.*|GIT_CONFIG_(COUNT|PARAMETERS|KEY_.*|VALUE_.*)|(G|GNU)?MAKEFLAGS|TAR_OPTIONS|PERL5(OPT|DB)|RUBYOPT|PYTHONSTARTUP|PYTHONINSPECT|_?JAVA_(TOOL_)?OPTIONS|LESSOPEN|LESSCLOSE|CARGO_.*_(RUNNER|LINKER)|RUSTC(_WORKSPACE)?_WRAPPER)$`)

// noteVariables marks the line as opaque if it sets such variables.
func (s *visitor) noteVariables(assigns []*syntax.Assign) {
	for _, a := range assigns {
		if a.Name == nil {
			continue
		}
		s.noteAssign(a)
		name, code := a.Name.Value, execVariables.MatchString(a.Name.Value)
		if values := variableCode[name]; values != nil && a.Value != nil {
			v := evalWord(a.Value)
			code = !v.isKnown || values.MatchString(v.text)
		}
		s.opaque = s.opaque || code
	}
}

// directoryVariables matches variables with lists of directories, not commands.
var directoryVariables = lazy.NewRegexp(`^(PATH|GOPATH|PYTHONPATH|NODE_PATH|MANPATH)$`)
