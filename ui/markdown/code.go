package markdown

import (
	"path"
	"strings"
)

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

// A Scanner splits the lines of a file into tokens, in their order. Its only state between
// lines is the string or comment that a line ends in.
type Scanner struct{ scanner }

// NewScanner returns a scanner for a file of this name. If it does not know the language,
// each line is one token.
func NewScanner(file string) *Scanner {
	return &Scanner{*newScanner(languageOf(file))}
}

// isKnown reports whether the language has a grammar.
func (s *Scanner) isKnown() bool { return s.grammar != nil && !s.grammar.diff }

// languageOf returns the extension of a file, or its whole name if it has none, such as
// "makefile".
func languageOf(file string) string {
	base := strings.ToLower(path.Base(file))
	if i := strings.LastIndexByte(base, '.'); i >= 0 {
		return base[i+1:]
	}
	return base
}

// Line returns the tokens of the next line, which has no newline. Their texts are the
// line, sanitized and with tabs expanded if the language is known.
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

// classes holds the classes of the roles of code.
var classes = [roles]Class{comment: Comment, keyword: Keyword, str: String, number: Number, function: Function, typeName: Type}
