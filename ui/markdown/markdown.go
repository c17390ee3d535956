// Package markdown shows Markdown in a terminal while it is still being written.
//
//	Append ─► split into closed blocks ─► render each once ─► Lines
//	          (goldmark, tail only)       (block, width, theme)
//
// A block is closed once another block follows it, because CommonMark
// determines structure line by line. Only the tail after the last closed block
// is parsed again, up to its last newline. The unfinished line is shown but
// does not affect the structure. Closed blocks keep their lines, with two
// exceptions: a tight list that becomes loose, and a block that used a link
// reference before its definition.
//
// The renderer walks goldmark's tree. It does not use Glamour, which wraps bytewise,
// spaces blocks by their neighbors, puts link targets into OSC 8 and passes escapes
// through. Nor does it use chroma, whose regular expressions need the whole text and
// take 1.5 µs per byte, or 250 ms when they backtrack. A scanner that keeps its state
// between lines styles a stream as it arrives, each line once.
//
// # Extensions to CommonMark
//
// Text is CommonMark with GitHub's tables, check boxes and strikethrough, interpreted as models
// write it. Every letter and digit of the source is shown, in order, except for link targets,
// reference definitions, info strings, list numbers, and entities.
//
//   - Lines: a newline inside a paragraph is a line break. With [Doc.FoldLines] it is a space.
//   - Strikethrough: two tildes strike text through. One tilde, or three, are characters.
//   - Emphasis: the flanking rules are those of CommonMark as amended by
//     github.com/tats-u/markdown-cjk-friendly. In addition, a run of two marks or more between
//     a letter and punctuation closes strong text that began with a word (**Note:**text), or
//     opens strong text that ends with a word (un**"real"**). See decide.
//   - Math: $…$, $$…$$, \(…\), \[…\] and \begin{x}…\end{x} are shown as their source, newlines
//     included. No other rule applies inside. A single $ opens math before a character other than
//     a space and not after a letter or digit; the next $ closes it, after a character other than a
//     space and not before a letter or digit. If the text between begins with a digit, it has no
//     words and no pipes, as otherwise it is an amount of money. Math that begins or ends a line
//     and goes on protects the lines up to its end, or to a blank line, from being list items,
//     headings or quotations.
//   - Tables: a pipe inside a code span or math is text. Cells beyond the header have a column
//     without a name. Empty ones at the end are left out.
//   - Marks: where the theme does not show emphasis, strikethrough, code or a heading by a style,
//     the mark stays: *a*, ~~a~~, `a`, # a. Strong text has one star as well.
//   - Code is folded at spaces, a word that is wider than a line beside letters and digits.
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
	src         strings.Builder
	line        int // offset of the last line of src
	split       splitter
	cutAt       int // how many bytes of src were passed to split
	blocks      []block
	missingRefs map[string]int // maps the label of an undefined reference to the first block that uses it
	done        bool

	styles  *styleCache
	width   int
	lines   []string
	current bool // lines are up to date
	// lines[:settled] hold blocks[:shown] and the complete lines of an open fence.
	shown, settled int
	fence          *fenceView
	tail           tailView
}

// A Code is one fenced code block.
type Code struct {
	Lang string // first word after the fence; "" for none
	Text string // without the fences; ends with a newline unless it is empty
	Line int    // index of its first line in Lines
}

// New returns an empty Doc.
func New(th *theme.Theme) *Doc {
	return &Doc{styles: newStyleCache(th), split: splitter{window: windowSize}}
}

// MarkCode makes Lines draw a bar beside code and a mark at each wrapped line of code, for
// screens that copy the source and not the displayed text.
func (d *Doc) MarkCode() { d.styles.marksCode = true }

// FoldLines treats a newline inside a paragraph as a space, as in CommonMark, for files with
// manually wrapped paragraphs. In model answers such a newline is a line break.
func (d *Doc) FoldLines() { d.styles.folds = true }

// Render renders a complete text in lines of at most width cells. The result
// has no final newline.
func Render(source string, width int, th *theme.Theme) string {
	d := New(th)
	d.Append(sanitize.Cleaned(source))
	d.Finish()
	return strings.Join(d.Lines(width), "\n")
}

// Fenced returns the code blocks of source, not sanitized. Their Line fields are for a width of 80 cells.
func Fenced(source string) []Code {
	d := New(theme.Plain())
	d.append(source)
	d.Finish()
	return d.Code()
}

// Append adds text. After Finish it has no effect.
func (d *Doc) Append(text sanitize.Clean) { d.append(text.String()) }

func (d *Doc) append(text string) {
	if text == "" || d.done {
		return
	}
	d.current = false
	if n := strings.LastIndexByte(text, '\n'); n >= 0 {
		d.line = d.src.Len() + n + 1
	}
	d.src.WriteString(text)
}

