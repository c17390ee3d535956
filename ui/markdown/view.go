package markdown

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
)

// settle adds the lines of closed blocks not yet shown.
func (d *Doc) settle() {
	if d.shown < len(d.blocks) && d.fence != nil {
		d.closeFence(&d.blocks[d.shown])
	}
	for ; d.shown < len(d.blocks); d.shown++ {
		b := &d.blocks[d.shown]
		if b.lines == nil {
			d.render(b, d.columnWidths(d.shown))
		}
		b.from = len(d.lines)
		d.separate(b.lines, d.shown, b.joined || b.item != nil && !b.item.first && !b.loose)
		b.top = len(d.lines)
		d.lines = append(d.lines, b.lines...)
		d.settled = len(d.lines)
	}
}

// render renders a closed block, and records its undefined references.
func (d *Doc) render(b *block, want []int) {
	r := d.styles.render(d.src.String()[b.start:b.end], d.width, d.split.refs, b.context(want))
	b.lines, b.codes, b.missingRefs, b.ruled = r.lines, r.codes, r.missingRefs, r.ruled
	if b.table != nil {
		b.table.wanted = r.columns
	}
	for _, label := range r.missingRefs {
		if first, ok := d.missingRefs[label]; !ok || d.shown < first {
			if d.missingRefs == nil {
				d.missingRefs = map[string]int{}
			}
			d.missingRefs[label] = d.shown
		}
	}
}

// columnWidths returns the widths required by the columns of a table in the blocks before i;
// nil if there are none.
func (d *Doc) columnWidths(i int) []int {
	if i == 0 || d.blocks[i-1].table == nil {
		return nil
	}
	return d.blocks[i-1].table.wanted
}

func (c *cut) context(want []int) blockContext {
	at := blockContext{number: -1, want: want}
	if c.item != nil {
		at.number, at.loose = c.item.number, c.loose
	}
	if c.table != nil && !c.table.first {
		at.header = c.table.header
	}
	return at
}

// separate writes the blank line above the lines of block i.
func (d *Doc) separate(lines []string, i int, tight bool) {
	if len(d.lines) > 0 && len(lines) > 0 && !tight && (i == 0 || !d.blocks[i-1].ruled) {
		d.lines = append(d.lines, "")
	}
}

// A tailView is the rendering of the open tail of the source.
type tailView struct {
	start, end int // parsed part of the source
	rendered
	top         int // index of lines[0] in Doc.lines
	from, shown int // index in Doc.lines of the blank line above, and of the end of rest

	// Later source is shown as it is if the tail is too long to be parsed again
	// yet: rest holds its lines, from end to seen.
	rest []string
	seen int
}

// showTail adds the lines of the tail, unless the text is finished.
func (d *Doc) showTail() {
	d.tail.codes = nil
	if d.done {
		return
	}
	src := d.src.String()
	if d.split.open != nil {
		d.showFence(src)
		return
	}
	end := len(src) - undecided(src[d.line:])
	start := d.split.tail
	if end <= start {
		return
	}
	t := &d.tail
	open := cut{joined: d.split.joined, table: d.split.table}
	if l := d.split.list; l != nil {
		open.item, open.loose = &item{number: l.next}, l.loose
	}
	at := open.context(d.columnWidths(len(d.blocks)))
	if t.lines == nil || t.start != start || !tooLong(end-start, end-t.end) {
		*t = tailView{start: start, end: end, seen: end}
		t.rendered = d.styles.render(closeMarks(src[start:end]), d.width, d.split.refs, at)
	}
	if t.shown > 0 && t.from == len(d.lines) { // the lines are still in d.lines
		d.lines = d.lines[:t.shown]
	} else {
		t.from = len(d.lines)
		d.separate(t.lines, len(d.blocks), open.joined || open.item != nil && !open.loose)
		t.top = len(d.lines)
		d.lines = append(append(d.lines, t.lines...), t.rest...)
	}
	d.showRest(src[:end])
	for len(d.lines) > 0 && d.lines[len(d.lines)-1] == "" {
		d.lines = d.lines[:len(d.lines)-1]
	}
}

// showRest adds the source after the parsed part of the tail. Each piece is wrapped once,
// so that the cost is linear.
func (d *Doc) showRest(src string) {
	const piece = 2048
	t := &d.tail
	for len(src)-t.seen > piece {
		stop := t.seen + strings.LastIndexByte(src[t.seen:t.seen+piece], '\n') + 1
		if stop == t.seen {
			for stop += piece; !utf8.RuneStart(src[stop]); stop-- {
			}
		}
		rows := d.literal(src[t.seen:stop])
		t.rest, d.lines = append(t.rest, rows...), append(d.lines, rows...)
		t.seen = stop
	}
	t.shown = len(d.lines)
	d.lines = append(d.lines, d.literal(src[t.seen:])...)
}

// literal wraps source without parsing it.
func (d *Doc) literal(src string) (lines []string) {
	for line := range strings.Lines(src) {
		lines = append(lines, d.styles.wrap([]styledRun{{printable(line), textStyle{}}}, d.width)...)
	}
	return lines
}

// undecided returns the number of bytes of an unfinished line that are not shown yet. They may
// become a marker, an underline or a fence, and would flicker if shown as text.
func undecided(line string) int {
	mark := strings.Trim(line, " \t")
	if number := strings.TrimLeft(mark, "0123456789"); number == "" || number == "." || number == ")" {
		mark = ""
	}
	if len(line) > 80 || strings.Trim(mark, "-=*_+#>`~|:$ \t") != "" {
		return 0
	}
	return len(line)
}

