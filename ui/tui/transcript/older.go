package transcript

import (
	"maps"
	"math"
	"slices"
)

// An Older loads the blocks that are not loaded yet, in pages. The zero value has none.
type Older struct {
	Load func() bool // adds the last of these blocks with Prepend, and reports whether there were any
	Next func() bool // adds the first of them with Extend; false if it cannot
	Left func() int  // the approximate number of them, once a page is ready to be added
}

// SetOlder sets how the blocks before the first one are loaded. Clear resets it.
func SetOlder(m *Model, o Older) {
	m.window.older = o
	if m.window.fixTop() {
		m.window.dirty = true
	}
}

// blocks returns the approximate number of blocks that are not loaded.
func (o Older) blocks() int {
	if o.Load == nil {
		return 0
	}
	return o.Left()
}

// gap returns the index of the item in place of the blocks that are not loaded: -1 if they are those before the first item.
func (m *viewport) gap() int {
	if m.head == 0 {
		return -1
	}
	return m.head
}

// loadOlder loads one more page before the blocks at the end, and reports whether there was one.
func (m *viewport) loadOlder() bool {
	if m.older.Load == nil {
		return false
	}
	ok := m.older.Load()
	if !ok {
		m.older = Older{}
	}
	return ok
}

// loadNext loads one more page after the blocks at the beginning, if it can, or before those at the end. It reports whether
// there was one.
func (m *viewport) loadNext() bool {
	return m.older.Next != nil && m.older.Next() || m.loadOlder()
}

// loadFirst loads the first blocks.
func (m *viewport) loadFirst() {
	for m.head == 0 && m.loadNext() {
	}
}

// rowsAboveTop returns the row n rows above the top, or the first row of all.
func (m *viewport) rowsAboveTop(n int) rowPos { return m.rowsAbove(func() rowPos { return m.top }, n) }

// lastWindow returns the first row of the window that ends with the last one.
func (m *viewport) lastWindow() rowPos { return m.rowsAbove(m.endRow, max(m.windowRows(), 1)) }

// rowsAbove returns the row n rows above a row, or the first row of all. It loads the blocks between.
func (m *viewport) rowsAbove(from func() rowPos, n int) rowPos {
	for {
		p := m.rowsUp(from(), n)
		if from().item <= m.gap() || m.firstRow(m.gap()+1).before(p) || !m.loadOlder() {
			return p
		}
	}
}

// rowsBelowTop returns the row n rows below the top, as rowsDown. It loads the blocks between.
func (m *viewport) rowsBelowTop(n int) (rowPos, bool) {
	for {
		p, ok := m.rowsDown(m.top, n)
		if m.gap() < m.top.item || p.item < m.gap() || !m.loadNext() {
			return p, ok
		}
	}
}

// step returns the index of the item before (-1) or after (1) item i, and whether there is one. It loads the blocks between.
func (m *viewport) step(i, direction int) (int, bool) {
	had, to := len(m.list.items), i+direction
	if direction < 0 && to == m.gap() && m.loadOlder() {
		to += len(m.list.items) - had
	}
	for direction > 0 && to == m.gap() && m.loadNext() {
	}
	return to, to >= 0 && to < len(m.list.items)
}

// loadAllOlder loads all blocks.
func (m *viewport) loadAllOlder() {
	for m.loadOlder() {
	}
}

// NewPage returns an empty transcript whose blocks Prepend or Extend will add to m. Add nothing to m
// before that.
func NewPage(m *Model) *Model {
	page := New(m.window.theme)
	page.Blocks.lastID = m.Blocks.lastID
	return page
}

// Prepend adds the blocks of a page before the first one, or after the gap. The visible rows, the cursor and
// the selection stay the same.
func Prepend(m, page *Model) {
	at, seq := m.window.gap()+1, m.Blocks.nextSeq
	if len(m.Blocks.items) > 0 {
		seq = m.Blocks.items[at].seq
	}
	insert(m, page, at, seq-len(page.Blocks.items))
}

// Extend adds the blocks of a page before all others, and after those that it added before. A gap is left after them.
func Extend(m, page *Model) {
	at, n := m.window.head, len(page.Blocks.items)
	if n > 0 && at == 0 {
		page.Blocks.AddNote("The messages in between are loaded when you scroll to them")
	}
	m.window.head += n
	insert(m, page, at, math.MinInt+at)
	if n > 0 && at == 0 {
		m.Blocks.items[n].seq = math.MinInt / 2
	}
}

// insert adds the blocks of a page before item at, numbered from seq. It removes the gap once nothing is left to load.
func insert(m, page *Model, at, seq int) {
	for i, it := range page.Blocks.items {
		it.seq = seq + i
		if m.window.searching {
			it.matchCount, it.countStale = 0, true
			m.search.changed = append(m.search.changed, it)
		}
	}
	maps.Copy(m.Blocks.byID, page.Blocks.byID)
	m.Blocks.lastID = page.Blocks.lastID
	m.Blocks.items = slices.Insert(m.Blocks.items, at, page.Blocks.items...)
	m.shift(at, len(page.Blocks.items))
	if m.window.head > 0 && m.window.older.Left() == 0 {
		m.Blocks.items = slices.Delete(m.Blocks.items, m.window.head, m.window.head+1)
		m.shift(m.window.head+1, -1)
		m.window.head = 0
	}
	m.window.dirty = true
}

// shift moves the positions from item at on by n items.
func (m *Model) shift(at, n int) {
	for _, item := range []*int{&m.window.top.item, &m.browser.cursor, &m.browser.anchor, &m.search.originItem, &m.search.originTop.item} {
		if *item >= at {
			*item += n
		}
	}
}
