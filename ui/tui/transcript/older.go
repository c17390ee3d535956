package transcript

import (
	"maps"
	"slices"
)

// SetOlder says how what is in front of the first block is fetched: load puts a page of it
// there with Prepend and reports whether there was one; left returns about how many blocks
// there still are. Nil: nothing is in front. Clear forgets it.
func SetOlder(m *Model, load func() bool, left func() int) {
	m.older = older{load, left}
	if m.fixTop() {
		m.dirty = true
	}
}

// An older fetches what is in front of the first block, in pages.
type older struct {
	load func() bool // nil: there is nothing
	left func() int  // about how many blocks
}

// blocks returns about how many are in front of the first one.
func (o older) blocks() int {
	if o.load == nil {
		return 0
	}
	return o.left()
}

// loadOlder puts one page more in front, and reports whether there was one.
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

// above goes n rows up from the top, or to the first row of all.
func (m *viewport) above(n int) rowPos {
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

// fillAll fetches everything.
func (m *viewport) fillAll() {
	for m.loadOlder() {
	}
}

// NewPage returns an empty transcript for blocks that Prepend is to take. Until then nothing
// may be added here.
func NewPage(m *Model) *Model {
	page := New(m.theme)
	page.lastID = m.lastID
	return page
}

// Prepend puts the blocks of a page in front of all. What is in
// sight stays where it is, and so do the cursor and what is selected.
func Prepend(m, page *Model) {
	n, first := len(page.items), m.nextSeq
	if len(m.items) > 0 {
		first = m.items[0].seq
	}
	for i, it := range page.items {
		it.seq = first - n + i
		if m.searching {
			it.matchCount, it.countStale = 0, true
			m.changed = append(m.changed, it)
		}
	}
	maps.Copy(m.byID, page.byID)
	m.lastID = page.lastID
	m.items = slices.Concat(page.items, m.items)
	m.top.item += n
	m.cursor += n
	m.originItem, m.originTop.item = m.originItem+n, m.originTop.item+n
	if m.anchor >= 0 {
		m.anchor += n
	}
	m.dirty = true
}
