package markdown

import (
	"strings"
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
// wide characters, and inside a word only where it is wider than a line. Cells
// are counted by grapheme clusters, as everywhere on the screen.
type wrapper struct {
	styles     *styleCache
	width      int
	line       []byte
	cells      int        // of line
	sgr        *theme.SGR // in effect at its end
	lines      []string
	cellCounts []int // cells of lines

	word       []styledRun // not placed yet
	wordCells  int         // cells of word
	gap        styledRun   // the space before it, "" if none
	noBreak    bool        // the next ideograph must not begin a line
	breakNext  bool        // the next letter may begin a line, as an ideograph precedes it
	marksFolds bool        // a mark begins continuation lines
}

// wrap returns the lines of runs. There is at least one.
func (ps *styleCache) wrap(runs []styledRun, width int) []string {
	lines, _ := ps.wrapMeasured(runs, width)
	return lines
}

// wrapMeasured is wrap that also returns how many cells each line takes.
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

// marksFolds reports whether continuation lines of a line of code have a mark. Those of a very
// long line have none: it is shown row by row as it arrives.
func (ps *styleCache) marksFolds(line string, width int) bool {
	return ps.marksCode && width >= minFoldWidth && len(line) <= longLine+len("\r\n")
}

// foldMark begins continuation lines of code, in a width of at least minFoldWidth cells.
const (
	foldMark     = "↪ "
	foldCells    = 2
	minFoldWidth = 16
)

// breakLine breaks runs of one line of code at the last cell, keeping every space, with a mark
// before continuation lines if folds.
func (ps *styleCache) breakLine(runs []styledRun, width int, folds bool) []string {
	f := ps.newWrapper(width)
	f.marksFolds = folds
	for _, r := range runs {
		f.breakWord(r)
	}
	f.endLine()
	ps.line = f.line
	return f.lines
}

// newWrapper returns an empty wrapper with the buffers of the one before it.
func (ps *styleCache) newWrapper(width int) wrapper {
	return wrapper{styles: ps, width: width, sgr: &unstyled, line: ps.line[:0], word: ps.word[:0]}
}

// unstyled is in effect where a line begins.
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
			n-- // the last character may carry a mark
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
			f.gap = styledRun{" ", r.style}
			f.noBreak, f.breakNext = false, false
			s = s[1:]
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

// Punctuation that may not begin, or end, a line of Chinese or Japanese.
const (
	closing = "、。，．・：；？！）」』】〕〉》〗”’ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々"
	opening = "（「『【〔〈《〖“‘"
)

// ideographic reports whether lines may break beside r: CJK, not emoji.
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
	if f.cells == 0 {
		space = 0
	}
	if f.cells > 0 && f.cells+space+f.wordCells > f.width {
		f.endLine()
		space = 0
	}
	if space > 0 {
		f.put(f.gap.text, f.gap.style, 1)
	}
	for _, r := range f.word {
		if f.wordCells <= f.width {
			f.put(r.text, r.style, 0)
		} else {
			f.breakWord(r)
		}
	}
	if f.wordCells <= f.width {
		f.cells += f.wordCells
	}
	f.word, f.wordCells, f.gap = f.word[:0], 0, styledRun{}
}

// breakWord puts a run on the line and on as many more as it takes.
func (f *wrapper) breakWord(r styledRun) {
	for s := r.text; s != ""; {
		size, cells := textwrap.Fit(s, f.width-f.cells)
		piece := s[:size]
		s = s[size:]
		if cells > f.width {
			piece, cells = textwrap.Ellipsis, 1 // a wide character where there is one cell
		}
		if f.cells+cells > f.width {
			f.endLine()
			if f.marksFolds {
				f.put(foldMark, textStyle{role: faint}, foldCells)
				if f.cells+cells > f.width {
					s = piece + s
					continue
				}
			}
		}
		f.put(piece, r.style, cells)
	}
}

func (f *wrapper) put(s string, p textStyle, cells int) {
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
