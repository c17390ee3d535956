package permission

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"parley/tools/lazy"
)

// Command is one simple command of a line: the program and its arguments, without quotes. A
// word whose value is only known at run time is a NUL followed by its source.
type Command struct {
	Words   []string
	isLoose bool // it may well be no command
	piped   bool // it reads the output of the previous command
	fed     bool // the line gives it a standard input
}

// Bounds of parsing. The parser's time and stack grow with the square of
// unclosed openers. A line with more of them than users write is not parsed.
const (
	maxLine     = 64 << 10  // bytes
	maxParsed   = 256 << 10 // bytes, including inner lines
	maxOpeners  = 256       // ( { [ and `
	maxKeywords = 1024
	maxDepth    = 5 // nesting of inner lines
)

// parser collects the commands of a line.
type parser struct {
	cmds        []Command
	list        []Command          // the commands, if the line is a simple list
	notSimple   string             // first reason why the line is not a list of simple commands; "" if it is
	notBare     string             // first reason why the list is not bare: pipes, harmless redirections or wildcards
	isWrapped   bool               // a command of the list runs others
	opaque      bool               // a program may run that is not in cmds
	parsedBytes int                // bytes given to the syntax parser
	plain       map[innerLine]bool // lines already added, and whether they are plain
}

// innerLine is a line, and whether it has an input from an outer line.
type innerLine struct {
	text string
	fed  bool
}

// parseLine splits a command line of bash or sh. The line is simple if it is a list of simple
// commands, joined by ; && || | or line breaks, whose words are all static, and which do not run
// others. Then notSimple is "", isWrapped is false, list has the commands, and notBare names anything
// that rules do not express, such as a pipe. Otherwise notSimple completes the sentence "the command …". cmds has all commands that could run as far as the parser sees, and
// rather too many, including arguments of wrappers such as env, xargs and sh -c. The line is opaque
// unless it is plain: simple commands, lists, pipes, redirections to files and parameters as
// arguments, in which no command runs something that is not seen. parseLine never fails, and its
// work is bounded by the length of the line.
func parseLine(line string) *parser {
	r := &parser{plain: map[innerLine]bool{}}
	if why := invisibleReason(line); why != "" {
		r.setNotSimple(why)
	}
	plain := r.addLine(line, 0, false)
	r.opaque = !plain || strings.Contains(line, "\r") // shells and the parser treat it differently
	return r
}

// setNotSimple sets why the line is not simple; the first reason stays.
func (r *parser) setNotSimple(why string) { r.notSimple = cmp.Or(r.notSimple, why) }

// setNotBare sets why a simple line is more than a bare list; the first reason stays.
func (r *parser) setNotBare(why string) { r.notBare = cmp.Or(r.notBare, why) }

// addLine adds the commands of a line, and reports whether the line is plain; depth is 0 for the outer
// one.
func (r *parser) addLine(line string, depth int, fed bool) (plain bool) {
	key := innerLine{line, fed}
	if plain, ok := r.plain[key]; ok {
		return plain
	}
	r.plain[key] = true
	file, why := r.parseTree(line, depth)
	s := visitor{parser: r, source: line, depth: depth, fed: fed, inputs: map[syntax.Command]bool{}}
	if depth == 0 { // inner lines do not affect whether the line is simple
		r.setNotSimple(why)
		for _, stmt := range file.Stmts {
			s.checkStatement(stmt, false)
		}
	}
	syntax.Walk(file, s.visit)
	plain = why == "" && !s.unclear && !runsOwnFile(s.own, s.targets)
	r.plain[key] = plain
	return plain
}

// continuedComment matches a possible comment that ends with a backslash. The parser continues it on the
// next line; a shell does not.
var continuedComment = lazy.NewRegexp(`(^|[\s;&|()<>\x60])#[^\n]*\\\n`)

// parseTree returns the syntax tree of a line, or why it cannot be parsed.
func (r *parser) parseTree(line string, depth int) (file *syntax.File, why string) {
	file = &syntax.File{}
	nested := 0
	for i := range len(line) {
		if strings.IndexByte("([{`", line[i]) >= 0 {
			nested += maxKeywords / maxOpeners
		}
	}
	for word := range strings.FieldsSeq(line) {
		if syntax.IsKeyword(word) {
			nested++
		}
	}
	switch {
	case len(line) > maxLine:
		return file, fmt.Sprintf("is longer than %d KiB", maxLine>>10)
	case nested > maxKeywords, depth > maxDepth, r.parsedBytes+len(line) > maxParsed:
		return file, "is nested too deeply"
	case continuedComment.MatchString(line):
		return file, "is not understood: a backslash ends a line with #, which a shell may take for a comment"
	}
	r.parsedBytes += len(line)
	defer func() {
		if fault := recover(); fault != nil {
			why = fmt.Sprintf("is not understood: %v", fault)
		}
	}()
	parsed, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	switch {
	case err != nil:
		return file, "is not understood: " + err.Error()
	case len(parsed.Stmts) == 0:
		return file, "is empty"
	}
	return parsed, ""
}

// addSuffixes adds words, words[1:], and so on as commands.
func (r *parser) addSuffixes(words []string, fed bool) {
	for i := range words {
		r.cmds = append(r.cmds, Command{Words: words[i:], fed: fed})
	}
}

// dynamicReason begins the reason for a line with words that are not static.
const dynamicReason = "contains a variable, wildcard or substitution: "

// dynamicMark precedes the source of a word whose value is not known.
const dynamicMark = "\x00"

func isDynamic(word string) bool { return strings.HasPrefix(word, dynamicMark) }

// isWrapper reports whether a command runs its arguments, as git does with -c core.pager=….
func isWrapper(words []string) bool {
	if len(words) == 0 || isDynamic(words[0]) {
		return false
	}
	name, args := programName(words[0]), words[1:]
	why := refusalReason(name)
	return why == reasonRuns || why == reasonInterprets || execOption(words) != "" || runsArguments(name, args) ||
		name == "git" && gitSettings.MatchString(inLines(args[:opaqueArgsFor(name).operandOf(args)]))
}

// runsArguments reports whether a command of a program runs its arguments.
func runsArguments(name string, args []string) bool {
	for i, word := range args[:commandEnd(args)] {
		command := name + " " + word
		switch refusedPrefixes()[command] {
		case reasonRuns:
			return true
		case reasonSubcommands, reasonScripts:
			if runsArguments(command, args[i+1:]) {
				return true
			}
		}
	}
	return false
}

// commandEnd returns the index after the first of args that is neither an option nor possibly the value of one.
func commandEnd(args []string) int {
	isOption := true
	for i, word := range args {
		wasOption := isOption && i > 0
		if isOption = strings.HasPrefix(word, "-") || isDynamic(word); !isOption && !wasOption {
			return i + 1
		}
	}
	return len(args)
}

// gitSettings matches options of git that set something or name programs.
var gitSettings = lazy.NewRegexp(`(?m)^(-c|--config|--exec)`)

// programName returns the lower-case name of the program in word, without directory and
// version. The digits of run0 are not a version: programs.txt includes them.
func programName(word string) string {
	name := strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/"))), ".exe")
	if refusedPrefixes()[name] != "" {
		return name
	}
	if bare := strings.TrimRight(name, "0123456789.-"); bare != "" {
		return bare
	}
	return name
}
