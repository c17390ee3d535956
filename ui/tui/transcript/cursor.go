package transcript

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/ui/format"
)

// A browser is the cursor over the items, and what is chosen at it.
type browser struct {
	*viewport
	browsing bool
	cursor   int // index of the item
	code     int // the code block chosen in it; -1 for none
	hit      int // the found place chosen in it; -1 for none
	anchor   int // the other end of the selected items; -1 for no selection
}

// setCursor moves the cursor to an item.
func (m *browser) setCursor(i int) { m.cursor, m.code, m.hit = i, -1, -1 }

// moveCursor moves the cursor to the next block, or to the next message of the
// user's, and reports whether there is one.
func (m *browser) moveCursor(direction int, user bool) bool {
	for i := m.cursor + direction; i < len(m.items); i += direction {
		if i < 0 {
			had := len(m.items)
			if !m.loadOlder() {
				return false
			}
			i = len(m.items) - had - 1
		}
		if user && m.items[i].kind != kindUser || len(m.linesOf(m.items[i])) == 0 {
			continue
		}
		m.setCursor(i)
		m.revealCursor()
		return true
	}
	return false
}

// revealCursor brings the cursor's block in sight: whole if it fits, else from its
// beginning.
func (m *browser) revealCursor() {
	if !m.fixTop() {
		return
	}
	from, to := rowPos{m.cursor, 0}, rowPos{m.cursor, len(m.linesOf(m.items[m.cursor]))}
	bottom, inside := m.rowsDown(m.top, m.windowRows())
	switch {
	case from.before(m.top):
		m.top = from
	case inside && bottom.before(to):
		if m.top = m.rowsUp(to, m.windowRows()); m.top.before(from) {
			break
		}
		m.top = from
	}
	m.finishMove()
}

// pageCursor moves by parts of a window and takes the cursor along.
func (m *browser) pageCursor(pages float64) {
	m.Page(pages)
	if !m.fixTop() {
		return
	}
	last := len(m.items) - 1
	if p, inside := m.rowsDown(m.top, m.windowRows()-1); inside {
		last = p.item
	}
	cursor := m.cursor
	if pages > 0 && m.follow {
		cursor = last
	}
	m.setCursor(m.nextVisible(max(m.top.item, min(cursor, last)), 1))
	m.finishMove()
}

// cursorToEnd moves to the first or the last block.
func (m *browser) cursorToEnd(i int) {
	if i == 0 {
		m.fillAll()
		m.setCursor(m.nextVisible(0, 1))
		m.Top()
		return
	}
	m.setCursor(m.nextVisible(i, -1))
	m.Bottom()
}

// stepCode moves the cursor to the next code block, and reports whether there is one.
func (m *browser) stepCode(direction int) bool {
	at := m.code
	if at < 0 && direction < 0 {
		at = len(m.codeBlocks(m.items[m.cursor]))
	}
	for i := m.cursor; i < len(m.items); i += direction {
		if i < 0 {
			had := len(m.items)
			if !m.loadOlder() {
				return false
			}
			i = len(m.items) - had - 1
		}
		codes := m.codeBlocks(m.items[i])
		if i != m.cursor {
			at = -1
			if direction < 0 {
				at = len(codes)
			}
		}
		if next := at + direction; next >= 0 && next < len(codes) {
			m.setCursor(i)
			m.code = next
			m.jumpTo(rowPos{i, max(0, codes[next].Line-1)})
			return true
		}
	}
	return false
}

// toggleFold folds or unfolds the block under the cursor.
func (m *browser) toggleFold() {
	it := m.items[m.cursor]
	m.clampTop()
	now := foldClosed
	if !m.isOpen(it) {
		now = foldOpen
	}
	it.fold = now
	it.dropLines()
	if g := it.asGroup(); g != nil {
		for _, member := range g.members {
			member.dropLines()
		}
	}
	m.dirty = true
	m.revealCursor()
}

// toggleFolds folds everything if something of it is unfolded, or else unfolds it.
func (m *browser) toggleFolds() {
	open := !m.openThinking && !m.openOutput
	m.openThinking, m.openOutput = open, open
	m.resetFolds(func(k kind) bool { return k != kindAnswer })
	m.revealCursor()
}

