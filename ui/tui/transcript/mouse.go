package transcript

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"parley/ui/textwrap"
)

// A textPos is a position between two characters: an item's seq, its line, and a byte of the
// line without escape sequences.
type textPos struct{ seq, line, at int }

func (s textPos) compare(o textPos) int {
	return cmp.Or(cmp.Compare(s.seq, o.seq), cmp.Compare(s.line, o.line), cmp.Compare(s.at, o.at))
}

// A textRange is the text between two positions.
type textRange struct{ from, to textPos }

func (s textRange) isEmpty() bool { return s.from.compare(s.to) >= 0 }

// union returns the smallest range that contains both.
func (s textRange) union(o textRange) textRange {
	if o.from.compare(s.from) < 0 {
		s.from = o.from
	}
	if o.to.compare(s.to) > 0 {
		s.to = o.to
	}
	return s
}

// A unit is the unit by which a selection grows.
type unit int

const (
	unitChar unit = iota
	unitWord
	unitParagraph
	numUnits
)

// A mouse handles text selection with the mouse.
type mouse struct {
	list    *Blocks
	window  *viewport
	browser *browser
	drag
	now func() time.Time
}

// A drag is the state of a selection since the mouse button was pressed.
type drag struct {
	pressed   bool // the button is down
	followed  bool // the window followed new blocks when the button was pressed
	unit      unit
	first     textRange // the unit under the mouse when the button was pressed
	selection textRange
	x, y      int // position of the mouse
	downX     int // position where the button was pressed
	downY     int
	down      time.Time
	edge      int // number of moves; an EdgeMsg of an earlier move is ignored
}

const (
	clickWithin = 400 * time.Millisecond // longest time between clicks of a double click
	edgeEvery   = 50 * time.Millisecond  // time between scrolled lines at an edge
)

// EdgeMsg scrolls one more line if the mouse is still held at the edge. Pass it to Update.
type EdgeMsg struct{ edge int }

// Dragging reports whether the button was pressed here and is still down. If so, pass all
// mouse messages to Update.
func (m *Model) Dragging() bool { return m.current().mouse.pressed }

// Deselect removes the mouse selection.
func (m *Model) Deselect() { m.current().mouse.deselect() }

func (m *mouse) deselect() {
	if m.pressed || !m.selection.isEmpty() {
		m.resumeFollow()
		m.drag, m.window.dirty = drag{}, true
	}
}

// handleMouse handles a mouse message. Releasing the button returns a CopyMsg.
func (m *mouse) handleMouse(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.MouseClickMsg:
		if msg.Button == tea.MouseLeft {
			m.pressMouse(msg.X, msg.Y)
		}
	case tea.MouseMotionMsg:
		if m.pressed {
			return m.dragMouse(msg.X, msg.Y)
		}
	case tea.MouseReleaseMsg:
		if m.pressed {
			return m.releaseMouse()
		}
	case EdgeMsg:
		if m.pressed && msg.edge == m.edge {
			return m.scrollAtEdge()
		}
	}
	return nil
}

// pressMouse begins a selection: by characters, by words after a double click, by
// paragraphs after a triple click. New blocks do not scroll until the button is released.
func (m *mouse) pressMouse(x, y int) {
	last := m.drag
	m.deselect()
	if len(m.list.items) == 0 || y < 0 || y >= m.window.windowRows() {
		return
	}
	now := m.now()
	m.drag = drag{pressed: true, followed: m.window.follow, x: x, y: y, downX: x, downY: y, down: now}
	if last.downX == x && last.downY == y && now.Sub(last.down) < clickWithin {
		m.unit = (last.unit + 1) % numUnits
	}
	if m.window.follow {
		m.window.fixTop()
		m.window.finishMove()
	}
	m.window.clampTop()
	m.first = m.rangeAt(x, y, m.unit)
	if m.unit != unitChar {
		m.selection = m.first
	}
	if m.browser.browsing {
		if i := m.list.indexOfSeq(m.first.from.seq); i >= 0 {
			m.browser.setCursor(m.window.nextVisible(i, -1))
		}
	}
	m.window.dirty = true
}

// dragMouse extends the selection to the mouse position.
func (m *mouse) dragMouse(x, y int) tea.Cmd {
	if x == m.x && y == m.y {
		return nil
	}
	m.x, m.y = x, y
	m.extendSelection()
	m.edge++
	if m.edgeDirection() == 0 {
		return nil
	}
	return m.edgeTick()
}

// edgeDirection returns -1 if the mouse is at the top edge, 1 at the bottom edge, else 0.
func (m *mouse) edgeDirection() int {
	switch y := m.y; {
	case y <= 0:
		return -1
	case y >= m.window.windowRows()-1:
		return 1
	}
	return 0
}

func (m *mouse) edgeTick() tea.Cmd {
	edge := m.edge
	return tea.Tick(edgeEvery, func(time.Time) tea.Msg { return EdgeMsg{edge} })
}

