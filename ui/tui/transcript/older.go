package transcript

import (
	"maps"
	"slices"
)

// SetOlder sets the functions that load blocks before the first one. load adds a page of them
// with Prepend and reports whether there was one. left returns roughly how many blocks are not
// loaded. A nil load means that there are none. Clear resets it.
func SetOlder(m *Model, load func() bool, left func() int) {
	m.window.older = older{load, left}
	if m.window.fixTop() {
		m.window.dirty = true
	}
}

// An older loads the blocks before the first one, in pages.
type older struct {
	load func() bool // nil if there are none
	left func() int  // approximate number of blocks not loaded
}

// blocks returns the approximate number of blocks that are not loaded.
func (o older) blocks() int {
	if o.load == nil {
		return 0
	}
	return o.left()
}

// loadOlder loads one more page, and reports whether there was one.
func (m *viewport) loadOlder() bool {
	if m.older.load == nil {
		return false
	}
	ok := m.older.load()
	if !ok {
		m.older = older{}
	}
	return ok
}

// rowsAboveTop returns the row n rows above the top, or the first row of all.
func (m *viewport) rowsAboveTop(n int) rowPos {
	for {
		if p := m.rowsUp(m.top, n); p != m.firstRow(0) || !m.loadOlder() {
			return p
		}
	}
}

// lastWindow returns the first row of the window that ends with the last one.
func (m *viewport) lastWindow() rowPos {
	for {
		if p := m.rowsUp(m.endRow(), max(m.windowRows(), 1)); p != m.firstRow(0) || !m.loadOlder() {
			return p
		}
	}
}

// loadAllOlder loads all blocks.
func (m *viewport) loadAllOlder() {
	for m.loadOlder() {
	}
}

// NewPage returns an empty transcript whose blocks Prepend will add to m. Add nothing to m
// before that.
func NewPage(m *Model) *Model {
	page := New(m.window.theme)
	page.Blocks.lastID = m.Blocks.lastID
	return page
}

// Prepend adds the blocks of a page before the first one. The visible rows, the cursor and
// the selection stay the same.
func Prepend(m, page *Model) {
	n, first := len(page.Blocks.items), m.Blocks.nextSeq
	if len(m.Blocks.items) > 0 {
		first = m.Blocks.items[0].seq
	}
	for i, it := range page.Blocks.items {
		it.seq = first - n + i
		if m.window.searching {
			it.matchCount, it.countStale = 0, true
			m.search.changed = append(m.search.changed, it)
		}
	}
	maps.Copy(m.Blocks.byID, page.Blocks.byID)
	m.Blocks.lastID = page.Blocks.lastID
	m.Blocks.items = slices.Concat(page.Blocks.items, m.Blocks.items)
	m.window.top.item += n
	m.browser.cursor += n
	m.search.originItem, m.search.originTop.item = m.search.originItem+n, m.search.originTop.item+n
	if m.browser.anchor >= 0 {
		m.browser.anchor += n
	}
	m.window.dirty = true
}
