package transcript

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/ui/format"
)

// A browser holds the cursor over the items and the selection.
type browser struct {
	list   *Blocks
	window *viewport

	browsing bool
	cursor   int // index of the item
	code     int // index of the selected code block in the item; -1 for none
	match    int // index of the selected match in the item; -1 for none
	anchor   int // the other end of the selected items; -1 for no selection
}

// setCursor moves the cursor to an item.
func (m *browser) setCursor(i int) { m.cursor, m.code, m.match = i, -1, -1 }

// moveCursor moves the cursor to the next block in a direction, or to the next message of the
// user if user is set. It reports whether there is one.
func (m *browser) moveCursor(direction int, user bool) bool {
	for i, ok := m.window.step(m.cursor, direction); ok; i, ok = m.window.step(i, direction) {
		if user && m.list.items[i].kind != kindUser || len(m.window.linesOf(m.list.items[i])) == 0 {
			continue
		}
		m.setCursor(i)
		m.revealCursor()
		return true
	}
	return false
}

// revealCursor scrolls to show the cursor's block: all of it if it fits, else its beginning.
func (m *browser) revealCursor() {
	if !m.window.fixTop() {
		return
	}
	from := func() rowPos { return rowPos{m.cursor, 0} }
	to := func() rowPos { return rowPos{m.cursor, len(m.window.linesOf(m.list.items[m.cursor]))} }
	bottom, inside := m.window.rowsBelowTop(m.window.windowRows())
	switch {
	case from().before(m.window.top):
		m.window.top = from()
	case inside && bottom.before(to()):
		if m.window.top = m.window.rowsAbove(to, m.window.windowRows()); !m.window.top.before(from()) {
			m.window.top = from()
		}
	}
	m.window.finishMove()
}

// pageCursor scrolls by parts of a window, and moves the cursor to a visible block.
func (m *browser) pageCursor(pages float64) {
	m.window.Page(pages)
	if !m.window.fixTop() {
		return
	}
	last := len(m.list.items) - 1
	if p, inside := m.window.rowsBelowTop(m.window.windowRows() - 1); inside {
		last = p.item
	}
	cursor := m.cursor
	if pages > 0 && m.window.follow {
		cursor = last
	}
	m.setCursor(m.window.nextVisible(max(m.window.top.item, min(cursor, last)), 1))
	m.window.finishMove()
}

// cursorToEnd moves to the first or the last block.
func (m *browser) cursorToEnd(i int) {
	if i == 0 {
		m.window.loadFirst()
		m.setCursor(m.window.nextVisible(0, 1))
		m.window.Top()
		return
	}
	m.setCursor(m.window.nextVisible(i, -1))
	m.window.Bottom()
}

// stepCode moves the cursor to the next code block, and reports whether there is one.
func (m *browser) stepCode(direction int) bool {
	at := m.code
	if at < 0 && direction < 0 {
		at = len(m.window.codeBlocks(m.list.items[m.cursor]))
	}
	for i, ok := m.cursor, true; ok; i, ok = m.window.step(i, direction) {
		codes := m.window.codeBlocks(m.list.items[i])
		if i != m.cursor {
			at = -1
			if direction < 0 {
				at = len(codes)
			}
		}
		if next := at + direction; next >= 0 && next < len(codes) {
			m.setCursor(i)
			m.code = next
			m.window.jumpTo(rowPos{i, max(0, codes[next].Line-1)})
			return true
		}
	}
	return false
}

// toggleFold folds or unfolds the block under the cursor.
func (m *browser) toggleFold() {
	it := m.list.items[m.cursor]
	m.window.clampTop()
	now := foldClosed
	if !m.window.isOpen(it) {
		now = foldOpen
	}
	it.fold = now
	it.dropLines()
	if g := it.asGroup(); g != nil {
		for _, member := range g.members {
			member.dropLines()
		}
	}
	m.window.dirty = true
	m.revealCursor()
}

// toggleFolds folds everything if something is unfolded, and unfolds it otherwise.
func (m *browser) toggleFolds() {
	open := !m.window.openThinking && !m.window.openOutput
	m.window.openThinking, m.window.openOutput = open, open
	m.window.resetFolds(func(k kind) bool { return k != kindAnswer })
	m.revealCursor()
}

// setAnchor begins a selection from item i to the cursor, or ends the existing one.
func (m *browser) setAnchor(i int) {
	if m.anchor >= 0 {
		i = -1
	}
	m.anchor, m.window.dirty = i, true
}

// selectedItems returns the first and the last selected block. Without a selection both
// are the block under the cursor.
func (m *browser) selectedItems() (low, high int) {
	if m.anchor < 0 {
		return m.cursor, m.cursor
	}
	return min(m.anchor, m.cursor), max(m.anchor, m.cursor)
}