// scrollAtEdge scrolls one line towards the edge, and returns a tick for the next line unless
// there is none.
func (m *mouse) scrollAtEdge() tea.Cmd {
	was := m.window.top
	direction := m.edgeDirection()
	if direction < 0 {
		m.followed = false
	}
	m.window.Scroll(direction)
	m.extendSelection()
	if m.window.top == was {
		return nil
	}
	return m.edgeTick()
}

func (m *mouse) extendSelection() {
	if len(m.list.items) == 0 {
		return
	}
	m.window.clampTop()
	m.selection = m.first.union(m.rangeAt(m.x, m.y, m.unit))
	m.window.dirty = true
}

// releaseMouse copies the selection, which stays visible.
func (m *mouse) releaseMouse() tea.Cmd {
	m.resumeFollow()
	if m.selection.isEmpty() {
		return nil
	}
	return copyCmd(m.selectedText())
}

// resumeFollow ends a drag, and follows new blocks again if the window did before the drag.
func (m *mouse) resumeFollow() {
	pressed := m.pressed
	if m.pressed = false; pressed && m.followed && !m.window.pinned() {
		m.window.Bottom()
	}
}

// rangeAt returns the text range of the unit at a cell.
func (m *mouse) rangeAt(x, y int, u unit) textRange {
	p, _ := m.window.rowsDown(m.window.top, max(0, min(y, m.window.windowRows()-1)))
	it := m.list.items[p.item]
	lines := m.window.linesOf(it)
	if p.line < 0 || p.line >= len(lines) { // a blank row, or below the end
		s := textPos{it.seq, 0, 0}
		if n := len(lines); p.line >= 0 && n > 0 {
			s = textPos{it.seq, n - 1, len(plainText(lines[n-1]))}
		}
		return textRange{s, s}
	}
	line := plainText(lines[p.line])
	from, to := bytesAtCell(line, x-m.window.gutterWidth())
	low, high := p.line, p.line
	switch u {
	case unitWord:
		from, to = wordAt(line, from, to)
	case unitParagraph:
		low, high = m.paragraphAt(it, p.line)
		from, to = 0, len(plainText(lines[high]))
	}
	return textRange{textPos{it.seq, low, from}, textPos{it.seq, high, to}}
}

// plainText returns a line without escape sequences.
func plainText(line string) string {
	if strings.IndexByte(line, '\x1b') < 0 {
		return line
	}
	var b strings.Builder
	writePlain(&b, line)
	return b.String()
}

// bytesAtCell returns the byte range of the character at a cell, an empty one past the end.
func bytesAtCell(line string, x int) (from, to int) {
	col := 0
	for i := 0; i < len(line); {
		size, w := textwrap.Cluster(line[i:])
		if col += w; col > x {
			return i, i + size
		}
		i += size
	}
	return len(line), len(line)
}

// Characters besides letters and digits that words contain, so that paths and addresses are
// words, and the ones of them that do not end a word.
const (
	wordPunct    = "_-./~@#%+=&?:"
	wordTrailing = ".:?"
)

// wordAt returns the byte range of the word around the character from..to, or of the character itself.
func wordAt(line string, from, to int) (int, int) {
	within := func(r rune) bool { return isAlnum(r) || strings.ContainsRune(wordPunct, r) }
	r, _ := utf8.DecodeRuneInString(line[from:])
	if from == to || !within(r) {
		return from, to
	}
	low := strings.LastIndexFunc(line[:from], func(r rune) bool { return !within(r) })
	if low >= 0 {
		_, size := utf8.DecodeRuneInString(line[low:])
		low += size
	}
	low = max(low, 0)
	high := len(line)
	if n := strings.IndexFunc(line[from:], func(r rune) bool { return !within(r) }); n >= 0 {
		high = from + n
	}
	high = max(to, low+len(strings.TrimRight(line[low:high], wordTrailing)))
	return low, high
}

// paragraphAt returns the rows around row that show the same source line.
func (m *mouse) paragraphAt(it *item, row int) (low, high int) {
	rows, src := m.sourceRows(it)
	t := sourceMapper{src: src}
	low, high = row, row
	line := -1 // end of the source line that the last row belongs to
	for i, r := range rows {
		was, all := line, t.mapRow(r)
		if len(all) > 0 {
			line = lineEnd(src, all[len(all)-1].end)
		}
		continued := len(all) > 0 && i > 0 && was == lineEnd(src, all[0].from)
		switch {
		case i <= row && !continued:
			low = i
		case i > row && !continued:
			return min(low, row), high
		case i > row:
			high = i
		}
	}
	return low, high
}

// lineEnd returns the end of the line that contains byte at.
func lineEnd(src string, at int) int {
	if n := strings.IndexByte(src[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(src)
}

// indexOfSeq returns the index of the item with this seq, -1 if there is none.
func (m *Blocks) indexOfSeq(seq int) int {
	i, ok := slices.BinarySearchFunc(m.items, seq, func(it *item, seq int) int { return cmp.Compare(it.seq, seq) })
	if !ok {
		return -1
	}
	return i
}