// advance freezes closed blocks. Lines calls it.
func (d *Doc) advance() {
	src := d.src.String()
	if d.done || d.line <= d.cutAt && len(src) < d.split.tail+2*d.split.window {
		return
	}
	d.cutAt = len(src)
	d.freeze(d.split.advance(src[:d.line], src, false))
}

// Finish ends the text. It splits the text again as a whole, window by window, and uses the
// result if it differs from the streamed blocks. It differs where goldmark's result for a
// block depends on the blocks above it, such as for an underline after a table.
func (d *Doc) Finish() {
	if d.done {
		return
	}
	src, whole := d.src.String(), splitter{window: d.split.window}
	cuts := whole.advance(src, src, true).cuts
	if d.cutAt > 0 {
		d.freeze(d.split.advance(src, src, true))
	}
	d.done, d.current = true, false
	if !slices.EqualFunc(d.blocks, cuts, func(b block, c cut) bool { return b.same(c) }) {
		d.split, d.blocks = whole, blocksOf(cuts)
		d.dropLines()
	}
}

// EndAt ends the text after its first n bytes and keeps their rendering. It returns false
// without any change if the rendering may depend on the rest: if the n bytes do not end with a
// line, or if Lines has already processed more than a part of the next one.
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
	d.styles.marksCode, d.styles.folds, d.styles.tableWidth = was.marksCode, was.folds, was.tableWidth
	d.dropLines()
}

// SetTableWidth sets the maximum width of tables, in cells, if that is more than the width of Lines.
func (d *Doc) SetTableWidth(cells int) {
	if cells != d.styles.tableWidth {
		d.styles.tableWidth = cells
		d.dropLines()
	}
}

// Source returns the text so far.
func (d *Doc) Source() string { return d.src.String() }

// Lines returns the rendering, without trailing blank lines. No line is wider than width
// cells, except for tables (see SetTableWidth). The result is valid until the next call of a
// method of d. If nothing changed, it is the same slice.
func (d *Doc) Lines(width int) []string {
	width = max(width, 1)
	if width != d.width {
		d.width = width
		d.dropLines()
	}
	if d.current {
		return d.lines
	}
	d.advance()
	d.lines = d.lines[:d.settled]
	d.settle()
	d.showTail()
	d.current = true
	return d.lines
}

// Settled returns the number of lines last returned by Lines that no further text changes.
// Exceptions are a list that becomes loose and a link reference that is defined later. It
// is for output that cannot be changed afterwards.
func (d *Doc) Settled() int {
	if d.done {
		return len(d.lines)
	}
	return d.settled
}

// Code returns the fenced code blocks in order, including an unfinished one.
// Their Line fields are for the last width, or 80 cells if Lines was not called.
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

// freeze adds closed blocks, and invalidates earlier blocks that they change.
func (d *Doc) freeze(f frozen) {
	if f.loosened {
		d.loosenList()
	}
	for _, c := range f.cuts {
		d.blocks = append(d.blocks, block{cut: c})
	}
	from := len(d.blocks)
	for label := range f.defined {
		if first, ok := d.missingRefs[label]; ok {
			delete(d.missingRefs, label)
			from = min(from, first)
		}
	}
	d.invalidate(from, func(b *block) bool { return b.misses(f.defined) })
}

// loosenList makes the list that the tail continues loose.
func (d *Doc) loosenList() {
	loosen(len(d.blocks), func(i int) *cut { return &d.blocks[i].cut })
	from := len(d.blocks)
	for from > 0 && d.blocks[from-1].item != nil && (from == len(d.blocks) || !d.blocks[from].item.first) {
		from--
	}
	d.invalidate(from, func(*block) bool { return true })
}

// invalidate drops the lines of stale blocks, from the given block on, and the positions
// of all blocks from there.
func (d *Doc) invalidate(from int, stale func(*block) bool) {
	if from >= d.shown {
		return
	}
	for i := from; i < len(d.blocks); i++ {
		if b := &d.blocks[i]; stale(b) {
			b.lines, b.codes, b.missingRefs = nil, nil, nil
		}
	}
	d.unsettle(from)
}

// unsettle removes the given block and all later ones from d.lines.
func (d *Doc) unsettle(from int) {
	if d.fence != nil {
		d.settled, d.fence = d.fence.from, nil
	}
	if from < d.shown {
		d.shown, d.settled = from, d.blocks[from].from
	}
	d.current = false
}

func blocksOf(cuts []cut) []block {
	blocks := make([]block, len(cuts))
	for i, c := range cuts {
		blocks[i].cut = c
	}
	return blocks
}

// dropLines drops all rendered lines.
func (d *Doc) dropLines() {
	for i := range d.blocks {
		b := &d.blocks[i]
		b.lines, b.codes, b.missingRefs = nil, nil, nil
	}
	d.lines, d.shown, d.settled = nil, 0, 0
	d.fence, d.tail, d.missingRefs = nil, tailView{}, nil
	d.current = false
}
