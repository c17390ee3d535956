package permission

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A Command is one simple command that stands somewhere in a line: the program
// and its arguments, without their quotes. A word whose value shows only when
// it runs is a NUL and how it is written.
type Command struct{ Words []string }

// Bounds of what is parsed. The parser's time and stack grow with the square of
// what is opened and not closed, so that a line with more of it than a user
// writes is only split into words.
const (
	maxLine     = 64 << 10  // bytes
	maxParsed   = 256 << 10 // bytes, with the lines inside of a line
	maxLooked   = 512 << 10 // bytes of lines inside of a line, parsed or not
	maxRough    = 256 << 10 // bytes that are split into words; Linux passes no longer line to a shell
	maxOpeners  = 256       // ( { [ and `
	maxKeywords = 1024
	maxInside   = 5 // lines in a line in a line
)

// Parse takes a command line of bash or sh apart. It is simple if it is a list
// of simple commands, joined by ; && || or line breaks, whose words are all
// static; cmds are then those of the list. Otherwise why says what it is, to
// follow "the command", and cmds are all that could run as far as that can be
// seen, and rather more than too few: also what wrappers such as env, xargs and
// sh -c are given. Parse never fails, and its work is bounded by the length.
func Parse(line string) (cmds []Command, simple bool, why string) {
	r := read(line)
	switch {
	case r.why != "":
		return r.cmds, false, r.why
	case r.wrapped != "":
		return r.cmds, false, r.wrapped
	}
	return r.list, true, ""
}

// A reading of a line.
type reading struct {
	cmds    []Command
	list    []Command       // those of the list that the line is
	why     string          // it is no list of simple commands; the first reason
	wrapped string          // a command of the list runs others; the first that does
	hidden  bool            // something may run that cmds does not show
	fed     map[int]bool    // commands, by their place in cmds, that read what is in the line
	parsed  int             // bytes that went through the parser
	looked  int             // bytes of lines inside of the line
	done    map[string]bool // lines that were read
}

func read(line string) *reading {
	r := &reading{done: map[string]bool{}, fed: map[int]bool{}}
	if why := unreadable(line); why != "" {
		r.not(why)
	}
	r.line(line, 0)
	return r
}

// not notes why the line is not simple.
func (r *reading) not(why string) {
	if r.why == "" {
		r.why = why
	}
}

// line adds the commands of a line, which may stand inside of another.
func (r *reading) line(line string, depth int) {
	if r.done[line] {
		return
	}
	r.done[line] = true
	file, why := r.parse(line, depth)
	s := sight{reading: r, source: line}
	if depth == 0 { // what stands inside of a line does not change what the line is
		if why != "" {
			r.not(why)
		}
		for _, stmt := range file.Stmts {
			s.statement(stmt)
		}
	}
	if why != "" {
		r.rough(line) // a shell runs what stands before an error
		return
	}
	syntax.Walk(file, s.visit)
	for _, text := range s.run {
		s.text(text, depth)
	}
	if s.wraps {
		s.inside(depth)
	}
}

// tooMuch says why a line is not parsed.
func (r *reading) tooMuch(line string, depth int) string {
	openers, keywords := 0, 0
	for i := range len(line) {
		if strings.IndexByte("([{`", line[i]) >= 0 {
			openers++
		}
	}
	for word := range strings.FieldsSeq(line) {
		if syntax.IsKeyword(word) {
			keywords++
		}
	}
	switch {
	case len(line) > maxLine:
		return fmt.Sprintf("is longer than %d KiB", maxLine>>10)
	case openers > maxOpeners, keywords > maxKeywords, depth > maxInside, r.parsed+len(line) > maxParsed:
		return "is nested too deeply"
	}
	return ""
}

