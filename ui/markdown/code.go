package markdown

import (
	"path"
	"strings"
)

// Drawings maps languages of code blocks to functions that draw the code in lines of at most width cells, and
// return nil if they cannot. Packages register theirs before the first Doc.
var Drawings = map[string]func(source string, width int) []string{}

// MathText returns math, with its delimiters, as text: several lines for a matrix. Package mathtext has one that uses
// Unicode.
var MathText = func(source string) string { return source }

// A Class is the kind of a token of code.
type Class uint8

// The classes of tokens.
const (
	Other Class = iota // names, operators, space
	Comment
	Keyword
	String
	Number
	Function // called or defined
	Type
)

// A Token is a piece of a line of code.
type Token struct {
	Text  string
	Class Class
}

// A Scanner splits the lines of a file, in order, into tokens. Its only state between
// lines is the string or comment that is open at the end of a line.
type Scanner struct{ scanner }

// NewScanner returns a scanner for a file with this name. For an unknown language, each
// line is one token.
func NewScanner(file string) *Scanner {
	return &Scanner{*newScanner(languageOf(file))}
}

// isKnown reports whether the language has a grammar.
func (s *Scanner) isKnown() bool { return s.grammar != nil && !s.grammar.diff }

// languageOf returns the extension of a file, or its whole name if it has no extension,
// such as "makefile".
func languageOf(file string) string {
	base := strings.ToLower(path.Base(file))
	if i := strings.LastIndexByte(base, '.'); i >= 0 {
		return base[i+1:]
	}
	return base
}

// Line returns the tokens of the next line, which must not contain a newline. Their
// texts form the line; for a known language it is sanitized, with tabs expanded.
func (s *Scanner) Line(line string) []Token {
	if !s.isKnown() || line == "" {
		return []Token{{Text: line}}
	}
	runs := s.line(line)
	tokens := make([]Token, len(runs))
	for i, r := range runs {
		tokens[i] = Token{r.text, classes[r.style.role]}
	}
	return tokens
}

// classes maps roles of code to classes.
var classes = [roles]Class{comment: Comment, keyword: Keyword, str: String, number: Number, function: Function, typeName: Type}
