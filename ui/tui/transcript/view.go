package transcript

import (
	"strconv"
	"strings"
)

// Widths below which the margins are given up.
const (
	leastGutter = 8
	leastEdge   = 20
)

// gutter returns the left margin: a sign, and the bar of browsing.
func (m *Model) gutter() int {
	if m.width < leastGutter {
		return 0
	}
	return 2
}

// edge returns the right margin, where the scroll mark stands.
func (m *Model) edge() int {
	if m.width < leastEdge {
		return 0
	}
	return 1
}

func (m *Model) page(it *item) page {
	p := page{
		theme: m.theme, ink: m.ink,
		width: max(1, m.width-m.gutter()-m.edge()),
		open:  m.open(it),
	}
	if !m.still {
		p.now = m.now
	}
	return p
}

// View returns what is in sight: as many lines as the height, none wider than the
// width. It costs nothing while nothing changes.
func (m *Model) View() string {
	if m.details != nil {
		m.details.refresh()
		return m.details.Model.View()
	}
	if !m.dirty {
		return m.view
	}
	m.dirty = false
	m.buf = m.buf[:0]
	if m.height > 0 && m.width > 0 {
		m.settle()
		m.measure()
		m.compose()
	}
	m.view = string(m.buf)
	m.evict()
	return m.view
}

// compose writes the rows in sight to buf.
func (m *Model) compose() {
	if len(m.items) == 0 {
		m.buf = append(m.buf, strings.Repeat("\n", m.height-1)...)
		return
	}
	m.recount()
	if m.follow {
		m.top = m.up(m.end(), m.window())
	}
	mark, window := m.markRow(), m.window()
	rows := window
	if m.news > 0 && !m.follow {
		rows--
	}
	at := m.top
	lines := m.lay(m.items[at.item])
	for row := range rows {
		for at.line >= len(lines) && at.item < len(m.items)-1 {
			at = m.first(at.item + 1)
			lines = m.lay(m.items[at.item])
		}
		start := len(m.buf)
		if at.line < len(lines) {
			m.row(at, lines)
			at.line++
		}
		if row == mark {
			m.pad(start)
			m.buf = append(m.buf, m.ink.write(faint, "┃")...)
		}
		if row < window-1 {
			m.buf = append(m.buf, '\n')
		}
	}
	if rows < window {
		m.buf = append(m.buf, m.ink.write(accent, clip(m.arrived(), m.width))...)
	}
	if window < m.height {
		m.buf = append(m.buf, '\n')
		m.searchRow()
	}
}

// row writes one row. Most lines fit; those that cannot, such as a wide
// character in a single column, are cut.
func (m *Model) row(at pos, lines []string) {
	if at.line < 0 {
		return
	}
	it, line := m.items[at.item], fit(lines[at.line], m.width-m.gutter()-m.edge())
	sign, bar := " ", " "
	if at.line == 0 && it.sign != "" {
		sign = it.sign
	}
	switch low, high := m.selected(); {
	case m.browsing && at.item >= low && at.item <= high && m.anchor >= 0:
		bar = m.ink.write(accent, "▌")
	case m.browsing && at.item == m.cursor:
		bar = m.ink.write(accent, "▎")
	}
	if m.gutter() > 0 && (line != "" || len(sign) > 1 || len(bar) > 1) {
		m.buf = append(m.buf, sign...)
		m.buf = append(m.buf, bar...)
	}
	if from, to := m.marked(it, at.line, lines[at.line]); from < to {
		m.highlight(line, []match{{at.line, from, to, 0}}, -1)
		return
	}
	if m.search.on {
		m.highlight(line, onLine(m.spans(it), at.line), m.chosen(at.item))
		return
	}
	m.buf = append(m.buf, line...)
}

// window returns how many rows there are for blocks.
func (m *Model) window() int {
	if m.search.on && m.height > 1 {
		return m.height - 1
	}
	return m.height
}

// pad fills the row that begins at start of buf up to the edge.
func (m *Model) pad(start int) {
	for n := cells(string(m.buf[start:])); n < m.width-1; n++ {
		m.buf = append(m.buf, ' ')
	}
}

// arrived returns how much has come below.
func (m *Model) arrived() string {
	words := " new lines ↓"
	if m.news == 1 {
		words = " new line ↓"
	}
	return strings.Repeat(" ", m.gutter()) + strconv.Itoa(m.news) + words
}

// markRow returns the row of the scroll mark; -1 for none. It goes by items, so that
// nothing has to be laid out to find it.
func (m *Model) markRow() int {
	if m.follow || m.mouse.held && m.mouse.followed || m.edge() == 0 {
		return -1
	}
	it := m.items[m.top.item]
	part := float64(max(0, m.top.line)) / float64(max(1, len(it.lines)))
	whole := (float64(m.top.item) + part) / float64(len(m.items))
	return int(whole * float64(m.window()-1))
}

// keepLaid sets the weight of the items around those in sight whose lines are kept,
// once all that have some weigh four times that.
const keepLaid = 128

// evict lets the lines of items far from sight go. How many there were is known
// on.
func (m *Model) evict() {
	if m.laid < 4*keepLaid || m.top.item >= len(m.items) {
		return
	}
	m.laid = m.items[m.top.item].weight()
	for _, direction := range []int{-1, 1} {
		near := 0 // weight of those nearer
		for i := m.top.item + direction; i >= 0 && i < len(m.items); i += direction {
			it := m.items[i]
			weight := it.weight()
			if weight > 0 && near > max(keepLaid, m.height) && it.settled() {
				peak := it.peak
				it.forget()
				it.peak, weight = peak, 0
			}
			near += weight
			m.laid += weight
		}
	}
}
