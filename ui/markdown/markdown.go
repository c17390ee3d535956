// Package markdown shows Markdown in a terminal while it is still being written.
//
//	Append ─► split into closed blocks ─► render each once ─► Lines
//	          (goldmark, tail only)       (block, width, theme)
//
// A block that has a successor is closed: CommonMark decides structure line by
// line. Only the tail after the last closed block is parsed again, only up to
// its last newline; the unfinished line is shown but decides nothing. Closed
// blocks keep their lines, with two exceptions: a tight list that turns loose,
// and a block that used a link reference before it was defined.
//
// The renderer is our own walk over goldmark's tree. Glamour wraps bytewise,
// spaces blocks by their neighbors, hides link targets behind OSC 8 and lets
// escapes through. So is the highlighter: regular expressions cost chroma 1.5 µs
// per byte and 250 ms where they backtrack, which no frame can pay, and they see
// whole texts; a scanner that carries its state from line to line colors a
// stream as it comes, once, the same as the whole.
package markdown

import (
	"slices"
	"strings"

	"parley/tools/sanitize"
	"parley/ui/theme"
)

// A Doc is one Markdown text, complete or growing, and its rendering. It is not
// safe for concurrent use.
type Doc struct {
	src    strings.Builder
	line   int // where the last line of src begins
	split  splitter
	cutAt  int // how much of src was given to split
	blocks []block
	wants  map[string]int // reference not found when it was used → first block that did
	done   bool

	windowed

	styles *styleCache
	width  int
	lines  []string
	fresh  bool // lines show everything
	// lines[:settled] show blocks[:shown], and the whole lines of an open fence.
	shown, settled int
	fence          *fenceView
	tail           tailView
}

// windowed is what a split finds that does not follow the stream, but goes window by
// window: the same for all streams of a text.
type windowed struct {
	whole splitter
	cuts  []cut
}

// A Code is one fenced code block.
type Code struct {
	Lang string // first word after the fence, "" if there is none
	Text string // without the fences; ends with a newline unless it is empty
	Line int    // index into Lines of its first line
}

// New returns an empty Doc.
func New(th *theme.Theme) *Doc {
	return &Doc{styles: newStyleCache(th), split: splitter{window: window}, windowed: windowed{whole: splitter{window: window}}}
}

// MarkCode has a bar stand beside code, and a sign where a line of it goes on, for screens
// that copy the source.
func (d *Doc) MarkCode() { d.styles.marksCode = true }

// Render renders a complete text, none of its lines wider than width cells. The
// result has no final newline.
func Render(source string, width int, th *theme.Theme) string {
	d := New(th)
	d.Append(sanitize.Cleaned(source))
	d.Finish()
	return strings.Join(d.Lines(width), "\n")
}

// Fenced returns the code blocks of source as they stand in it, printable or not.
func Fenced(source string) []Code {
	d := New(theme.Plain())
	d.append(source)
	d.Finish()
	return d.Code()
}

// Append adds text.
func (d *Doc) Append(text sanitize.Clean) { d.append(text.String()) }

func (d *Doc) append(text string) {
	if text == "" || d.done {
		return
	}
	d.fresh = false
	if n := strings.LastIndexByte(text, '\n'); n >= 0 {
		d.line = d.src.Len() + n + 1
	}
	d.src.WriteString(text)
}

// advance freezes what is closed by now. It is put off until somebody looks.
func (d *Doc) advance() {
	src := d.src.String()
	if d.done || d.line <= d.cutAt && len(src) < d.split.tail+2*d.split.window {
		return
	}
	d.cutAt = len(src)
	d.freeze(d.split.advance(src[:d.line], src, false))
	d.addBlocks(d.whole.closed(src[:d.line], src))
}

// addBlocks notes what the split window by window finds.
func (d *Doc) addBlocks(f frozen) {
	if f.loosened {
		loosen(len(d.cuts), func(i int) *cut { return &d.cuts[i] })
	}
	d.cuts = append(d.cuts, f.cuts...)
}

// Finish ends the text. What was found window by window then
// replaces the streamed blocks where the two differ. They do where goldmark's
// verdict on a block hangs on what stood above it: an underline after a table,
// for one.
func (d *Doc) Finish() {
	if d.done {
		return
	}
	src := d.src.String()
	d.addBlocks(d.whole.advance(src, src, true))
	if d.cutAt > 0 {
		d.freeze(d.split.advance(src, src, true))
	}
	d.done, d.fresh = true, false
	if !slices.EqualFunc(d.blocks, d.cuts, func(b block, c cut) bool { return b.same(c) }) {
		d.split, d.blocks = d.whole, blocksOf(d.cuts)
		d.forget()
	}
	d.whole, d.cuts = splitter{}, nil
}

