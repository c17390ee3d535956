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
	maxInner    = 512 << 10 // bytes of lines inside of a line, parsed or not
	maxUnparsed = 256 << 10 // bytes that are split into words; Linux passes no longer line to a shell
	maxOpeners  = 256       // ( { [ and `
	maxKeywords = 1024
	maxDepth    = 5 // lines in a line in a line
)

// Parse takes a command line of bash or sh apart. It is simple if it is a list
// of simple commands, joined by ; && || or line breaks, whose words are all
// static; cmds are then those of the list. Otherwise why says what it is, to
// follow "the command", and cmds are all that could run as far as that can be
// seen, and rather more than too few: also what wrappers such as env, xargs and
// sh -c are given. Parse never fails, and its work is bounded by the length.
func Parse(line string) (cmds []Command, simple bool, why string) {
	r := parseLine(line)
	switch {
	case r.notSimple != "":
		return r.cmds, false, r.notSimple
	case r.isWrapped != "":
		return r.cmds, false, r.isWrapped
	}
	return r.list, true, ""
}

// A parser of a line.
type parser struct {
	cmds         []Command
	list         []Command       // those of the list that the line is
	notSimple    string          // it is no list of simple commands; the first reason
	isWrapped    string          // a command of the list runs others; the first that does
	opaque       bool            // something may run that cmds does not show
	inputVisible map[int]bool    // commands, by their place in cmds, that read what is in the line
	parsedBytes  int             // bytes that went through the parser
	innerBytes   int             // bytes of lines inside of the line
	seen         map[string]bool // lines that were read
}

func parseLine(line string) *parser {
	r := &parser{seen: map[string]bool{}, inputVisible: map[int]bool{}}
	if why := invisibleReason(line); why != "" {
		r.setNotSimple(why)
	}
	r.addLine(line, 0)
	return r
}

// setNotSimple notes why the line is not simple.
func (r *parser) setNotSimple(why string) {
	if r.notSimple == "" {
		r.notSimple = why
	}
}

// addLine adds the commands of a line, which may stand inside of another.
func (r *parser) addLine(line string, depth int) {
	if r.seen[line] {
		return
	}
	r.seen[line] = true
	file, why := r.parseTree(line, depth)
	s := visitor{parser: r, source: line}
	if depth == 0 { // what stands inside of a line does not change what the line is
		if why != "" {
			r.setNotSimple(why)
		}
		for _, stmt := range file.Stmts {
			s.checkStatement(stmt)
		}
	}
	if why != "" {
		r.addUnparsed(line) // a shell runs what stands before an error
		return
	}
	syntax.Walk(file, s.visit)
	for _, text := range s.innerLines {
		s.addText(text, depth)
	}
	if s.runsArguments {
		s.addInner(depth)
	}
}

// tooComplex says why a line is not parsed.
func (r *parser) tooComplex(line string, depth int) string {
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
	case openers > maxOpeners, keywords > maxKeywords, depth > maxDepth, r.parsedBytes+len(line) > maxParsed:
		return "is nested too deeply"
	}
	return ""
}

// parseTree is the tree of a line, or why there is none.
func (r *parser) parseTree(line string, depth int) (file *syntax.File, why string) {
	if why := r.tooComplex(line, depth); why != "" {
		return &syntax.File{}, why
	}
	r.parsedBytes += len(line)
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

// addUnparsed adds whatever could be a command in text that was not parsed: every word
// with those behind it.
func (r *parser) addUnparsed(text string) {
	r.opaque = true
	text = unquoter.Replace(text[:min(len(text), maxUnparsed)])
	r.addSuffixes(strings.FieldsFunc(text, func(c rune) bool { return c < 0x80 && isSeparator[c] }))
}

var (
	unquoter    = strings.NewReplacer("\\\n", "", `"`, "", `'`, "", `\`, "")
	isSeparator = func() (set [0x80]bool) {
		for _, c := range " \t\r\n;&|()`${}<>!=" {
			set[c] = true
		}
		return set
	}()
)

// addSuffixes adds words, and them without the first, and so on.
func (r *parser) addSuffixes(words []string) {
	r.cmds = slices.Grow(r.cmds, len(words))
	for i := range words {
		r.cmds = append(r.cmds, Command{words[i:]})
	}
}

// dynamicReason begins the reason of a line whose words are not known.
const dynamicReason = "is dynamic: "

// dynamicMark stands before a word whose value is not known.
const dynamicMark = "\x00"

func isDynamic(word string) bool { return strings.HasPrefix(word, dynamicMark) }

// isWrapper reports whether the program of words runs what it is given, as git
// does with -c core.pager=….
func isWrapper(words []string) bool {
	if len(words) == 0 || isDynamic(words[0]) {
		return false
	}
	name := programName(words[0])
	why := refusalReason(name)
	switch {
	case why == reasonRuns, why == reasonInterprets:
		return true
	case name == "git" && setsGitConfig(words), execOption(words) != "":
		return true
	}
	for _, word := range words[1:] {
		if why != reasonSubcommands && why != reasonScripts {
			break
		}
		name += " " + word
		why = refusedPrefixes()[name]
	}
	return why == reasonRuns
}

// setsGitConfig reports whether git is told, before its command, what to run.
func setsGitConfig(words []string) bool {
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

// programName is the name of the program that word calls: without its directory, the
// version behind it and the letter case.
func programName(word string) string {
	name := strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/"))), ".exe")
	if bare := strings.TrimRight(name, "0123456789.-"); bare != "" {
		return bare
	}
	return name
}

// singleCommand is the words of a line that is one command and simple, though it may
// run others. The error follows what the line is.
func singleCommand(line string) ([]string, error) {
	r := parseLine(line)
	if r.notSimple != "" {
		return nil, errors.New(r.notSimple)
	}
	if len(r.list) != 1 {
		return nil, fmt.Errorf("is %d commands", len(r.list))
	}
	return r.list[0].Words, nil
}