// setAnchor begins a selection, which goes to the cursor; again, or with -1, it
// ends it.
func (m *browser) setAnchor(i int) {
	if m.anchor >= 0 {
		i = -1
	}
	m.anchor, m.dirty = i, true
}

// selectedItems returns the first and the last of the blocks that are selected: the one
// under the cursor, if there is no selection.
func (m *browser) selectedItems() (low, high int) {
	if m.anchor < 0 {
		return m.cursor, m.cursor
	}
	return min(m.anchor, m.cursor), max(m.anchor, m.cursor)
}

// copySelected copies the block under the cursor, or all that is selected.
func (m *browser) copySelected() tea.Cmd {
	low, high := m.selectedItems()
	for high < len(m.items)-1 && m.isHidden(m.items[high+1]) {
		high++ // what a group stands for
	}
	m.setAnchor(-1)
	if low == high {
		text, what := m.items[m.sourceAt()].source()
		return copyCmd(text, what)
	}
	var parts []string
	for _, it := range m.items[low : high+1] {
		if text, _ := it.source(); text != "" && !it.isFooter() {
			parts = append(parts, strings.Trim(text, "\n"))
		}
	}
	return copyCmd(strings.Join(parts, "\n\n"), fmt.Sprintf("%d block%s", len(parts), format.PluralSuffix(len(parts))))
}

// sourceAt returns what the block under the cursor stands for: the answer above, or else
// the message, if it is the footer of a turn, which nobody wants to have.
func (m *browser) sourceAt() int {
	if !m.items[m.cursor].isFooter() {
		return m.cursor
	}
	for i := m.cursor - 1; i >= 0 && !m.items[i].isFooter(); i-- {
		if k := m.items[i].kind; k == kindAnswer || k == kindUser {
			return i
		}
	}
	return m.cursor
}

// copyCode copies the chosen code block, or the last one of the block under the
// cursor.
func (m *browser) copyCode() tea.Cmd {
	codes := m.codeBlocks(m.items[m.sourceAt()])
	if len(codes) == 0 {
		return toast("No code block here")
	}
	i := m.code
	if i < 0 || i >= len(codes) {
		i = len(codes) - 1
	}
	return copyCmd(codes[i].Text, "code")
}

// copyNthCode copies a code block of the block under the cursor, counted from 0.
func (m *browser) copyNthCode(n int) tea.Cmd {
	codes := m.codeBlocks(m.items[m.sourceAt()])
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

// SetMessageSeq sets the message of the conversation to which the blocks belong that are
// added from now on, by its number in the store; 0 if it has none yet.
func (m *blockList) SetMessageSeq(seq int) { m.messageSeq = seq }

// ShowMessage puts the first block of a message at the top, and the cursor on it; it
// tells whether there is one.
func (m *Model) ShowMessage(seq int) bool {
	is := func(it *item) bool { return seq != 0 && it.messageSeq == seq }
	i := slices.IndexFunc(m.items, is)
	for i < 0 && seq != 0 && m.loadOlder() {
		i = slices.IndexFunc(m.items, is)
	}
	if i < 0 {
		return false
	}
	m.details = nil
	i = m.nextVisible(i, 1)
	m.setCursor(i)
	m.jumpTo(rowPos{i, 0})
	return true
}

// A Target is what a key was pressed on while browsing.
type Target struct {
	Seq  int // tag of the block under the cursor; 0 for none
	User int // tag of the user's message that it is, or follows; 0 for none
}

// What the user wants done with a message. The root does it.
type (
	RegenerateMsg struct{ Target } // answer the message once more
	EditMsg       struct{ Target } // write the message anew, as a branch
	ForkMsg       struct{ Target } // go on from here in a new conversation
	SourcesMsg    struct{ Target } // ask which of its sources to open
	WireMsg       struct{ Target } // show what went over the wire
)

// target returns what the cursor is on.
func (m *browser) target() Target {
	t := Target{Seq: m.items[m.cursor].messageSeq}
	for _, it := range slices.Backward(m.items[:m.cursor+1]) {
		if it.kind == kindUser {
			t.User = it.messageSeq
			break
		}
	}
	return t
}

// requestCmd returns a key that asks the root for something.
func requestCmd(wrap func(Target) tea.Msg) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		msg := wrap(m.target())
		return func() tea.Msg { return msg }
	}
}
