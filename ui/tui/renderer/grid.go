package renderer

import (
	"strconv"
	"strings"
)

// A row is one line of the screen.
type row struct {
	text     string // line of the frame
	from, to uint16 // numbers of the styles at its start and end
	cells    []cell
	end      int  // cells from here on are blank
	known    bool // the terminal shows this row
}

// A grid mirrors the content of the terminal and writes the sequences that change it. It never
// queries the terminal: each write updates both.
type grid struct {
	styles          styleTable
	clusters        bool // the terminal's grapheme clusters match ours
	w, h            int
	rows            []row
	spare           row            // row being read
	lines           []string       // lines of the frame being drawn
	at              map[string]int // row numbers by text, for scroll
	votes           []int          // by distance, for findMove
	x, y            int            // position of the cursor; -1 if unknown
	style           uint16         // number of the terminal's current style
	positionUnknown bool           // style and scrolling region of the terminal are unknown too
	out             []byte
	pictures        map[uint32]Picture
	pieces          []piece // to draw after the cells of a row
}

// forget marks everything as unknown, for a screen of w by h cells.
func (g *grid) forget(w, h int) {
	if g.w != w || g.h != h {
		g.w, g.h = w, h
		g.at = map[string]int{}
		cells := make([]cell, w*(h+1))
		g.rows = make([]row, h)
		for i := range g.rows {
			g.rows[i].cells = cells[i*w : (i+1)*w : (i+1)*w]
		}
		g.spare.cells = cells[h*w:]
	}
	for i := range g.rows {
		g.rows[i].known = false
	}
	g.x, g.y = -1, -1
	g.styles.forget()
	g.style, g.positionUnknown = 0, true
}

// draw appends to out the sequences that make the terminal show content, one line per row.
func (g *grid) draw(content string) {
	if g.styles.full() {
		g.forget(g.w, g.h)
	}
	if g.positionUnknown {
		g.out = append(g.out, "\x1b[m\x1b[r"...)
		g.positionUnknown = false
	}
	g.split(content)
	g.scroll()
	from := uint16(0)
	for y, line := range g.lines {
		r := &g.rows[y]
		if !r.known || r.text != line || r.from != from {
			g.styles.read(&g.spare, line, from)
			g.row(y)
			g.drawPieces(y)
			*r, g.spare = g.spare, *r
		}
		r.text = line // releases the memory of the previous frame
		from = r.to
	}
	g.setStyle(0)
}

// split sets lines to one line of content for each row.
func (g *grid) split(content string) {
	g.lines = g.lines[:0]
	for range g.h {
		line, rest, _ := strings.Cut(content, "\n")
		g.lines = append(g.lines, line)
		content = rest
	}
}

// row writes the changes that turn row y into spare.
func (g *grid) row(y int) {
	was, is := &g.rows[y], &g.spare
	if !was.known {
		g.span(y, 0, is.end)
		g.erase(y, is.end, g.w)
		return
	}
	limit := max(was.end, is.end)
	first := 0
	for first < limit && was.cells[first] == is.cells[first] {
		first++
	}
	if first == limit {
		return
	}
	last := limit
	for was.cells[last-1] == is.cells[last-1] {
		last--
	}
	for x := first; x < last && !g.clusters; x++ {
		if c := is.cells[x]; c.kind&uncertain != 0 && c != was.cells[x] {
			g.changes(y, first, x)
			g.span(y, x, is.end) // over characters that the terminal draws too wide
			g.erase(y, is.end, g.w)
			return
		}
	}
	g.changes(y, first, min(last, is.end))
	if last > is.end {
		g.erase(y, max(is.end, first), last)
	}
}

// changes writes the cells in [x, stop) that differ. It also writes equal cells between them where
// that is shorter than a cursor movement.
func (g *grid) changes(y, x, stop int) {
	const skip = 6 // bytes of a cursor movement
	was, is := g.rows[y].cells, g.spare.cells
	for x < stop {
		begin, end := x, x
		for x < stop && x-end < skip {
			if was[x] != is[x] {
				end = x + 1
			}
			x++
		}
		if end > begin {
			g.span(y, begin, end)
		}
		for x < stop && was[x] == is[x] {
			x++
		}
	}
}

// span writes the cells in [x, stop).
func (g *grid) span(y, x, stop int) {
	cells := g.spare.cells
	for ; x < stop; x++ {
		c := cells[x]
		if c.kind&tail != 0 {
			continue
		}
		g.to(x, y)
		if g.pictures != nil && g.cover(c, x) {
			if g.x++; g.x >= g.w {
				g.x = -1
			}
			continue
		}
		if c.text != ' ' || g.styles.bare[g.style] != c.style {
			g.setStyle(c.style)
		}
		loose := c.kind&uncertain != 0 && !g.clusters
		if loose && c.kind&wide != 0 {
			g.out = append(g.out, "  "...) // it may be drawn too narrow
			g.csi(x+1, 'G')
		}
		g.out = g.styles.appendText(g.out, c.text)
		g.x++
		if c.kind&wide != 0 {
			g.x++
		}
		if g.x >= g.w || loose {
			g.x = -1 // unknown: at the margin, or after a character of uncertain width
		}
	}
}

// erase blanks the cells in [x, stop). The cells after stop must already be blank.
func (g *grid) erase(y, x, stop int) {
	const short = 3 // bytes of the sequence
	if x >= stop {
		return
	}
	g.to(x, y)
	g.setStyle(0)
	if n := stop - x; n <= short && stop < g.w {
		g.out = append(g.out, "   "[:n]...)
		g.x += n
		return
	}
	g.out = append(g.out, "\x1b[K"...)
}

func (g *grid) setStyle(n uint16) {
	if g.style != n {
		g.out = append(g.out, g.styles.turn(g.style, n)...)
		g.style = n
	}
}

// point moves the cursor to its visible position, limited to the screen.
func (g *grid) point(x, y int) {
	g.to(min(max(x, 0), g.w-1), min(max(y, 0), g.h-1))
}

// to moves the cursor with the fewest bytes.
func (g *grid) to(x, y int) {
	switch {
	case x == g.x && y == g.y:
		return
	case y == g.y && x == 0:
		g.out = append(g.out, '\r')
	case y == g.y && g.x >= 0 && x > g.x && x-g.x < 10:
		g.csi(x-g.x, 'C')
	case y == g.y && x < g.x && g.x-x < 4:
		g.out = append(g.out, "\b\b\b"[:g.x-x]...)
	case y == g.y:
		g.csi(x+1, 'G')
	case x == 0 && g.y >= 0 && y == g.y+1:
		g.out = append(g.out, "\r\n"...)
	default:
		g.out = append(g.out, "\x1b["...)
		if x > 0 || y > 0 {
			g.out = strconv.AppendInt(g.out, int64(y+1), 10)
		}
		if x > 0 {
			g.out = append(g.out, ';')
			g.out = strconv.AppendInt(g.out, int64(x+1), 10)
		}
		g.out = append(g.out, 'H')
	}
	g.x, g.y = x, y
}

// csi appends a control sequence with one number, omitted if it is 1, the default.
func (g *grid) csi(n int, final byte) {
	g.out = append(g.out, "\x1b["...)
	if n > 1 {
		g.out = strconv.AppendInt(g.out, int64(n), 10)
	}
	g.out = append(g.out, final)
}
