package markdown

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Limits on parsing as markup. They are far beyond what anybody writes; without
// them goldmark takes time that grows with the square of crafted text's length.
const (
	// inlineLimit is the size of the largest block that is parsed for inline markup, in bytes.
	inlineLimit = 32 << 10
	// maxOpenLinks is how many links may begin and not end in such a block: for each of
	// them goldmark searches the rest of the line.
	maxOpenLinks = 200
	// maxNesting is how many containers may open on one line.
	maxNesting = 100
	// maxIndent is how far from the beginning of its line a container may open, in
	// columns: that bounds how many are open across lines, as goldmark checks each line
	// for all of them.
	maxIndent = 100
	// maxDefinitions is how many lines a paragraph may have to be parsed for link
	// reference definitions.
	maxDefinitions = 1000
)

// limitNesting returns src for goldmark: where a line opens too many containers, the
// marker of the first one too many is replaced by a letter. Offsets stay the same.
func limitNesting(src string) []byte {
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

// boundedDefinitions transforms link reference definitions in paragraphs of up to
// maxDefinitions lines.
type boundedDefinitions struct{}

func (boundedDefinitions) Transform(n *ast.Paragraph, reader text.Reader, pc parser.Context) {
	if n.Lines().Len() <= maxDefinitions {
		parser.LinkReferenceParagraphTransformer.Transform(n, reader, pc)
	}
}
