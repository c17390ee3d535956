package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// mathMarks returns the delimiters of the math that src[at:] begins with: the length of the
// opening one, and the closing one, which is "" if there is no math. A single $ opens math only
// before a character other than a space, and not after a letter, a digit or a sign that ends something, as the $ of an
// expression such as (a|b)?$ does.
func mathMarks(src []byte, at int) (open int, closing string) {
	switch rest := src[at:]; {
	case len(rest) < 2:
	case rest[0] == '$' && rest[1] == '$':
		return 2, "$$"
	case rest[0] == '$' && !util.IsSpace(rest[1]) && (at == 0 || !util.IsAlphaNumeric(src[at-1]) && bytes.IndexByte([]byte(")]}?+"), src[at-1]) < 0):
		return 1, "$"
	case rest[0] != '\\':
	case rest[1] == '(':
		return 2, `\)`
	case rest[1] == '[':
		return 2, `\]`
	case bytes.HasPrefix(rest, []byte(`\begin{`)):
		if n := bytes.IndexByte(rest[:min(len(rest), maxEnvironment)], '}') + 1; n > 0 {
			return n, `\end` + string(rest[len(`\begin`):n])
		}
	}
	return 0, ""
}

// maxEnvironment is the maximum length of \begin{name}.
const maxEnvironment = 40

// unclosedMath maps a closing delimiter to the offset up to which it was searched in vain, so that
// many opening delimiters take linear time. Its methods must be called with ascending offsets.
type unclosedMath map[string]int

// maxUnclosed is the maximum number of delimiters in unclosedMath.
const maxUnclosed = 20

// end returns the offset after the math that begins at src[at]; 0 if there is none.
func (u unclosedMath) end(src []byte, at int) int {
	n, closing := mathMarks(src, at)
	switch {
	case n == 0, at < u[closing], len(u) == maxUnclosed:
		return 0
	case n == 1:
		return dollarEnd(src, at+1)
	}
	for i := at + n; i < len(src); i++ {
		if src[i] == closing[0] && bytes.HasPrefix(src[i:], []byte(closing)) {
			return i + len(closing)
		}
		if src[i] == '\\' {
			i++
		}
	}
	u[closing] = len(src)
	return 0
}

// next returns the offset after the math, the escaped character or the byte at src[at]. After an
// opening delimiter of unclosed math, it returns the offset after the delimiter, and closing is
// not empty. A single $ does not count as one.
func (u unclosedMath) next(src []byte, at int) (after int, closing string) {
	if src[at] != '$' && src[at] != '\\' {
		return at + 1, ""
	}
	if end := u.end(src, at); end > 0 {
		return end, ""
	}
	switch n, closing := mathMarks(src, at); {
	case n > 1:
		return at + n, closing
	case src[at] == '\\':
		return at + 2, ""
	}
	return at + 1, ""
}

// dollarEnd returns the offset after the next $ if it ends the math with text at src[at], and 0
// otherwise. A closing $ follows no space and precedes no letter or digit. Text that begins with a
// digit and contains words or pipes is not math but an amount of money.
func dollarEnd(src []byte, at int) int {
	amount := util.IsNumeric(src[at])
	for i := at; i < len(src); i++ {
		switch {
		case src[i] == '$' && (util.IsSpace(src[i-1]) || i+1 < len(src) && util.IsAlphaNumeric(src[i+1])),
			amount && (src[i] == '|' || startsWord(src[i:])):
			return 0
		case src[i] == '$':
			return i + 1
		case src[i] == '\\':
			i++
		}
	}
	return 0
}

// startsWord reports whether text is a space and a word.
func startsWord(text []byte) bool {
	letter := func(c byte) bool { return util.IsAlphaNumeric(c) && !util.IsNumeric(c) }
	return len(text) > 2 && util.IsSpace(text[0]) && letter(text[1]) && letter(text[2])
}

// A mathParser parses math inside a block into a String node with its source.
type mathParser struct{}

func (mathParser) Trigger() []byte { return []byte(`$\`) }

func (mathParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, segment := block.PeekLine()
	lines := parent.Lines()
	end := pc.(*scope).math.end(block.Source()[:lines.At(lines.Len()-1).Stop], segment.Start)
	if end == 0 {
		return nil
	}
	var source []byte
	for segment.Stop < end {
		source = append(source, line...)
		block.AdvanceLine()
		line, segment = block.PeekLine()
	}
	n := end - segment.Start + segment.Padding
	block.Advance(n)
	return ast.NewString(append(source, line[:n]...))
}

// A mathBlock parses math that spans lines, so that none of its lines is parsed as a list item or
// the like. The math begins or ends the first line. The block ends at a blank line at the latest.
// It is a text block, in which mathParser finds the math.
type mathBlock struct{ parser.BlockParser }

func (mathBlock) Trigger() []byte { return nil }

func (mathBlock) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	first, math := max(0, pc.BlockOffset()), unclosedMath{}
	for i := first; i < len(line); {
		next, closing := math.next(line, i)
		if closing != "" && closing != `\)` && (i == first || util.IsBlank(line[next:])) {
			pc.(*scope).closing = []byte(closing)
			node := ast.NewTextBlock()
			node.Lines().Append(segment)
			return node, parser.NoChildren
		}
		i = next
	}
	return nil, parser.NoChildren
}

func (mathBlock) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	line, segment := reader.PeekLine()
	if util.IsBlank(line) {
		return parser.Close
	}
	node.Lines().Append(segment)
	reader.AdvanceToEOL()
	if bytes.Contains(line, pc.(*scope).closing) {
		return parser.Close
	}
	return parser.Continue | parser.NoChildren
}

func (mathBlock) CanInterruptParagraph() bool { return true }
