package transcript

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/ui/markdown"
)

// wheelStep sets how many lines a notch of the wheel moves.
const wheelStep = 3

// A binding is keys of browsing, and what they do.
type binding struct {
	keys []string
	help string
	run  func(*Model) tea.Cmd
}

// withoutCmd returns a command that asks for nothing.
func withoutCmd(do func(*Model)) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd { do(m); return nil }
}

var bindings = []binding{
	{[]string{"j", "down"}, "next block", withoutCmd(func(m *Model) { m.moveCursor(1, false) })},
	{[]string{"k", "up"}, "previous block", withoutCmd(func(m *Model) { m.moveCursor(-1, false) })},
	{[]string{"d"}, "half a page down", withoutCmd(func(m *Model) { m.pageCursor(0.5) })},
	{[]string{"u"}, "half a page up", withoutCmd(func(m *Model) { m.pageCursor(-0.5) })},
	{[]string{"g"}, "beginning", withoutCmd(func(m *Model) { m.cursorToEnd(0) })},
	{[]string{"G"}, "end", withoutCmd(func(m *Model) { m.cursorToEnd(len(m.items) - 1) })},
	{[]string{"]"}, "your next message", withoutCmd(func(m *Model) { m.moveCursor(1, true) })},
	{[]string{"["}, "your previous message", withoutCmd(func(m *Model) { m.moveCursor(-1, true) })},
	{[]string{"}"}, "next code block", withoutCmd(func(m *Model) { m.stepCode(1) })},
	{[]string{"{"}, "previous code block", withoutCmd(func(m *Model) { m.stepCode(-1) })},
	{[]string{"space"}, "fold or unfold", withoutCmd((*Model).toggleFold)},
	{[]string{"z"}, "fold or unfold all", withoutCmd((*Model).toggleFolds)},
	{[]string{"enter"}, "open full text", withoutCmd((*Model).openDetails)},
	{[]string{"/"}, "search", withoutCmd((*Model).beginSearch)},
	{[]string{"n"}, "next match", withoutCmd(func(m *Model) { m.nextMatch(1) })},
	{[]string{"N"}, "previous match", withoutCmd(func(m *Model) { m.nextMatch(-1) })},
	{[]string{"v"}, "select lines", withoutCmd(func(m *Model) { m.setAnchor(m.cursor) })},
	{[]string{"y"}, "copy the source", (*Model).copySelected},
	{[]string{"Y"}, "copy the code", (*Model).copyCode},
	{[]string{"r"}, "regenerate answer (new branch)", requestCmd(func(t Target) tea.Msg { return RegenerateMsg{t} })},
	{[]string{"e"}, "edit (new branch)", requestCmd(func(t Target) tea.Msg { return EditMsg{t} })},
	{[]string{"f"}, "fork: continue in a copy", requestCmd(func(t Target) tea.Msg { return ForkMsg{t} })},
	{[]string{"w"}, "HTTP inspector", requestCmd(func(t Target) tea.Msg { return WireMsg{t} })},
	{[]string{"esc"}, "exit search, selection or browsing", withoutCmd((*Model).leaveInnermost)},
	{[]string{"i"}, "back to the input", withoutCmd(func(m *Model) { m.Browse(false) })},
}

// commands lists the bindings by their keys.
var commands = func() map[string]func(*Model) tea.Cmd {
	by := map[string]func(*Model) tea.Cmd{}
	for _, b := range bindings {
		for _, key := range b.keys {
			by[key] = b.run
		}
	}
	return by
}()

// Bindings lists the keys of browsing, and what they do.
func Bindings() [][2]string {
	var rows [][2]string
	for _, b := range bindings {
		rows = append(rows, [2]string{strings.Join(b.keys, ", "), b.help})
	}
	return rows
}

// Update handles the mouse and, while browsing, keys. Copying gives a CopyMsg.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if m.details != nil {
		return m.updateDetails(msg)
	}
	switch msg.(type) {
	case tea.MouseClickMsg, tea.MouseMotionMsg, tea.MouseReleaseMsg, EdgeMsg:
		return m.mouse.handleMouse(msg)
	}
	if _, wheel := msg.(tea.MouseWheelMsg); m.typing && !wheel {
		m.updateSearch(msg)
		return nil
	}
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		switch msg.Button {
		case tea.MouseWheelUp:
			m.Scroll(-wheelStep)
		case tea.MouseWheelDown:
			m.Scroll(wheelStep)
		}
	case tea.KeyPressMsg:
		if do := commands[msg.String()]; do != nil && m.browsing && len(m.items) > 0 {
			return do(m)
		}
	}
	return nil
}

// Browse puts a cursor on the last block in sight, or takes it away. While it
// is not on the last block, nothing that arrives moves what is in sight.
func (m *Model) Browse(on bool) {
	if on == m.browsing {
		return
	}
	m.browsing, m.code, m.anchor, m.dirty = on, -1, -1, true
	if !on {
		m.details = nil
		m.endSearch()
		return
	}
	if !m.fixTop() {
		return
	}
	last := len(m.items) - 1
	if p, inside := m.rowsDown(m.top, m.windowRows()-1); inside {
		last = p.item
	}
	m.setCursor(m.nextVisible(last, -1))
}

// leaveInnermost leaves what was entered last: the search, the selection, browsing.
func (m *Model) leaveInnermost() {
	switch {
	case m.searching:
		m.endSearch()
	case m.anchor >= 0:
		m.setAnchor(-1)
	default:
		m.Browse(false)
	}
}

// Hint returns what the keys do at the moment; "" while nobody browses.
func (m *Model) Hint() string {
	switch {
	case !m.browsing:
		return ""
	case m.Typing():
		return "search: enter keep · up down matches · esc exit"
	case m.details != nil && !m.details.searching:
		return "details: j k scroll · / search · y copy · esc back"
	case m.searching || m.details != nil:
		return "search: n N next, previous · / new search · esc exit"
	case m.anchor >= 0:
		return "select: j k extend · y copy · esc exit"
	}
	return "browse: j k move · space fold · enter details · / search · y copy · esc back"
}

// Browsing reports whether there is a cursor.
func (m *Model) Browsing() bool { return m.browsing }

// Message returns which of the user's messages the cursor is on, or which one the
// block under it answers, counted from 0; false if there is none.
func (m *Model) Message() (n int, ok bool) {
	if !m.browsing || len(m.items) == 0 {
		return 0, false
	}
	n = m.target().Message
	return max(n, 0), n >= 0
}

// isPinned reports whether the cursor, or the mouse, keeps the reader from following
// what comes.
func (m *Model) isPinned() bool {
	return m.mouse.held || m.browsing && m.cursor < m.nextVisible(len(m.items)-1, -1)
}

// nextVisible returns the next item that has lines, from i on in a direction; if there is
// none, the last one the other way.
func (m *viewport) nextVisible(i, direction int) int {
	for j := i; j >= 0 && j < len(m.items); j += direction {
		if len(m.linesOf(m.items[j])) > 0 {
			return j
		}
	}
	for j := i; j >= 0 && j < len(m.items); j -= direction {
		if len(m.linesOf(m.items[j])) > 0 {
			return j
		}
	}
	return 0
}

// codeBlocks returns the code blocks of an item. Reading a long conversation for them
// passes over answers without a fence.
func (m *viewport) codeBlocks(it *item) []markdown.Code {
	b, ok := it.block.(*answer)
	if !ok {
		return nil
	}
	if !b.mayHaveCode() {
		return nil
	}
	m.linesOf(it)
	return b.codes(m.theme)
}
