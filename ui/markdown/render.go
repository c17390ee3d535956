package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"

	"parley/tools/sanitize"
	"parley/ui/textwrap"
)

// rendered is the rendering of a piece of source.
type rendered struct {
	lines       []string // without trailing blank lines; never nil
	codes       []Code   // line numbers count from the first line
	missingRefs []string // labels of undefined references

	columns []int // widths, in cells, required by the columns of a table
	ruled   bool  // the last line is the rule of a heading; the next block follows at once
}

// blockContext holds the facts about earlier pieces required to render a list item or a part of a table.
type blockContext struct {
	number int    // number of a list's first item; negative to use the number in the source
	loose  bool   // the list is known to be loose
	header string // header of the table that the source continues; "" for none
	want   []int  // widths, in cells, required by the columns of earlier parts
}

// render renders a piece of source that starts at the beginning of a block.
func (ps *styleCache) render(src string, width int, refs references, at blockContext) rendered {
	src = at.header + src
	raw := limitNesting(src)
	sc := &scope{Context: parser.NewContext(), refs: refs}
	inline := len(src) <= inlineLimit && strings.Count(src, "](")-strings.Count(src, ")") <= maxOpenLinks
	p := full
	if !inline {
		p = structure
	}
	w := writer{styles: ps, src: src, raw: raw, width: width, at: at, lines: []string{}, inline: inline}
	w.blocks(parse(p(), raw, sc), false)
	for len(w.lines) > 0 && w.lines[len(w.lines)-1] == "" {
		w.lines = w.lines[:len(w.lines)-1]
	}
	return rendered{lines: w.lines, codes: w.codes, missingRefs: sc.missingRefs, columns: w.columns, ruled: w.ruled}
}

// A writer walks the tree of a piece of source and writes lines.
type writer struct {
	styles *styleCache
	src    string
	raw    []byte // src with limited nesting, as parsed
	width  int
	at     blockContext // context of the first block, if it is a list or table
	inline bool         // the tree has inline nodes
	table  bool         // inside a table
	ruled  bool         // the last line is the rule of a heading
	quoted attr         // attribute of text: that of quotes, inside one

	columns []int // widths required by the columns of the last table

	lines        []string
	codes        []Code
	prefix       string // begins every line
	inset        int    // cells of prefix
	first        string // replaces prefix on the next line, if hasFirst
	hasFirst     bool
	pendingMarks []styledRun // list markers without indentation, if the width does not allow any
}

// fitsInset reports whether text may be indented by inset cells. At least half of the width
// is reserved for text, however deeply blocks are nested.
func fitsInset(inset, width int) bool { return inset <= width/2 }

// textWidth returns the width left for text.
func (w *writer) textWidth() int { return max(w.width-w.inset, 1) }

// emit writes lines, which must fit into textWidth, after the prefix.
func (w *writer) emit(lines ...string) {
	for _, l := range lines {
		l = w.begin() + l
		if strings.HasSuffix(l, " ") {
			l = strings.TrimRight(l, " ")
		}
		w.lines = append(w.lines, l)
	}
}

func (w *writer) begin() string {
	if w.hasFirst {
		w.hasFirst = false
		return w.first
	}
	return w.prefix
}

// blankLine writes a blank line between blocks.
func (w *writer) blankLine() { w.lines = append(w.lines, strings.TrimRight(w.prefix, " ")) }

// indented calls f with a longer prefix: mark before the next line and pad before
// all others, each cells wide. mark may be nil.
func (w *writer) indented(mark []styledRun, pad string, cells int, f func()) {
	if !fitsInset(w.inset+cells, w.width) {
		w.pendingMarks = append(w.pendingMarks, mark...)
		f()
		w.flush()
		return
	}
	outer := w.prefix
	if mark != nil {
		var b strings.Builder
		for _, r := range mark {
			if r.text == " " {
				b.WriteString(" ")
				continue
			}
			b.WriteString(w.styles.apply(r.style, r.text))
		}
		w.first, w.hasFirst = w.begin()+b.String(), true
	} else if w.hasFirst {
		w.first += pad
	}
	w.prefix += pad
	w.inset += cells
	f()
	w.flush()
	if w.hasFirst { // no text followed the marker
		w.emit("")
	}
	w.prefix, w.inset, w.ruled = outer, w.inset-cells, false
}

// flush writes pending list markers without text.
func (w *writer) flush() {
	if w.pendingMarks != nil {
		w.wrapRuns(nil)
	}
}

// wrapRuns writes wrapped text.
func (w *writer) wrapRuns(runs []styledRun) {
	if w.pendingMarks != nil {
		runs = append(w.pendingMarks, runs...)
		w.pendingMarks = nil
	}
	w.emit(w.styles.wrap(runs, w.textWidth())...)
}

// blocks writes the children of n, with a blank line between them unless tight.
func (w *writer) blocks(n ast.Node, tight bool) {
	wrote := false
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c.Kind() == ast.KindLinkReferenceDefinition {
			continue
		}
		before := len(w.lines)
		if wrote && !tight && !w.ruled {
			w.blankLine()
		}
		start := len(w.lines)
		w.block(c)
		if len(w.lines) == start {
			w.lines = w.lines[:before]
			continue
		}
		wrote = true
	}
}

