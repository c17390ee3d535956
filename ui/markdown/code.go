package markdown

import (
	"path"
	"strings"
)

// A Class is what a piece of code is.
type Class uint8

// The classes that are told apart.
const (
	Other Class = iota // names, operators, space
	Comment
	Keyword
	String
	Number
	Function // that is called or defined
	Type
)

// A Token is a piece of a line of code.
type Token struct {
	Text  string
	Class Class
}

// A Scanner tells what the lines of a file are made of, one after the other. All
// it carries from line to line is the string or comment that a line ends in.
type Scanner struct{ scanner }

// NewScanner returns a scanner for a file of this name. Of a language it does
// not know it makes one token per line.
func NewScanner(file string) *Scanner {
	return &Scanner{*newScanner(languageOf(file))}
}

// Known reports whether the language is one that is colored.
func (s *Scanner) Known() bool { return s.grammar != nil && !s.grammar.diff }

// languageOf goes by the whole name, as of a Makefile, or else by what stands
// after the last dot.
func languageOf(file string) string {
	base := strings.ToLower(path.Base(file))
	if i := strings.LastIndexByte(base, '.'); i >= 0 {
		return base[i+1:]
	}
	return base
}

// Line returns the tokens of the next line, which has no newline. Joined they are
// the line.
func (s *Scanner) Line(line string) []Token {
	if !s.Known() || line == "" {
		return []Token{{Text: line}}
	}
	runs := s.line(line)
	tokens := make([]Token, len(runs))
	for i, r := range runs {
		tokens[i] = Token{r.text, classes[r.style.role]}
	}
	return tokens
}

// classes lists what the roles of highlighted code stand for.
var classes = [roles]Class{comment: Comment, keyword: Keyword, str: String, number: Number, function: Function, typeName: Type}