// EndAt ends the text behind its first n bytes, as if no more had come, and keeps what was
// rendered of them. It does nothing and returns false where that may hang on what came behind:
// if they do not end with a line, or if Lines has seen more than a part of the next one.
func (d *Doc) EndAt(n int) bool {
	src := d.src.String()
	after := src[n:max(n, d.cutAt)]
	if d.done || n > 0 && src[n-1] != '\n' || len(after) >= d.split.window || strings.Contains(after, "\n") {
		return false
	}
	d.src.Reset()
	d.src.WriteString(src[:n])
	d.line, d.cutAt, d.tail = n, min(d.cutAt, n), tailView{}
	d.Finish()
	return true
}

// SetTheme changes the theme; the next call of Lines renders again.
func (d *Doc) SetTheme(th *theme.Theme) {
	was := d.styles
	d.styles = newStyleCache(th)
	d.styles.marksCode, d.styles.tableWidth = was.marksCode, was.tableWidth
	d.forget()
}

// SetTableWidth lets tables take more cells than Lines is asked for.
func (d *Doc) SetTableWidth(cells int) {
	if cells != d.styles.tableWidth {
		d.styles.tableWidth = cells
		d.forget()
	}
}

// Source returns the text so far.
func (d *Doc) Source() string { return d.src.String() }

// Lines returns the rendering, none of its lines but those of tables (SetTableWidth) wider
// than width cells, without
// trailing blank lines. It is the caller's to read until the next call of a
// method of d. Nothing is done when nothing changed.
func (d *Doc) Lines(width int) []string {
	width = max(width, 1)
	if width != d.width {
		d.width = width
		d.forget()
	}
	if d.fresh {
		return d.lines
	}
	d.advance()
	d.lines = d.lines[:d.settled]
	d.settle()
	d.showTail()
	d.fresh = true
	return d.lines
}

// Settled returns how many of the lines that Lines returned last stay as they
// are, whatever follows, but for a list that turns loose and a link reference
// that is defined late. It is for output that cannot be taken back.
func (d *Doc) Settled() int {
	if d.done {
		return len(d.lines)
	}
	return d.settled
}

// Code returns the fenced code blocks in order, the unfinished one included. It
// counts lines at the last width, or at 80 cells if there was none.
func (d *Doc) Code() []Code {
	if d.width == 0 {
		d.Lines(80)
	}
	d.Lines(d.width)
	var all []Code
	for _, b := range d.blocks {
		all = appendCode(all, b.codes, b.top)
	}
	if d.fence != nil {
		return append(all, d.fence.code(d.src.String()[d.split.tail:]))
	}
	return appendCode(all, d.tail.codes, d.tail.top)
}

func appendCode(all, codes []Code, top int) []Code {
	for _, c := range codes {
		c.Line += top
		all = append(all, c)
	}
	return all
}

// freeze takes over closed blocks, and renders again what they change.
func (d *Doc) freeze(f frozen) {
	if f.loosened {
		d.loosenList()
	}
	for _, c := range f.cuts {
		d.blocks = append(d.blocks, block{cut: c})
	}
	from := len(d.blocks)
	for label := range f.defined {
		if first, ok := d.wants[label]; ok {
			delete(d.wants, label)
			from = min(from, first)
		}
	}
	d.restart(from, func(b *block) bool { return b.wantsAny(f.defined) })
}

// loosenList turns the list that the tail continues from tight to loose.
func (d *Doc) loosenList() {
	loosen(len(d.blocks), func(i int) *cut { return &d.blocks[i].cut })
	from := len(d.blocks)
	for from > 0 && d.blocks[from-1].item != nil && (from == len(d.blocks) || !d.blocks[from].item.first) {
		from--
	}
	d.restart(from, func(*block) bool { return true })
}

// restart forgets the lines of the blocks from the given one on that are stale,
// and the places of all of them.
func (d *Doc) restart(from int, stale func(*block) bool) {
	if from >= d.shown {
		return
	}
	for i := from; i < len(d.blocks); i++ {
		if b := &d.blocks[i]; stale(b) {
			b.lines, b.codes, b.wants = nil, nil, nil
		}
	}
	d.unsettle(from)
}

// unsettle takes the lines of the blocks from the given one on out of lines.
func (d *Doc) unsettle(from int) {
	if d.fence != nil {
		d.settled, d.fence = d.fence.from, nil
	}
	if from < d.shown {
		d.shown, d.settled = from, d.blocks[from].from
	}
	d.fresh = false
}

func blocksOf(cuts []cut) []block {
	blocks := make([]block, len(cuts))
	for i, c := range cuts {
		blocks[i].cut = c
	}
	return blocks
}

// forget drops every rendering.
func (d *Doc) forget() {
	for i := range d.blocks {
		b := &d.blocks[i]
		b.lines, b.codes, b.wants = nil, nil, nil
	}
	d.lines, d.shown, d.settled = nil, 0, 0
	d.fence, d.tail, d.wants = nil, tailView{}, nil
	d.fresh = false
}
