package markdown

import (
	"slices"
	"strings"

	extast "github.com/yuin/goldmark/extension/ast"
)

// A table has two cells between columns and a thin rule below the header. If
// not even narrow columns fit, each row becomes a list of its cells.
const (
	columnGap = 2
	narrow    = 4 // minimum width of a useful column, in cells
)

type grid struct {
	align []extast.Alignment
	rows  [][][]styledRun // row, column, runs; the first row is the header
}

func (w *writer) tableBlock(n *extast.Table, at blockContext) {
	w.table = true
	g := grid{align: n.Alignments}
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		p := textStyle{}
		if r.Kind() == extast.KindTableHeader {
			p = textStyle{role: strong}
		}
		row := make([][]styledRun, 0, len(g.align))
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			row = append(row, w.inlines(c, p))
		}
		for len(row) > len(g.align) && len(row[len(row)-1]) == 0 {
			row = row[:len(row)-1]
		}
		g.rows = append(g.rows, row)
		g.widen(len(row))
	}
	g.widen(len(at.want))
	w.table = false
	if len(g.align) == 0 {
		return
	}
	w.columns = g.wantedWidths(at.want)
	if widths := g.columnWidths(max(w.textWidth(), w.styles.tableWidth-w.inset), w.columns); widths != nil {
		w.grid(g, widths, at.header != "")
		return
	}
	w.records(g, at.header != "")
}

// widen adds columns without a header up to n.
func (g *grid) widen(n int) {
	for len(g.align) < n {
		g.align = append(g.align, extast.AlignNone)
	}
}

// wantedWidths returns the widths, in cells, with which no column wraps; each is at least the one
// in least.
func (g grid) wantedWidths(least []int) []int {
	want := make([]int, len(g.align))
	copy(want, least)
	for _, row := range g.rows {
		for i, cell := range row {
			want[i] = max(want[i], width(cell))
		}
	}
	return want
}

// columnWidths returns the width of each column within the given total, or nil if the
// columns do not fit. Columns that want less than their share leave the rest to the others.
func (g grid) columnWidths(total int, want []int) []int {
	total -= columnGap * (len(g.align) - 1)
	if total < len(g.align) {
		return nil
	}
	widths := make([]int, len(want))
	for left, open := total, len(want); open > 0; {
		share, settled := left/open, 0
		for i, n := range want {
			if widths[i] == 0 && n <= share {
				widths[i] = max(n, 1)
				left -= widths[i]
				settled++
			}
		}
		open -= settled
		if settled > 0 {
			continue
		}
		if share < narrow {
			return nil
		}
		for i := range widths { // the others get equal shares, and the first ones the remainder
			if widths[i] == 0 {
				widths[i] = (left + open - 1) / open
				left -= widths[i]
				open--
			}
		}
	}
	return widths
}

// grid writes a table whose columns fit. It omits the header if continued is set.
func (w *writer) grid(g grid, widths []int, continued bool) {
	for i, row := range g.rows {
		if i == 0 && continued {
			continue
		}
		w.row(g, row, widths)
		if i > 0 {
			continue
		}
		var b strings.Builder
		for c, n := range widths {
			if c > 0 {
				b.WriteString(strings.Repeat(" ", columnGap))
			}
			b.WriteString(strings.Repeat("─", n))
		}
		w.emit(w.styles.apply(textStyle{role: faint}, b.String()))
	}
}

func (w *writer) row(g grid, row [][]styledRun, widths []int) {
	cells, taken := make([][]string, len(row)), make([][]int, len(row))
	height := 1
	for i, runs := range row {
		cells[i], taken[i] = w.styles.wrapMeasured(runs, widths[i])
		height = max(height, len(cells[i]))
	}
	var b strings.Builder
	for y := range height {
		b.Reset()
		pad := 0
		for i, lines := range cells {
			if i > 0 {
				pad += columnGap
			}
			if y >= len(lines) {
				pad += widths[i]
				continue
			}
			free := widths[i] - taken[i][y]
			left := 0
			switch g.align[i] {
			case extast.AlignRight:
				left = free
			case extast.AlignCenter:
				left = free / 2
			}
			b.WriteString(strings.Repeat(" ", pad+left))
			b.WriteString(lines[y])
			pad = free - left
		}
		w.emit(b.String())
	}
}

// records writes a table whose columns do not fit as a list of cells, each
// after the name of its column.
func (w *writer) records(g grid, continued bool) {
	if len(g.rows) == 1 && !continued {
		for _, name := range g.rows[0] {
			w.wrapRuns(name)
		}
	}
	for i, row := range g.rows[1:] {
		if i > 0 || continued {
			w.blankLine()
		}
		for c := range max(len(row), len(g.rows[0])) {
			var line []styledRun
			if c < len(g.rows[0]) {
				line = append(slices.Clone(g.rows[0][c]), styledRun{":", textStyle{role: strong}}, styledRun{" ", textStyle{}})
			}
			if c < len(row) {
				line = append(line, row[c]...)
			}
			w.wrapRuns(line)
		}
	}
}
