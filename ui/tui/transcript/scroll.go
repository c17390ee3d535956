package transcript

import (
	"math"
	"strings"
	"unicode"

	"parley/ui/textwrap"
)

// A rowPos is a row: a line of an item, or line -1 for the blank row before the item. The
// first item and items without lines have no blank row.
type rowPos struct{ item, line int }

// linesOf returns the lines of an item, rendering them if they are not up to date.
func (m *viewport) linesOf(it *item) []string {
	if it.state == stateRendered {
		return it.lines
	}
	var sign string
	var lines []string
	if !m.isHidden(it) {
		sign, lines = it.block.render(m.renderContext(it))
	}
	if it.state == stateChanged && m.keepsOldLines(it, lines) {
		it.state, it.keepsLines = stateRendered, true
		return it.lines
	}
	if it.state == stateChanged && !m.follow && it.seq >= m.seenSeq {
		m.newLines += max(0, len(lines)-it.maxLines)
	} else {
		it.maxLines = 0
	}
	it.maxLines = max(it.maxLines, len(lines))
	m.cachedCost -= it.cost()
	it.sign, it.lines, it.state, it.spansValid = sign, lines, stateRendered, false
	m.cachedCost += it.cost()
	return lines
}

// keepsOldLines reports whether an item keeps its old lines until the user scrolls, because
// the top row is one of them and would change: the visible end of a running command or of
// thinking moves on, or output is replaced. Answers only grow, and the first line is a title.
func (m *viewport) keepsOldLines(it *item, lines []string) bool {
	at := m.top.line
	if m.losesLines(it, lines) {
		return true
	}
	if m.follow || at <= 0 || m.list.items[m.top.item] != it || it.kind == kindAnswer || at >= len(it.lines) {
		return false
	}
	return at >= len(lines) || lines[at] != it.lines[at]
}

// firstRow returns the first row of item i: its blank row if it has one, else line 0.
func (m *viewport) firstRow(i int) rowPos {
	if i > 0 && len(m.linesOf(m.list.items[i])) > 0 && !m.isJoined(i) {
		return rowPos{i, -1}
	}
	return rowPos{i, 0}
}

// endRow returns the row after the last one.
func (m *viewport) endRow() rowPos {
	i := len(m.list.items) - 1
	return rowPos{i, len(m.linesOf(m.list.items[i]))}
}

// rowsUp returns the row n rows above p, or the first row.
func (m *viewport) rowsUp(p rowPos, n int) rowPos {
	for {
		first := m.firstRow(p.item)
		rows := p.line - first.line
		if n <= rows {
			return rowPos{p.item, p.line - n}
		}
		if p.item == 0 {
			return first
		}
		n -= rows
		p = rowPos{p.item - 1, len(m.linesOf(m.list.items[p.item-1]))}
	}
}

// rowsDown returns the row n rows below p. If there are fewer rows, it returns the end and
// false.
func (m *viewport) rowsDown(p rowPos, n int) (rowPos, bool) {
	for {
		rows := len(m.linesOf(m.list.items[p.item])) - p.line
		if n < rows {
			return rowPos{p.item, p.line + n}, true
		}
		n -= rows
		if p.item == len(m.list.items)-1 {
			return m.endRow(), false
		}
		p = m.firstRow(p.item + 1)
	}
}

// before reports whether row p is above row q.
func (p rowPos) before(q rowPos) bool {
	return p.item < q.item || p.item == q.item && p.line < q.line
}

// clampTop moves top to an existing row.
func (m *viewport) clampTop() {
	if len(m.list.items) == 0 {
		m.follow = true
	}
	if m.follow {
		return
	}
	m.top.item = min(m.top.item, len(m.list.items)-1)
	lines := m.linesOf(m.list.items[m.top.item])
	if m.bookmark.ok && m.bookmark.moved {
		m.top.line = m.bookmark.lineIn(lines)
		m.bookmark.moved = false
	}
	for len(lines) == 0 && m.top.item < len(m.list.items)-1 {
		m.top = m.firstRow(m.top.item + 1)
		lines = m.linesOf(m.list.items[m.top.item])
	}
	if len(lines) == 0 { // no item from here on has lines
		m.top = m.lastWindow()
		lines = m.linesOf(m.list.items[m.top.item])
	}
	m.top.line = max(m.firstRow(m.top.item).line, min(m.top.line, len(lines)-1))
}

// fixTop sets top to an existing row, even if the window follows new blocks, before
// scrolling from it. It reports whether there are any rows.
func (m *viewport) fixTop() bool {
	if len(m.list.items) == 0 || m.windowRows() <= 0 {
		return false
	}
	if m.follow {
		m.top = m.lastWindow()
		return true
	}
	if it := m.list.items[min(m.top.item, len(m.list.items)-1)]; it.keepsLines {
		it.state, it.keepsLines = stateStale, false
	}
	m.clampTop()
	return true
}