// copySelected copies the selected blocks, or the one under the cursor.
func (m *browser) copySelected() tea.Cmd {
	low, high := m.selectedItems()
	if low < m.window.gap() && m.window.gap() < high {
		m.window.loadAllOlder()
		low, high = m.selectedItems()
	}
	for high < len(m.list.items)-1 && m.window.isHidden(m.list.items[high+1]) {
		high++ // calls that their group hides
	}
	m.setAnchor(-1)
	if low == high {
		text, what := m.list.items[m.sourceAt()].source()
		return copyCmd(text, what)
	}
	var parts []string
	for _, it := range m.list.items[low : high+1] {
		if text, _ := it.source(); text != "" && !it.isFooter() {
			parts = append(parts, strings.Trim(text, "\n"))
		}
	}
	return copyCmd(strings.Join(parts, "\n\n"), fmt.Sprintf("%d block%s", len(parts), format.PluralSuffix(len(parts))))
}

// sourceAt returns the index of the item to copy. On the footer of a turn it is the answer
// above or, without one, the message.
func (m *browser) sourceAt() int {
	if !m.list.items[m.cursor].isFooter() {
		return m.cursor
	}
	for i := m.cursor - 1; i >= 0 && !m.list.items[i].isFooter(); i-- {
		if k := m.list.items[i].kind; k == kindAnswer || k == kindUser {
			return i
		}
	}
	return m.cursor
}

// copyCode copies the selected code block, or the last one of the block under the cursor.
func (m *browser) copyCode() tea.Cmd {
	codes := m.window.codeBlocks(m.list.items[m.sourceAt()])
	if len(codes) == 0 {
		return toast("No code block here")
	}
	i := m.code
	if i < 0 || i >= len(codes) {
		i = len(codes) - 1
	}
	return copyCmd(codes[i].Text, "code")
}

// copyNthCode copies the nth code block, from 0, of the block under the cursor.
func (m *browser) copyNthCode(n int) tea.Cmd {
	codes := m.window.codeBlocks(m.list.items[m.sourceAt()])
	if n >= len(codes) {
		return toast("No code block " + strconv.Itoa(n+1) + " here")
	}
	return copyCmd(codes[n].Text, "code block "+strconv.Itoa(n+1))
}

func copyCmd(text, what string) tea.Cmd {
	if text == "" {
		return toast("Nothing to copy here")
	}
	return func() tea.Msg { return CopyMsg{text, what} }
}

// SetMessageSeq sets the store's Seq of the message that the next added blocks belong to; 0 if
// it has none yet.
func (m *Blocks) SetMessageSeq(seq int) { m.messageSeq = seq }

// ShowMessage scrolls the first block of a message to the top and puts the cursor on it.
// It reports whether the message has a block.
func (m *Model) ShowMessage(seq int) bool {
	is := func(it *item) bool { return seq != 0 && it.messageSeq == seq }
	i := slices.IndexFunc(m.Blocks.items, is)
	for i < 0 && seq != 0 && m.window.loadOlder() {
		i = slices.IndexFunc(m.Blocks.items, is)
	}
	if i < 0 {
		return false
	}
	m.details = nil
	i = m.window.nextVisible(i, 1)
	m.browser.setCursor(i)
	m.window.jumpTo(rowPos{i, 0})
	return true
}

// A Target is the message under the cursor when a key was pressed while browsing.
type Target struct {
	Seq  int // Seq of the message under the cursor; 0 for none
	User int // Seq of the user's message at or above the cursor; 0 for none
}

// Requests for a message, handled by the root.
type (
	RegenerateMsg struct{ Target } // answer the message again, as a branch
	EditMsg       struct{ Target } // edit the message, as a branch
	ForkMsg       struct{ Target } // continue from the message in a new conversation
	SourcesMsg    struct{ Target } // open one of the sources of the message
	WireMsg       struct{ Target } // show the HTTP exchanges of the message
)

// target returns the message under the cursor.
func (m *browser) target() Target {
	t := Target{Seq: m.list.items[m.cursor].messageSeq}
	for _, it := range slices.Backward(m.list.items[:m.cursor+1]) {
		if it.kind == kindUser {
			t.User = it.messageSeq
			break
		}
	}
	return t
}

// A StopMsg is the id of a running call to stop.
type StopMsg string

// running returns the id of the call under the cursor if it is running; "" otherwise.
func (m *browser) running() string {
	if b, ok := m.list.items[m.cursor].block.(*call); ok && b.tool.Status == Running {
		return b.tool.Call
	}
	return ""
}

// requestCmd returns an action that sends a request for the target to the root.
func requestCmd(wrap func(Target) tea.Msg) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		msg := wrap(m.browser.target())
		return func() tea.Msg { return msg }
	}
}
