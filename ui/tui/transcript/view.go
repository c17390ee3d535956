package transcript

import (
	"strconv"
	"strings"

	"parley/ui/textwrap"
)

// Widths below which there are no margins.
const (
	minGutterWidth = 8
	minEdgeWidth   = 20
)

// gutterWidth returns the width of the left margin: a sign, and the bar of browsing.
func (m *viewport) gutterWidth() int {
	if m.width < minGutterWidth {
		return 0
	}
	return 2
}

// edgeWidth returns the width of the right margin, for the scroll mark.
func (m *viewport) edgeWidth() int {
	if m.width < minEdgeWidth {
		return 0
	}
	return 1
}

func (m *viewport) renderContext(it *item) renderContext {
	p := renderContext{
		theme: m.theme, styler: m.styler,
		width: max(1, m.width-m.gutterWidth()-m.edgeWidth()),
		open:  m.isOpen(it),
	}
	if !m.reducedMotion {
		p.now = m.now
	}
	return p
}

// View returns the visible rows: as many lines as the height, none wider than the width. If
// nothing changed, it returns the same string.
func (m *Model) View() string {
	if m.details != nil {
		m.details.refresh()
		return m.details.model.View()
	}
	if !m.window.dirty {
		return m.view
	}
	m.window.dirty = false
	m.buf = m.buf[:0]
	if m.window.height > 0 && m.window.width > 0 {
		m.window.clampTop()
		m.window.renderPending()
		m.composeRows()
	}
	m.view = string(m.buf)
	m.window.evict()
	return m.view
}

// composeRows writes the visible rows to buf.
func (m *Model) composeRows() {
	if len(m.Blocks.items) == 0 {
		m.buf = append(m.buf, strings.Repeat("\n", m.window.height-1)...)
		return
	}
	m.search.recount()
	if m.window.follow {
		m.window.top = m.window.lastWindow()
	}
	m.window.rowsBelowTop(m.window.windowRows())
	mark, window := m.scrollMarkRow(), m.window.windowRows()
	rows := window
	if m.window.newLines > 0 && !m.window.follow {
		rows--
	}
	at := m.window.top
	lines := m.window.linesOf(m.Blocks.items[at.item])
	for row := range rows {
		for at.line >= len(lines) && at.item < len(m.Blocks.items)-1 {
			at = m.window.firstRow(at.item + 1)
			lines = m.window.linesOf(m.Blocks.items[at.item])
		}
		start := len(m.buf)
		if at.line < len(lines) {
			m.writeRow(at, lines)
			at.line++
		}
		if row == mark {
			m.padRow(start)
			m.buf = append(m.buf, m.window.styler.apply(roleFaint, "┃")...)
		}
		if row < window-1 {
			m.buf = append(m.buf, '\n')
		}
	}
	if rows < window {
		m.buf = append(m.buf, m.window.styler.apply(roleAccent, textwrap.Truncate(m.window.newLinesLabel(), m.window.width))...)
	}
	if window < m.window.height {
		m.buf = append(m.buf, '\n')
		m.writeSearchRow()
	}
}

// writeRow writes one row. It truncates lines that do not fit, such as a wide character in
// one column.
func (m *Model) writeRow(at rowPos, lines []string) {
	if at.line < 0 {
		return
	}
	it, line := m.Blocks.items[at.item], textwrap.TruncateStyled(lines[at.line], m.window.width-m.window.gutterWidth()-m.window.edgeWidth())
	sign, bar := " ", " "
	if (at.line == 0 || it.kind == kindUser) && it.sign != "" {
		sign = it.sign
	}
	if it.kind == kindUser {
		bar = m.window.styler.band.Apply(bar)
	}
	switch low, high := m.browser.selectedItems(); {
	case m.browser.browsing && at.item >= low && at.item <= high && m.browser.anchor >= 0:
		bar = m.window.styler.apply(roleAccent, "▌")
	case m.browser.browsing && at.item == m.browser.cursor:
		bar = m.window.styler.apply(roleAccent, "▎")
	}
	if m.window.gutterWidth() > 0 && (line != "" || len(sign) > 1 || len(bar) > 1) {
		m.buf = append(m.buf, sign...)
		m.buf = append(m.buf, bar...)
	}
	if from, to := m.mouse.selectedBytes(it, at.line, lines[at.line]); from < to {
		m.writeHighlighted(line, []searchSpan{{at.line, from, to, 0}}, -1)
		return
	}
	if m.window.searching {
		m.writeHighlighted(line, spansOnLine(m.search.spansOf(it), at.line), m.search.chosenMatch(at.item))
		return
	}
	m.buf = append(m.buf, line...)
}

// windowRows returns the number of rows available for blocks.
func (m *viewport) windowRows() int {
	if m.searching && m.height > 1 {
		return m.height - 1
	}
	return m.height
}

// padRow pads the row that begins at start of buf to the edge.
func (m *Model) padRow(start int) {
	for n := textwrap.Width(string(m.buf[start:])); n < m.window.width-1; n++ {
		m.buf = append(m.buf, ' ')
	}
}

// newLinesLabel returns the label with the number of new lines below.
func (m *viewport) newLinesLabel() string {
	words := " new lines ↓"
	if m.newLines == 1 {
		words = " new line ↓"
	}
	return strings.Repeat(" ", m.gutterWidth()) + strconv.Itoa(m.newLines) + words
}

// scrollMarkRow returns the row of the scroll mark, -1 for none. It computes the row from
// items, so that nothing has to be rendered.
func (m *Model) scrollMarkRow() int {
	if m.window.follow || m.mouse.pressed && m.mouse.followed || m.window.edgeWidth() == 0 {
		return -1
	}
	it := m.Blocks.items[m.window.top.item]
	part := float64(max(0, m.window.top.line)) / float64(max(1, len(it.lines)))
	left, before, all := m.window.older.blocks(), m.window.top.item, len(m.Blocks.items)
	if m.window.head > 0 {
		left-- // the gap is an item
	}
	if m.window.gap() < before {
		before += left
	}
	whole := (float64(before) + part) / float64(left+all)
	return int(whole * float64(m.window.windowRows()-1))
}

// minCachedCost is the cost of the cached items on either side of the visible ones. Items are
// evicted once the total is four times that.
const minCachedCost = 128

// evict drops the lines of items far off the screen, but keeps their counts.
func (m *viewport) evict() {
	if m.cachedCost < 4*minCachedCost || m.top.item >= len(m.list.items) {
		return
	}
	m.cachedCost = m.list.items[m.top.item].cost()
	for _, direction := range []int{-1, 1} {
		near := 0 // weight of the items nearer to the window
		for i := m.top.item + direction; i >= 0 && i < len(m.list.items); i += direction {
			it := m.list.items[i]
			weight := it.cost()
			if weight > 0 && near > max(minCachedCost, m.height) && it.isDone() {
				peak := it.maxLines
				it.dropLines()
				it.maxLines, weight = peak, 0
			}
			near += weight
			m.cachedCost += weight
		}
	}
}
