package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/ui/textwrap"
	"parley/ui/theme"
)

// A styledRun is text with one style. The text "\n" is a line break.
type styledRun struct {
	text  string
	style textStyle
}

// A wrapper breaks runs into lines of at most width cells: between words, beside
// wide characters, and inside a word only if it is wider than a line. It counts
// the cells of grapheme clusters, as everywhere on the screen.
type wrapper struct {
	styles     *styleCache
	width      int
	line       []byte
	cells      int        // width of line
	sgr        *theme.SGR // style at the end of line
	lines      []string
	cellCounts []int // widths of lines

	word       []styledRun // not yet on a line
	wordCells  int         // width of word
	gap        styledRun   // space before word; "" for none
	noBreak    bool        // the next ideograph must not begin a line
	breakNext  bool        // the next letter may begin a line, because an ideograph precedes it
	code       bool        // keep spaces at the beginning of the text
	start      int         // width of the mark at the beginning of the line
	marksFolds bool        // begin continuation lines with a mark
}

// wrap returns the lines of runs, at least one.
func (ps *styleCache) wrap(runs []styledRun, width int) []string {
	lines, _ := ps.wrapMeasured(runs, width)
	return lines
}

// wrapMeasured is like wrap, but also returns the width of each line in cells.
func (ps *styleCache) wrapMeasured(runs []styledRun, width int) (lines []string, cells []int) {
	f := ps.newWrapper(width)
	for _, r := range runs {
		f.add(r)
	}
	f.placeWord()
	f.endLine()
	ps.line, ps.word = f.line, f.word
	return f.lines, f.cellCounts
}

// marksFolds reports whether continuation lines of a line of code get a mark. Those of a very
// long line do not, because it is shown row by row as it arrives.
func (ps *styleCache) marksFolds(line string, width int) bool {
	return ps.marksCode && width >= minFoldWidth && len(line) <= longLine+len("\r\n")
}

// foldMark begins continuation lines of code if the width is at least minFoldWidth cells.
const (
	foldMark     = "↪ "
	foldCells    = 2
	minFoldWidth = 16
)

// breakLine breaks the runs of one line of code between words, with a mark before continuation
// lines if folds is set. It keeps all spaces, except where it breaks the line. A word wider than a
// line is broken beside letters and digits. A row depends only on the text from its start on, so
// that a long line may arrive in pieces.
func (ps *styleCache) breakLine(runs []styledRun, width int, folds bool) []string {
	f := ps.newWrapper(width)
	f.code, f.marksFolds = true, folds
	for _, r := range runs {
		f.add(r)
	}
	f.placeWord()
	f.put(f.gap.text[:min(len(f.gap.text), f.width-f.cells)], textStyle{}, 0)
	f.endLine()
	ps.line, ps.word = f.line, f.word
	return f.lines
}

// newWrapper returns an empty wrapper that reuses the buffers of the previous one.
func (ps *styleCache) newWrapper(width int) wrapper {
	return wrapper{styles: ps, width: width, sgr: &unstyled, line: ps.line[:0], word: ps.word[:0]}
}

// unstyled is the style at the beginning of a line.
var unstyled theme.SGR

func (f *wrapper) add(r styledRun) {
	if r.text == "\n" {
		f.placeWord()
		f.endLine()
		return
	}
	for s := r.text; s != ""; {
		n := 0
		for n < len(s) && s[n] > ' ' && s[n] < utf8.RuneSelf {
			n++
		}
		if n < len(s) && s[n] >= utf8.RuneSelf && n > 0 {
			n-- // a combining mark may follow the last character
		}
		if n > 0 {
			if f.breakNext && (s[0] >= '0' && s[0] <= '9' || s[0]|' ' >= 'a' && s[0]|' ' <= 'z') {
				f.placeWord()
			}
			f.addToWord(styledRun{s[:n], r.style}, n)
			f.noBreak, f.breakNext = false, false
			s = s[n:]
			continue
		}
		if s[0] <= ' ' {
			f.placeWord()
			for n = 1; n < len(s) && s[n] == ' '; n++ {
			}
			if !f.code {
				f.gap.text = " "
			} else {
				f.gap.text += s[:n]
			}
			f.gap.style = r.style
			f.noBreak, f.breakNext = false, false
			s = s[n:]
			continue
		}
		s = s[f.cluster(s, r.style):]
	}
}