// parse is the tree of a line, or why there is none.
func (r *reading) parse(line string, depth int) (file *syntax.File, why string) {
	if why := r.tooMuch(line, depth); why != "" {
		return &syntax.File{}, why
	}
	r.parsed += len(line)
	defer func() {
		if fault := recover(); fault != nil {
			file, why = &syntax.File{}, fmt.Sprintf("is not understood: %v", fault)
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	switch {
	case err != nil:
		return &syntax.File{}, "is not understood: " + err.Error()
	case len(file.Stmts) == 0:
		return file, "is empty"
	}
	return file, ""
}

// rough adds whatever could be a command in text that was not parsed: every word
// with those behind it.
func (r *reading) rough(text string) {
	r.hidden = true
	text = unquote.Replace(text[:min(len(text), maxRough)])
	r.suffixes(strings.FieldsFunc(text, func(c rune) bool { return c < 0x80 && separates[c] }))
}

var (
	unquote   = strings.NewReplacer("\\\n", "", `"`, "", `'`, "", `\`, "")
	separates = func() (set [0x80]bool) {
		for _, c := range " \t\r\n;&|()`${}<>!=" {
			set[c] = true
		}
		return set
	}()
)

// suffixes adds words, and them without the first, and so on.
func (r *reading) suffixes(words []string) {
	r.cmds = slices.Grow(r.cmds, len(words))
	for i := range words {
		r.cmds = append(r.cmds, Command{words[i:]})
	}
}

// sight is what is seen in one parsed line.
type sight struct {
	*reading
	source string
	own    []Command                 // that stand in this line
	texts  []string                  // quoted texts and values that could be lines
	run    []string                  // texts that are lines to whoever gets them
	wraps  bool                      // something here runs what it is given, as text or as words
	feeds  map[*syntax.CallExpr]bool // commands that read text of this line
}

// statement checks that a statement is a list of simple commands.
func (s *sight) statement(stmt *syntax.Stmt) {
	for ; s.why == ""; stmt = stmt.Cmd.(*syntax.BinaryCmd).X { // lists lean to the left, however long
		switch {
		case stmt.Background, stmt.Coprocess, stmt.Disown:
			s.not("runs in the background")
		case stmt.Negated:
			s.not("is negated")
		case len(stmt.Redirs) > 0:
			s.not("is redirected")
		case stmt.Cmd == nil:
			s.not("is empty")
		}
		switch cmd := stmt.Cmd.(type) {
		case *syntax.BinaryCmd:
			if cmd.Op == syntax.AndStmt || cmd.Op == syntax.OrStmt {
				s.statement(cmd.Y)
				continue
			}
			s.not("is a pipeline")
		case *syntax.CallExpr:
			s.call(cmd)
		default:
			s.not("is compound")
		}
		return
	}
}

// call checks that a call is simple.
func (s *sight) call(cmd *syntax.CallExpr) {
	if len(cmd.Assigns) > 0 {
		s.not("sets variables")
		return
	}
	for i, word := range cmd.Args {
		v := valued(word)
		switch {
		case !v.static():
			s.not(isDynamic + s.written(word))
		case i == 0 && (!v.whole || !ascii(v.text)):
			s.not("does not write its program plainly: " + s.written(word))
		default:
			if why := lookalike(v); why != "" {
				s.not(why)
			}
		}
	}
	words := s.words(cmd.Args)
	s.reading.list = append(s.reading.list, Command{words})
	if wrapper(words) && s.wrapped == "" {
		s.wrapped = "is wrapped: " + words[0] + " runs what it is given"
	}
}

// visit collects what a node could run.
func (s *sight) visit(node syntax.Node) bool {
	switch node := node.(type) {
	case *syntax.Stmt:
		s.feed(node)
	case *syntax.BinaryCmd:
		if to, ok := node.Y.Cmd.(*syntax.CallExpr); ok && (node.Op == syntax.Pipe || node.Op == syntax.PipeAll) && says(node.X) {
			s.fills(to)
		}
	case *syntax.ParamExp:
		if node.Exp != nil && node.Exp.Op == syntax.OtherParamOps { // ${x@P} runs what is in it
			s.hidden = true
		}
	case *syntax.CallExpr:
		before := len(s.texts)
		for _, assign := range node.Assigns {
			if assign.Name == nil || !folders().MatchString(assign.Name.Value) {
				s.value(assign.Value)
			}
		}
		if len(node.Args) > 0 { // the values are the command's own, as in GIT_PAGER='sh x' git log
			s.run = append(s.run, s.texts[before:]...)
		}
		s.sets(node.Assigns)
		if s.feeds[node] {
			s.fed[len(s.cmds)] = true
		}
		s.found(s.words(node.Args))
	case *syntax.DeclClause:
		words := []string{node.Variant.Value}
		for _, assign := range node.Args {
			if assign.Name == nil || !folders().MatchString(assign.Name.Value) {
				s.value(assign.Value)
				s.run = append(s.run, s.texts[max(len(s.texts)-1, 0):]...) // an index in it is evaluated
			}
			s.sets([]*syntax.Assign{assign})
			words = append(words, s.written(assign))
		}
		s.found(words)
	case *syntax.LetClause:
		s.found([]string{"let"})
		s.wraps = true
	case *syntax.TimeClause:
		s.found([]string{"time"})
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.TestClause:
		s.wraps = true // an index in them is evaluated, substitutions and all
	case *syntax.Redirect:
		s.value(node.Word)
		s.value(node.Hdoc)
	case *syntax.SglQuoted:
		s.texts = append(s.texts, node.Value)
	}
	return true
}

// value notes a word that is data now and may be run later, as in a=rm; $a x.
func (s *sight) value(word *syntax.Word) {
	if word == nil {
		return
	}
	if v := valued(word); v.known {
		s.texts = append(s.texts, v.text)
		return
	}
	s.texts = append(s.texts, s.written(word))
}

// found adds a command of this line.
func (s *sight) found(words []string) {
	if len(words) == 0 {
		return
	}
	s.cmds = append(s.cmds, Command{words})
	s.own = append(s.own, Command{words})
	switch {
	case dynamic(words[0]):
		s.hidden, s.wraps = true, true
	case understood(words):
	case wrapper(words):
		s.wraps = true
	case reason(program(words[0])) == alters:
		for _, word := range words[1:] {
			if strings.Contains(word, "$(") || strings.Contains(word, "`") { // test -v 'a[$(x)]' runs x
				s.run = append(s.run, word)
			}
		}
	}
}

// inside looks for commands in what the commands of this line are given: once
// something runs what it is given, each of them may be meant.
func (s *sight) inside(depth int) {
	for _, cmd := range s.own {
		if len(cmd.Words) > 1 {
			s.suffixes(cmd.Words[1:])
		}
		for i, word := range cmd.Words {
			if dynamic(word) {
				s.hidden = true
			}
			if i > 0 || strings.ContainsAny(word, apart) { // the program alone is no command of its own
				s.text(word, depth)
			}
		}
		s.text(strings.Join(cmd.Words[1:], " "), depth)
	}
	for _, text := range s.texts {
		s.text(text, depth)
	}
}

// text looks for commands in text that may be a line of its own. Such a line
// has been found not to be simple before.
func (s *sight) text(text string, depth int) {
	text = strings.TrimPrefix(text, unknown)
	if s.looked += len(text); s.looked > maxLooked {
		s.hidden = true
		return
	}
	if text == ";" { // ends what find is to run
		return
	}
	if !strings.ContainsAny(text, apart) {
		if text != "" {
			s.cmds = append(s.cmds, Command{[]string{text}})
		}
		return
	}
	if _, value, ok := strings.Cut(text, "="); ok && value != "" {
		s.line(strings.TrimLeft(value, "!"), depth+1)
	}
	s.line(text, depth+1)
}

// apart are the characters that part the words of a line, or stand for others.
const apart = " \t\n;&|()`$"

func (s *sight) words(args []*syntax.Word) []string {
	words := make([]string, len(args))
	for i, arg := range args {
		if v := valued(arg); v.known {
			words[i] = v.text
			continue
		}
		words[i] = unknown + s.written(arg)
	}
	return words
}

// written is a word as it stands in the line.
func (s *sight) written(word syntax.Node) string {
	from, to := int(word.Pos().Offset()), int(word.End().Offset())
	return s.source[min(from, len(s.source)):min(max(from, to), len(s.source))]
}

// isDynamic begins the reason of a line whose words are not known.
const isDynamic = "is dynamic: "

// unknown stands before a word whose value is not known.
const unknown = "\x00"

func dynamic(word string) bool { return strings.HasPrefix(word, unknown) }

// wrapper reports whether the program of words runs what it is given, as git
// does with -c core.pager=….
func wrapper(words []string) bool {
	if len(words) == 0 || dynamic(words[0]) {
		return false
	}
	name := program(words[0])
	why := reason(name)
	switch {
	case why == runs, why == interprets:
		return true
	case name == "git" && setsUp(words), carrier(words) != "":
		return true
	}
	for _, word := range words[1:] {
		if why != parts && why != scripts {
			break
		}
		name += " " + word
		why = refused()[name]
	}
	return why == runs
}

// setsUp reports whether git is told, before its command, what to run.
func setsUp(words []string) bool {
	for i, word := range words[1:] {
		if !strings.HasPrefix(word, "-") && !strings.HasPrefix(words[i], "-") { // nor is it the value of an option
			return false
		}
		for _, start := range []string{"-c", "--config", "--exec"} {
			if strings.HasPrefix(word, start) {
				return true
			}
		}
	}
	return false
}

// program is the name of the program that word calls: without its directory, the
// version behind it and the letter case.
func program(word string) string {
	name := strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/"))), ".exe")
	if bare := strings.TrimRight(name, "0123456789.-"); bare != "" {
		return bare
	}
	return name
}

// single is the words of a line that is one command and simple, though it may
// run others. The error follows what the line is.
func single(line string) ([]string, error) {
	r := read(line)
	if r.why != "" {
		return nil, errors.New(r.why)
	}
	if len(r.list) != 1 {
		return nil, fmt.Errorf("is %d commands", len(r.list))
	}
	return r.list[0].Words, nil
}
