package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// A run is text drawn with one pen. The text "\n" is a line break.
type run struct {
	text string
	pen  pen
}

// A flow breaks runs into lines of at most width cells: between words, beside
// wide characters, and inside a word only where it is wider than a line. Cells
// are counted by grapheme clusters, as everywhere on the screen.
type flow struct {
	pens  *pens
	width int
	line  []byte
	cells int  // of line
	pen   pen  // in effect at its end
	open  bool // pen has a sequence to be reset
	lines []string
	taken []int // cells of lines

	word  []run // not placed yet
	wide  int   // cells of word
	gap   run   // the space before it, "" if none
	glued bool  // the next ideograph must not begin a line
	loose bool  // the next letter may begin a line: an ideograph stands before it
}

// wrap returns the lines of runs. There is at least one.
func (ps *pens) wrap(runs []run, width int) []string {
	lines, _ := ps.measure(runs, width)
	return lines
}

// measure returns wrap that tells how many cells each line takes, too.
func (ps *pens) measure(runs []run, width int) (lines []string, cells []int) {
	f := ps.flow(width)
	for _, r := range runs {
		f.add(r)
	}
	f.place()
	f.end()
	ps.line, ps.word = f.line, f.word
	return f.lines, f.taken
}

// cut breaks runs of one line of code at the last cell, keeping every space.
func (ps *pens) cut(runs []run, width int) []string {
	f := ps.flow(width)
	for _, r := range runs {
		f.chop(r)
	}
	f.end()
	ps.line = f.line
	return f.lines
}

// flow returns an empty flow, which writes where the one before it did.
func (ps *pens) flow(width int) flow {
	return flow{pens: ps, width: width, line: ps.line[:0], word: ps.word[:0]}
}

func (f *flow) add(r run) {
	if r.text == "\n" {
		f.place()
		f.end()
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
			if f.loose && (s[0] >= '0' && s[0] <= '9' || s[0]|' ' >= 'a' && s[0]|' ' <= 'z') {
				f.place()
			}
			f.push(run{s[:n], r.pen}, n)
			f.glued, f.loose = false, false
			s = s[n:]
			continue
		}
		if s[0] <= ' ' {
			f.place()
			f.gap = run{" ", r.pen}
			f.glued, f.loose = false, false
			s = s[1:]
			continue
		}
		s = s[f.cluster(s, r.pen):]
	}
}

// cluster takes one grapheme cluster from s and returns its length in bytes.
func (f *flow) cluster(s string, p pen) int {
	c, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	if len(c) == 0 {
		return len(s)
	}
	first, _ := utf8.DecodeRuneInString(c)
	breaks := w == 2 && ideographic(first)
	if breaks && !f.glued && !strings.ContainsRune(closing, first) {
		f.place()
	}
	f.push(run{c, p}, w)
	f.glued = strings.ContainsRune(opening, first)
	f.loose = breaks && !f.glued
	return len(c)
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

func (f *flow) push(r run, cells int) {
	f.word = append(f.word, r)
	f.wide += cells
}

// place puts the pending word on the line, or on the next one.
func (f *flow) place() {
	if len(f.word) == 0 {
		return
	}
	space := len(f.gap.text)
	if f.cells == 0 {
		space = 0
	}
	if f.cells > 0 && f.cells+space+f.wide > f.width {
		f.end()
		space = 0
	}
	if space > 0 {
		f.put(f.gap.text, f.gap.pen, 1)
	}
	for _, r := range f.word {
		if f.wide <= f.width {
			f.put(r.text, r.pen, 0)
		} else {
			f.chop(r)
		}
	}
	if f.wide <= f.width {
		f.cells += f.wide
	}
	f.word, f.wide, f.gap = f.word[:0], 0, run{}
}

// chop puts a run on the line and on as many more as it takes.
func (f *flow) chop(r run) {
	for s := r.text; s != ""; {
		n := 0
		for n < len(s) && n < f.width-f.cells && s[n] >= ' ' && s[n] < utf8.RuneSelf {
			n++
		}
		if n > 0 && n < len(s) && s[n] >= utf8.RuneSelf {
			n--
		}
		if n > 0 {
			f.put(s[:n], r.pen, n)
			s = s[n:]
			continue
		}
		c, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		if len(c) == 0 {
			return
		}
		s = s[len(c):]
		if w > f.width {
			c, w = "…", 1 // a wide character where there is one cell
		}
		if f.cells+w > f.width {
			f.end()
		}
		f.put(c, r.pen, w)
	}
}

func (f *flow) put(s string, p pen, cells int) {
	if seq := f.pens.start(p); p != f.pen || f.open != (seq != "") {
		if f.open {
			f.line = append(f.line, reset...)
		}
		f.line = append(f.line, seq...)
		f.pen, f.open = p, seq != ""
	}
	f.line = append(f.line, s...)
	f.cells += cells
}

// end finishes the line.
func (f *flow) end() {
	if f.open {
		f.line = append(f.line, reset...)
	}
	f.lines, f.taken = append(f.lines, string(f.line)), append(f.taken, f.cells)
	f.line, f.cells, f.pen, f.open, f.gap = f.line[:0], 0, pen{}, false, run{}
}

// width returns the number of cells of runs on one line.
func width(runs []run) (cells int) {
	for _, r := range runs {
		cells += cellsOf(r.text)
	}
	return cells
}

func cellsOf(s string) int {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}