// cluster adds the first grapheme cluster of s and returns its length in bytes.
func (f *wrapper) cluster(s string, p textStyle) int {
	size, w := textwrap.Cluster(s)
	first, _ := utf8.DecodeRuneInString(s)
	breaks := w == 2 && ideographic(first)
	if breaks && !f.noBreak && !strings.ContainsRune(closing, first) {
		f.placeWord()
	}
	f.addToWord(styledRun{s[:size], p}, w)
	f.noBreak = strings.ContainsRune(opening, first)
	f.breakNext = breaks && !f.noBreak
	return size
}

// Punctuation that must not begin, or end, a line of Chinese or Japanese.
const (
	closing = "、。，．・：；？！）」』】〕〉》〗”’ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々"
	opening = "（「『【〔〈《〖“‘"
)

// ideographic reports whether lines may break beside r: true for CJK, false for emoji.
func ideographic(r rune) bool {
	return r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff ||
		r >= 0xfe30 && r <= 0xfe4f || r >= 0xff00 && r <= 0xffef || r >= 0x20000 && r <= 0x3ffff
}

func (f *wrapper) addToWord(r styledRun, cells int) {
	f.word = append(f.word, r)
	f.wordCells += cells
}

// placeWord puts the pending word on the line, or on the next one.
func (f *wrapper) placeWord() {
	if len(f.word) == 0 {
		return
	}
	space := len(f.gap.text)
	if f.cells == 0 && !f.code {
		space = 0
	}
	if f.cells+space+f.wordCells > f.width {
		if f.cells > 0 {
			f.breakHere()
		}
		space, f.gap = 0, styledRun{}
	}
	f.put(f.gap.text[:space], f.gap.style, space)
	fits := f.cells+f.wordCells <= f.width
	for _, r := range f.word {
		switch {
		case fits:
			f.put(r.text, r.style, 0)
		case f.code:
			f.breakCode(r)
		default:
			f.breakWord(r)
		}
	}
	if fits {
		f.cells += f.wordCells
	}
	f.word, f.wordCells, f.gap = f.word[:0], 0, styledRun{}
}

// breakCode puts a run on the line and on as many more as needed, broken beside words.
func (f *wrapper) breakCode(r styledRun) {
	for s := r.text; s != ""; {
		n := len(s) - len(strings.TrimLeftFunc(s, inWord))
		if n == 0 {
			n, _ = textwrap.Cluster(s)
		}
		if f.cells+textwrap.Width(s[:n]) > f.width && f.cells > f.start {
			f.breakHere()
		}
		f.breakWord(styledRun{s[:n], r.style})
		s = s[n:]
	}
}

// inWord reports whether a line of code must not break beside r.
func inWord(r rune) bool {
	return r == '_' || unicode.In(r, unicode.L, unicode.N, unicode.M)
}

// breakWord puts a run on the line and on as many more as needed.
func (f *wrapper) breakWord(r styledRun) {
	for s := r.text; s != ""; {
		size, cells := textwrap.Fit(s, f.width-f.cells)
		piece := s[:size]
		s = s[size:]
		if cells > f.width {
			piece, cells = textwrap.Ellipsis, 1 // a wide character in a width of one cell
		}
		if f.cells+cells > f.width {
			f.breakHere()
		}
		f.put(piece, r.style, cells)
	}
}

// breakHere begins a continuation line.
func (f *wrapper) breakHere() {
	if f.endLine(); f.marksFolds {
		f.put(foldMark, textStyle{role: faint}, foldCells)
		f.start = foldCells
	}
}

func (f *wrapper) put(s string, p textStyle, cells int) {
	if s == "" {
		return
	}
	if sgr := f.styles.sgr(p); sgr != f.sgr {
		f.line = append(f.line, f.sgr.Off...)
		f.line = append(f.line, sgr.On...)
		f.sgr = sgr
	}
	f.line = append(f.line, s...)
	f.cells += cells
}

// endLine finishes the line.
func (f *wrapper) endLine() {
	f.line = append(f.line, f.sgr.Off...)
	f.lines, f.cellCounts = append(f.lines, string(f.line)), append(f.cellCounts, f.cells)
	f.line, f.cells, f.sgr, f.gap = f.line[:0], 0, &unstyled, styledRun{}
}

// width returns the number of cells of runs on one line.
func width(runs []styledRun) (cells int) {
	for _, r := range runs {
		cells += textwrap.Width(r.text)
	}
	return cells
}
