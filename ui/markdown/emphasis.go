package markdown

import (
	"bytes"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"parley/ui/textwrap"
)

// An emphasisParser parses emphasis and strikethrough; see the package comment.
type emphasisParser struct{}

var marks = []byte("*_~")

func (emphasisParser) Trigger() []byte { return marks }

func (emphasisParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, segment := block.PeekLine()
	c, n := line[0], 1
	for n < len(line) && line[n] == c {
		n++
	}
	before, after := neighborOf(block.PrecendingCharacter()), neighborOf(' ')
	if n < len(line) {
		after = neighborOf(util.ToRune(line, n))
	}
	segment = segment.WithStop(segment.Start + n)
	block.Advance(n)
	if c == '~' && n != 2 {
		return ast.NewTextSegment(segment)
	}
	left := !after.space && (!after.punct || before.space || before.punct || before.cjk)
	right := !before.space && (!before.punct || after.space || after.punct || after.cjk)
	is := delimiter{strike: c == '~'}
	if c == '_' {
		left, right = left && (!right || util.IsPunctRune(before.r)), right && (!left || util.IsPunctRune(after.r))
	} else if n > 1 {
		left, right, is.state = decide(before, after, left, right, openRun(pc, c))
	}
	if last := pc.LastDelimiter(); last != nil {
		is.opens = last.Processor.(delimiter).opens
	}
	mark := uint8(1) << bytes.IndexByte(marks, c)
	right = right && is.opens&mark != 0 // otherwise goldmark searches all runs before it
	if left {
		is.opens |= mark
	}
	d := parser.NewDelimiter(left, right, n, c, is)
	d.Segment = segment
	pc.PushDelimiter(d)
	return d
}

// A neighbor is a character beside a run of marks.
type neighbor struct {
	r     rune
	space bool
	punct bool // punctuation or a symbol that is not CJK
	cjk   bool
}

func neighborOf(r rune) neighbor {
	cjk := ideographic(r) || unicode.Is(unicode.Hangul, r) ||
		r > unicode.MaxLatin1 && !unicode.IsSymbol(r) && textwrap.Width(string(r)) == 2
	return neighbor{r, util.IsSpaceRune(r), util.IsPunctRune(r) && !cjk, cjk}
}

// A runState is the effect of a run of two or more marks on strong text.
type runState uint8

const (
	closed    runState = iota // ends strong text, or has no effect
	opened                    // begins strong text
	atWord                    // begins strong text and a word
	insideOne                 // begins strong text inside a word where CommonMark does not allow it
)

// openRun returns the state of the last run of two c or more.
func openRun(pc parser.Context, c byte) runState {
	for d := pc.LastDelimiter(); d != nil; d = d.PreviousDelimiter {
		if d.Char == c && d.OriginalLength > 1 {
			return d.Processor.(delimiter).state
		}
	}
	return closed
}

// decide returns whether a run of two or more marks opens and closes strong text. left and right
// are the results of the flanking rules alone. With these, a run between a letter and punctuation
// often matches no other, as in "**Note:**text". Here it closes strong text that began with a
// word, or opens strong text that ends with a word. It does neither beside the wrong bracket, as
// in f(**kwargs).
func decide(before, after neighbor, left, right bool, open runState) (opens, closes bool, state runState) {
	bracket := unicode.In(before.r, unicode.Ps, unicode.Pi)
	begins := before.space || before.cjk || bracket || unicode.In(before.r, unicode.Pd, unicode.Quotation_Mark, unicode.Terminal_Punctuation)
	ends := after.space || after.cjk || unicode.In(after.r, unicode.Pe, unicode.Pf, unicode.Terminal_Punctuation)
	switch {
	case open == atWord && !bracket && !after.space && before.punct && !after.punct:
		return false, true, closed
	case open == closed && !ends && !before.space && !before.cjk && after.punct && !before.punct,
		open == insideOne && !ends && right:
		return true, false, insideOne
	case !left && !right:
		return false, false, open
	case !left, right && open != closed:
		return left, true, closed
	case begins:
		return left, right, atWord
	}
	return left, right, opened
}

// A delimiter processes runs of marks.
type delimiter struct {
	strike bool
	state  runState
	opens  uint8 // bit mask over marks: this run or an earlier one may open
}

func (delimiter) IsDelimiter(c byte) bool { return c == '*' || c == '_' || c == '~' }

func (delimiter) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

func (d delimiter) OnMatch(consumes int) ast.Node {
	if d.strike {
		return extast.NewStrikethrough()
	}
	return ast.NewEmphasis(consumes)
}
