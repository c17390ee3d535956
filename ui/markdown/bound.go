package markdown

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Limits on parsing as markup, far beyond real texts. Without them, goldmark
// takes quadratic time for crafted text.
const (
	// inlineLimit is the maximum size of a block that is parsed for inline markup, in bytes.
	inlineLimit = 32 << 10
	// maxOpenLinks is the maximum number of unclosed links in such a block. For each of
	// them goldmark searches the rest of the line.
	maxOpenLinks = 200
	// maxNesting is the maximum number of containers that may open on one line.
	maxNesting = 100
	// maxIndent is the maximum column at which a container may open. It limits how many
	// are open across lines, because goldmark checks each line for all of them.
	maxIndent = 100
	// maxDefinitions is the maximum number of lines of a paragraph that is parsed
	// for link reference definitions.
	maxDefinitions = 1000
)

// limitNesting returns src for goldmark: on a line that opens too many containers,
// the first marker beyond the limit is replaced by a letter. Offsets stay the same.
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