// finishMove completes a change of top: it decides whether the window follows new blocks.
func (m *viewport) finishMove() {
	bottom, inside := m.rowsBelowTop(m.windowRows())
	if !inside {
		m.top = m.lastWindow()
		bottom = m.endRow()
	}
	if !inside && !m.pinned() {
		m.Bottom()
		return
	}
	if m.follow {
		m.follow, m.seenSeq = false, m.list.items[len(m.list.items)-1].seq
	}
	m.renderPending()
	m.newLines = m.linesBelow(bottom, m.newLines)
	m.bookmark, m.dirty = bookmark{}, true
}

// linesBelow returns the number of lines from row p on, at most limit.
func (m *viewport) linesBelow(p rowPos, limit int) int {
	if limit == 0 {
		return 0
	}
	n := len(m.linesOf(m.list.items[p.item])) - max(p.line, 0)
	for i := p.item + 1; i < len(m.list.items) && n < limit; i++ {
		n += rowCount(m, m.list.items[i])
	}
	return min(n, limit)
}

// Scroll scrolls by lines: down, or up if negative.
func (m *viewport) Scroll(lines int) {
	if !m.fixTop() {
		return
	}
	if lines < 0 {
		m.top = m.rowsAboveTop(-lines)
	} else if p, ok := m.rowsBelowTop(lines); ok {
		m.top = p
	} else {
		m.top = m.rowsUp(p, 1)
	}
	m.finishMove()
}

// Page scrolls by n windows or parts of one: down, or up if negative. One row of the
// previous window stays visible.
func (m *viewport) Page(n float64) {
	rows := max(1, int(math.Abs(n)*float64(m.windowRows()-1)+0.5))
	if n < 0 {
		rows = -rows
	}
	m.Scroll(rows)
}

// Top goes to the beginning.
func (m *viewport) Top() {
	m.jumpTo(rowPos{})
}

// jumpTo scrolls row p to the top.
func (m *viewport) jumpTo(p rowPos) {
	if m.fixTop() {
		m.top = p
		m.finishMove()
	}
}

// Bottom scrolls to the end and follows new blocks.
func (m *viewport) Bottom() {
	m.follow, m.bookmark, m.dirty, m.newLines = true, bookmark{}, true, 0
	for _, it := range m.pending {
		it.isPending = false
	}
	m.pending = m.pending[:0]
}

// renderPending renders changed items to count their new lines.
func (m *viewport) renderPending() {
	for _, it := range m.pending {
		it.isPending = false
		m.linesOf(it)
	}
	m.pending = m.pending[:0]
}

// PrevUser goes to the user's message before the top row.
func (m *viewport) PrevUser() {
	if !m.fixTop() {
		return
	}
	for i, ok := m.top.item, true; ok; i, ok = m.step(i, -1) {
		if p := (rowPos{i, 0}); m.list.items[i].kind == kindUser && p.before(m.top) {
			m.jumpTo(p)
			return
		}
	}
	m.Top()
}

// NextUser goes to the user's message after the top row, or to the end.
func (m *viewport) NextUser() {
	if !m.fixTop() {
		return
	}
	for i, ok := m.top.item, true; ok; i, ok = m.step(i, 1) {
		if p := (rowPos{i, 0}); m.list.items[i].kind == kindUser && m.top.before(p) {
			m.jumpTo(p)
			return
		}
	}
	m.Bottom()
}

// A bookmark is a position in an item that does not depend on the width: the number of
// letters before it. It survives changes of the width until the user scrolls.
type bookmark struct {
	ok, moved  bool
	letters    int // number in the lines before
	blanks     int // lines without letters from here to the next line with letters
	onBlankRow bool
}

// saveBookmark saves the position of the top row, before the width changes.
func (m *viewport) saveBookmark() {
	if m.follow || len(m.list.items) == 0 {
		return
	}
	m.bookmark.moved = true
	if it := m.list.items[m.top.item]; !m.bookmark.ok {
		m.bookmark = bookmarkAt(it.lines, m.top.line)
	}
}

func bookmarkAt(lines []string, at int) bookmark {
	p := bookmark{ok: len(lines) > 0, moved: true, onBlankRow: at < 0}
	for i, line := range lines {
		n := countLetters(line)
		switch {
		case i < at:
			p.letters += n
		case n > 0:
			return p
		default:
			p.blanks++
		}
	}
	return p
}

// lineIn returns the index of the bookmarked line in lines.
func (p bookmark) lineIn(lines []string) int {
	if p.onBlankRow {
		return -1
	}
	left, blanks := p.letters, 0
	for i, line := range lines {
		n := countLetters(line)
		if n > left {
			return i - min(blanks, p.blanks)
		}
		left -= n
		blanks++
		if n > 0 {
			blanks = 0
		}
	}
	return max(0, len(lines)-max(1, p.blanks))
}

// countLetters returns the number of letters and digits. Wrapping, borders and rules do not
// change it.
func countLetters(line string) int {
	n := 0
	for {
		i := strings.IndexByte(line, '\x1b')
		part := line
		if i >= 0 {
			part = line[:i]
		}
		for _, r := range part {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				n++
			}
		}
		if i < 0 {
			return n
		}
		line = line[i+textwrap.SequenceLen(line[i:]):]
	}
}
