package markdown

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Limits on what is taken for markup. They lie far beyond what anybody writes;
// without them crafted text costs goldmark time that grows with its square.
const (
	// inlineLimit sets the largest block, in bytes, that is searched for inline
	// markup.
	inlineLimit = 32 << 10
	// maxOpenLinks sets how many links may begin and not end in a block that is
	// searched: for each of them goldmark looks through the rest of the line.
	maxOpenLinks = 200
	// maxNesting sets how many containers may open on one line.
	maxNesting = 100
	// maxIndent sets how far from its line's beginning a container may open, in
	// columns: that bounds how many are open across lines, for all of which goldmark
	// looks through each line.
	maxIndent = 100
	// maxDefinitions sets how many lines of a paragraph may be link reference
	// definitions.
	maxDefinitions = 1000
)

// bounded returns src as goldmark gets to see it: where a line opens too many
// containers, the first one too many is text. Positions stay the same.
func bounded(src string) []byte {
	raw := []byte(src)
	depth, column, inPrefix := 0, 0, true
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c == '\n' {
			depth, column, inPrefix = 0, 0, true
			continue
		}
		if !inPrefix {
			continue
		}
		if c == ' ' {
			column++
			continue
		}
		if c == '\t' {
			column += 4 - column%4
			continue
		}
		n := marker(raw[i:])
		if n == 0 {
			inPrefix = false
			continue
		}
		if depth++; depth > maxNesting || column > maxIndent {
			raw[i], inPrefix = 'x', false
		}
		i += n - 1
		column += n
	}
	return raw
}

// marker returns the length of the container marker that line begins with, 0 if none.
func marker(line []byte) int {
	n := 0
	switch c := line[0]; {
	case c == '>':
		return 1
	case c == '-', c == '*', c == '+':
		n = 1
	case c >= '0' && c <= '9':
		for n < len(line) && n < 10 && line[n] >= '0' && line[n] <= '9' {
			n++
		}
		if n == len(line) || line[n] != '.' && line[n] != ')' {
			return 0
		}
		n++
	default:
		return 0
	}
	if n < len(line) && line[n] != ' ' && line[n] != '\t' && line[n] != '\n' {
		return 0
	}
	return n
}

// definitions takes link reference definitions out of paragraphs.
type definitions struct{}

func (definitions) Transform(n *ast.Paragraph, reader text.Reader, pc parser.Context) {
	if n.Lines().Len() <= maxDefinitions {
		parser.LinkReferenceParagraphTransformer.Transform(n, reader, pc)
	}
}
