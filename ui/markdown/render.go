package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"

	"parley/ui/textwrap"
)

// rendered holds what one piece of source became.
type rendered struct {
	lines []string // without trailing blank ones; never nil
	codes []Code   // with lines counted from the first
	wants []string // references that were not found

	columns []int // cells that the columns of a table would like
}

// place describes a list, or a part of a table, where in the document it stands.
type place struct {
	number int    // of a list's first item; below zero, the one it says itself
	loose  bool   // the list is known to be loose
	header string // of the table that the source goes on with; "" for none
	want   []int  // cells that the columns of the parts before would like
}

// render renders a piece of source that begins where a block begins.
func (ps *styleCache) render(src string, width int, refs references, at place) rendered {
	src = at.header + src
	raw := bounded(src)
	sc := &scope{Context: parser.NewContext(), refs: refs}
	p := full
	if len(src) > inlineLimit || strings.Count(src, "](")-strings.Count(src, ")") > maxOpenLinks {
		p = structure
	}
	w := writer{styles: ps, src: src, raw: raw, width: width, at: at, lines: []string{}, inline: p == full}
	w.blocks(parse(p, raw, sc), false)
	for len(w.lines) > 0 && w.lines[len(w.lines)-1] == "" {
		w.lines = w.lines[:len(w.lines)-1]
	}
	return rendered{lines: w.lines, codes: w.codes, wants: sc.wants, columns: w.columns}
}

// A writer walks the tree of a piece of source and writes lines.
type writer struct {
	styles *styleCache
	src    string
	raw    []byte // what was parsed: src, bounded
	width  int
	at     place // for the first block, if it is a list
	inline bool  // the tree has inline nodes
	table  bool  // inside a table

	columns []int // of the last table

	lines  []string
	codes  []Code
	prefix string // begins every line
	inset  int    // cells of prefix
	first  string // begins the next line instead of prefix, if has
	has    bool
	lead   []styledRun // markers there was no room to indent by
}

// fits reports whether text may be inset so far: half the width is left for text,
// however deeply blocks are nested.
func fits(inset, width int) bool { return inset <= width/2 }

// room returns the width left for text.
func (w *writer) room() int { return max(w.width-w.inset, 1) }

// emit writes lines that fit into room.
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
	if w.has {
		w.has = false
		return w.first
	}
	return w.prefix
}

// gap writes a blank line between blocks.
func (w *writer) gap() { w.lines = append(w.lines, strings.TrimRight(w.prefix, " ")) }

// inside calls f with a deeper prefix: mark before the next line, pad before the
// lines that follow, both of the given number of cells.
func (w *writer) inside(mark []styledRun, pad string, cells int, f func()) {
	if !fits(w.inset+cells, w.width) {
		w.lead = append(w.lead, mark...)
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
		w.first, w.has = w.begin()+b.String(), true
	} else if w.has {
		w.first += pad
	}
	w.prefix += pad
	w.inset += cells
	f()
	w.flush()
	if w.has { // nothing was written after the marker
		w.emit("")
	}
	w.prefix, w.inset = outer, w.inset-cells
}

// flush writes markers that found no text to stand before.
func (w *writer) flush() {
	if w.lead != nil {
		w.wrapRuns(nil)
	}
}

// wrapRuns writes wrapped text.
func (w *writer) wrapRuns(runs []styledRun) {
	if w.lead != nil {
		runs = append(w.lead, runs...)
		w.lead = nil
	}
	w.emit(w.styles.wrap(runs, w.room())...)
}

// blocks writes the children of n, with a blank line between them unless they
// are a tight list item's.
func (w *writer) blocks(n ast.Node, tight bool) {
	wrote := false
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c.Kind() == ast.KindLinkReferenceDefinition {
			continue
		}
		before := len(w.lines)
		if wrote && !tight {
			w.gap()
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
	w.at = place{number: -1}
	switch n := n.(type) {
	case *ast.Heading:
		w.wrapRuns(w.inlines(n, textStyle{role: strong}))
	case *ast.Paragraph, *ast.TextBlock:
		w.wrapRuns(w.inlines(n, textStyle{}))
	case *ast.List:
		w.list(n, at)
	case *ast.Blockquote:
		w.flush()
		bar := w.styles.apply(textStyle{role: faint}, "│") + " "
		w.inside(nil, bar, 2, func() { w.blocks(n, false) })
	case *ast.FencedCodeBlock:
		w.fenced(n)
	case *ast.CodeBlock:
		w.code("", w.values(n.Lines()))
	case *ast.ThematicBreak:
		w.flush()
		w.emit(w.styles.apply(textStyle{role: faint}, strings.Repeat("─", w.room())))
	case *ast.HTMLBlock:
		w.html(n)
	case *extast.Table:
		w.flush()
		w.tableBlock(n, at)
	}
}

// list writes the items of a list, numbered from the first one's number.
func (w *writer) list(l *ast.List, at place) {
	number, tight := l.Start, !at.loose && !loose(l, true)
	if at.number >= 0 {
		number = at.number
	}
	for c := l.FirstChild(); c != nil; c = c.NextSibling() {
		if c != l.FirstChild() && !tight {
			w.gap()
		}
		mark := "•"
		if l.IsOrdered() {
			mark = strconv.Itoa(number) + string(l.Marker)
			number++
		}
		cells := textwrap.Width(mark) + 1
		w.inside([]styledRun{{mark, textStyle{role: dim}}, {" ", textStyle{}}}, strings.Repeat(" ", cells), cells, func() { w.blocks(c, tight) })
	}
}

func (w *writer) fenced(n *ast.FencedCodeBlock) {
	c := Code{Lang: language(w.src, n), Text: w.values(n.Lines()), Line: len(w.lines)}
	w.codes = append(w.codes, c)
	w.code(c.Lang, c.Text)
}

// code writes a code block: the language, and the lines indented by two cells.
func (w *writer) code(lang, body string) {
	w.flush()
	w.inside(nil, w.styles.codeIndent(), codeIndentCells, func() {
		if lang != "" {
			w.emit(w.styles.breakLine([]styledRun{{lang, textStyle{role: faint}}}, w.room(), false)[:1]...)
		}
		s := newScanner(lang)
		end := len(strings.TrimRight(body, " \t\r\n")) // blank lines go, blanks behind the last line stay
		if i := strings.IndexAny(body[end:], "\r\n"); i >= 0 {
			body = body[:end+i]
		}
		for line := range strings.Lines(body) {
			runs := s.line(line)
			if blank(line) {
				runs = nil
			}
			w.emit(w.styles.breakLine(runs, w.room(), w.styles.folds(line, w.room()))...)
		}
	})
}

// html writes a block of HTML as the characters it consists of.
func (w *writer) html(n *ast.HTMLBlock) {
	w.flush()
	body := w.values(n.Lines())
	if n.HasClosure() {
		body += w.value(n.ClosureLine)
	}
	for line := range strings.Lines(strings.TrimRight(body, " \t\r\n")) {
		w.emit(w.styles.breakLine([]styledRun{{printable(line), textStyle{role: dim}}}, w.room(), false)...)
	}
}