// A fenceView is the rendering of an open fenced code block. Each line is highlighted
// once, when it is complete.
type fenceView struct {
	from    int // index in Doc.lines of the blank line above
	top     int // index in Doc.lines of its first line
	lang    string
	scanner *scanner
	fence   *fence
	next    int // offset in the block of the first line not yet added
	blanks  int // blank lines, added once another line follows

	// For a long unfinished line, the first sent bytes were added, except for the last row.
	sent int
	row  string
}

// showFence adds the lines of an open fence.
func (d *Doc) showFence(src string) {
	body := src[d.split.tail:]
	v := d.fence
	if v == nil {
		v = &fenceView{from: len(d.lines), lang: d.split.open.lang, fence: d.split.open, next: d.split.open.head}
		v.scanner = newScanner(v.lang)
		d.fence = v
		d.separate([]string{""}, len(d.blocks), d.split.joined)
		v.top = len(d.lines)
		if v.lang != "" {
			d.addCode([]styledRun{{v.lang, textStyle{role: dim}}}, 1, false)
		}
	}
	for {
		n := strings.IndexByte(body[v.next+v.sent:], '\n') + 1
		if n == 0 {
			break
		}
		n += v.sent
		d.codeLine(v, body[v.next:v.next+n])
		v.next += n
	}
	rest := body[v.next:]
	if v.sent > 0 || len(rest) > longLine+len("\r\n")+v.fence.indent && !blank(rest) && !v.fence.mayClose(rest) {
		d.longLine(v, rest)
		d.settled = len(d.lines)
		d.addRow(v.row)
		return
	}
	d.settled = len(d.lines)
	if rest != "" && !v.fence.mayClose(rest) {
		draft := *v
		draft.scanner = v.scanner.clone()
		d.codeLine(&draft, rest)
	}
	if len(d.lines) == v.top { // nothing to show yet, not even a blank line
		d.lines = d.lines[:v.from]
		d.fence, d.settled = nil, v.from
	}
}

// closeFence moves the lines of a closed fence to its block.
func (d *Doc) closeFence(b *block) {
	v, body := d.fence, d.src.String()[b.start:b.end]
	for line := range strings.Lines(body[v.next:]) {
		if v.fence.closedBy(line) {
			body = body[:len(body)-len(line)]
			break
		}
		d.codeLine(v, line)
	}
	code := v.code(body)
	if code.Line = 0; body[len(body)-1] != '\n' {
		code.Text += "\n"
	}
	if Drawings[v.lang] == nil { // otherwise it may be drawn now
		b.lines, b.codes = slices.Clone(d.lines[v.top:]), []Code{code}
	}
	d.lines, d.fence = d.lines[:v.from], nil
}

// codeArea returns the indentation of a line of code, and the width that is left.
func (d *Doc) codeArea() (indent string, width int) {
	if !fitsInset(codeIndentCells, d.width) {
		return "", d.width
	}
	return d.styles.codeIndent(), d.width - codeIndentCells
}

// addCode adds at most most lines of code, in the same form as writer.code.
func (d *Doc) addCode(runs []styledRun, most int, folds bool) {
	indent, width := d.codeArea()
	lines := d.styles.breakLine(runs, width, folds)
	for _, l := range lines[:min(most, len(lines))] {
		d.lines = append(d.lines, strings.TrimRight(indent+l, " "))
	}
}

// addRow adds a row of a long line.
func (d *Doc) addRow(text string) { d.addCode([]styledRun{{text, textStyle{}}}, 1, false) }

// longLine adds the full rows of a long line. It handles each byte once.
func (d *Doc) longLine(v *fenceView, line string) {
	if v.sent == 0 {
		from, padding := v.fence.inset(line)
		v.sent, v.row = from, strings.Repeat(" ", padding)
		d.addBlanks(v)
	}
	part := line[v.sent:]
	if !strings.HasSuffix(part, "\n") {
		part = sanitize.Complete(part)
	}
	v.sent += len(part)
	_, width := d.codeArea()
	rows := d.styles.breakLine([]styledRun{{v.row + uncolored(part), textStyle{}}}, width, false)
	v.row = ansi.Strip(rows[len(rows)-1])
	for _, row := range rows[:len(rows)-1] {
		d.addRow(ansi.Strip(row))
	}
}

// codeLine adds one line of code.
func (d *Doc) codeLine(v *fenceView, line string) {
	if v.sent > 0 {
		d.longLine(v, line)
		d.addRow(v.row)
		v.sent, v.row = 0, ""
		return
	}
	line = v.fence.content(line)
	runs := v.scanner.line(line)
	if blank(line) {
		v.blanks++
		return
	}
	d.addBlanks(v)
	_, width := d.codeArea()
	d.addCode(runs, math.MaxInt, d.styles.marksFolds(line, width))
}

// addBlanks adds the pending blank lines.
func (d *Doc) addBlanks(v *fenceView) {
	for ; v.blanks > 0; v.blanks-- {
		d.addRow("")
	}
}

// code returns the block so far.
func (v *fenceView) code(body string) Code {
	var b strings.Builder
	b.Grow(len(body) - v.fence.head)
	for line := range strings.Lines(body[v.fence.head:]) {
		b.WriteString(v.fence.content(line))
	}
	return Code{Lang: v.lang, Text: b.String(), Line: v.top}
}