func (w *writer) block(n ast.Node) {
	at := w.at
	w.at, w.ruled = blockContext{number: -1}, false
	switch n := n.(type) {
	case *ast.Heading:
		w.heading(n)
	case *ast.Paragraph, *ast.TextBlock:
		w.wrapRuns(w.inlines(n, textStyle{attr: w.quoted}))
	case *ast.List:
		w.list(n, at)
	case *ast.Blockquote:
		w.flush()
		bar, outer := w.styles.apply(textStyle{role: voiceDim}, quoteBar)+" ", w.quoted
		w.quoted = italic
		w.indented(nil, bar, 2, func() { w.blocks(n, false) })
		w.quoted = outer
	case *ast.FencedCodeBlock:
		w.fenced(n)
	case *ast.CodeBlock:
		w.code("", w.values(n.Lines()))
	case *ast.ThematicBreak:
		w.flush()
		w.emit(w.styles.apply(textStyle{role: faint}, strings.Repeat("─", w.textWidth())))
	case *ast.HTMLBlock:
		w.html(n)
	case *extast.Table:
		w.flush()
		w.tableBlock(n, at)
	}
}

// headings holds the styles of headings by level.
var headings = [...]textStyle{1: {voice, bold}, {voice, bold}, {role: strong}, {dim, bold}, {dim, bold}, {dim, bold}}

// heading writes a heading, with signs if the theme does not show it. That of the first level has
// a rule below.
func (w *writer) heading(n *ast.Heading) {
	p, mark := headings[n.Level], ""
	if !w.styles.shows(p) {
		mark = strings.Repeat("#", n.Level) + " "
	}
	w.wrapRuns(append([]styledRun{{mark, p}}, w.inlines(n, p)...))
	if n.Level == 1 && mark == "" {
		w.emit(w.styles.apply(textStyle{role: voiceDim}, strings.Repeat("─", w.textWidth())))
		w.ruled = true
	}
}

// list writes the items of a list, numbered from the number of the first item.
func (w *writer) list(l *ast.List, at blockContext) {
	number, tight := l.Start, !at.loose && !loose(l, true)
	if at.number >= 0 {
		number = at.number
	}
	for c := l.FirstChild(); c != nil; c = c.NextSibling() {
		if c != l.FirstChild() && !tight {
			w.blankLine()
		}
		mark := "•"
		if l.IsOrdered() {
			mark = strconv.Itoa(number) + string(l.Marker)
			number++
		}
		sign := styledRun{mark, textStyle{role: voiceDim}}
		if box := taskBox(c); box != nil && !l.IsOrdered() {
			sign = taskSign(box)
		}
		cells := textwrap.Width(sign.text) + 1
		w.indented([]styledRun{sign, {" ", textStyle{}}}, strings.Repeat(" ", cells), cells, func() { w.blocks(c, tight) })
	}
}

// taskBox returns the box that the text of an item begins with; nil for none.
func taskBox(item ast.Node) *extast.TaskCheckBox {
	if text := item.FirstChild(); text != nil {
		box, _ := text.FirstChild().(*extast.TaskCheckBox)
		return box
	}
	return nil
}

func (w *writer) fenced(n *ast.FencedCodeBlock) {
	c := Code{Lang: language(w.src, n), Text: w.values(n.Lines()), Line: len(w.lines)}
	w.codes = append(w.codes, c)
	if !w.drawing(n, c) {
		w.code(c.Lang, c.Text)
	}
}

// drawing draws a closed code block, if there is a drawing for its language and a screen to copy its source.
func (w *writer) drawing(n *ast.FencedCodeBlock, c Code) bool {
	draw, last := Drawings[c.Lang], n.Lines().Len()-1
	if draw == nil || !w.styles.marksCode || last < 0 {
		return false
	}
	after, _, _ := strings.Cut(w.src[n.Lines().At(last).Stop:], "\n")
	if after = strings.TrimLeft(after, " >\t"); !strings.HasPrefix(after, "```") && !strings.HasPrefix(after, "~~~") {
		return false // it is being written
	}
	lines := draw(sanitize.Text(c.Text), w.textWidth()-codeIndentCells)
	if lines == nil {
		return false
	}
	w.flush()
	w.indented(nil, w.styles.codeIndent(), codeIndentCells, func() {
		for _, line := range lines {
			w.emit(w.styles.breakLine([]styledRun{{line, textStyle{}}}, w.textWidth(), false)[:1]...)
		}
	})
	return true
}

// code writes a code block: the language, and the lines indented by two cells.
func (w *writer) code(lang, body string) {
	w.flush()
	w.indented(nil, w.styles.codeIndent(), codeIndentCells, func() {
		if lang != "" {
			w.emit(w.styles.breakLine([]styledRun{{lang, textStyle{role: dim}}}, w.textWidth(), false)[:1]...)
		}
		s := newScanner(lang)
		end := len(strings.TrimRight(body, " \t\r\n")) // drop blank lines, but not blanks at the end of the last line
		if i := strings.IndexAny(body[end:], "\r\n"); i >= 0 {
			body = body[:end+i]
		}
		for line := range strings.Lines(body) {
			runs := s.line(line)
			if blank(line) {
				runs = nil
			}
			w.emit(w.styles.breakLine(runs, w.textWidth(), w.styles.marksFolds(line, w.textWidth()))...)
		}
	})
}

// html writes a block of HTML as text.
func (w *writer) html(n *ast.HTMLBlock) {
	w.flush()
	body := w.values(n.Lines())
	if n.HasClosure() {
		body += w.value(n.ClosureLine)
	}
	for line := range strings.Lines(strings.TrimRight(body, " \t\r\n")) {
		w.emit(w.styles.breakLine([]styledRun{{printable(line), textStyle{role: dim}}}, w.textWidth(), false)...)
	}
}
