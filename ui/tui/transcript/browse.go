package transcript

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/ui/markdown"
)

// wheelStep is how many lines the wheel scrolls.
const wheelStep = 3

// A binding maps keys to an action while browsing.
type binding struct {
	keys []string
	help string
	run  func(*Model) tea.Cmd
}

// withoutCmd returns do as an action without a command.
func withoutCmd(do func(*Model)) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd { do(m); return nil }
}

// A ToastMsg asks the root to show a toast that explains why a key did nothing.
type ToastMsg string

// nothingFound is the toast for a search without matches, or for none to repeat.
const nothingFound = "Nothing found · / searches"

// toast returns a command that shows text.
func toast(text string) tea.Cmd { return func() tea.Msg { return ToastMsg(text) } }

// orToast returns do as an action that shows text if do returns false.
func orToast(do func(*Model) bool, text string) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		if do(m) {
			return nil
		}
		return toast(text)
	}
}

var bindings = []binding{
	{[]string{"j", "down"}, "next block", withoutCmd(func(m *Model) { m.browser.moveCursor(1, false) })},
	{[]string{"k", "up"}, "previous block", withoutCmd(func(m *Model) { m.browser.moveCursor(-1, false) })},
	{[]string{"d"}, "half a page down", withoutCmd(func(m *Model) { m.browser.pageCursor(0.5) })},
	{[]string{"u"}, "half a page up", withoutCmd(func(m *Model) { m.browser.pageCursor(-0.5) })},
	{[]string{"g"}, "beginning", withoutCmd(func(m *Model) { m.browser.cursorToEnd(0) })},
	{[]string{"G"}, "end", withoutCmd(func(m *Model) { m.browser.cursorToEnd(len(m.Blocks.items) - 1) })},
	{[]string{"]"}, "your next message", orToast(func(m *Model) bool { return m.browser.moveCursor(1, true) }, "No later message from you")},
	{[]string{"["}, "your previous message", orToast(func(m *Model) bool { return m.browser.moveCursor(-1, true) }, "No earlier message from you")},
	{[]string{"}"}, "next code block", orToast(func(m *Model) bool { return m.browser.stepCode(1) }, "No code block below")},
	{[]string{"{"}, "previous code block", orToast(func(m *Model) bool { return m.browser.stepCode(-1) }, "No code block above")},
	{[]string{"space"}, "fold or unfold", withoutCmd(func(m *Model) { m.browser.toggleFold() })},
	{[]string{"z"}, "fold or unfold all", withoutCmd(func(m *Model) { m.browser.toggleFolds() })},
	{[]string{"enter"}, "open full text", withoutCmd((*Model).openDetails)},
	{[]string{"/"}, "search", withoutCmd(func(m *Model) { m.search.beginSearch() })},
	{[]string{"n"}, "next match", orToast(func(m *Model) bool { return m.search.nextMatch(1) }, nothingFound)},
	{[]string{"N"}, "previous match", orToast(func(m *Model) bool { return m.search.nextMatch(-1) }, nothingFound)},
	{[]string{"v"}, "select lines", withoutCmd(func(m *Model) { m.browser.setAnchor(m.browser.cursor) })},
	{[]string{"y"}, "copy the source", func(m *Model) tea.Cmd { return m.browser.copySelected() }},
	{[]string{"Y"}, "copy the code", func(m *Model) tea.Cmd { return m.browser.copyCode() }},
	{[]string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, "copy the nth code block", nil},
	{[]string{"o"}, "open the selected code, or a source", func(m *Model) tea.Cmd {
		if m.openCode() {
			return nil
		}
		return requestCmd(func(t Target) tea.Msg { return SourcesMsg{t} })(m)
	}},
	{[]string{"r"}, "regenerate answer (new branch)", requestCmd(func(t Target) tea.Msg { return RegenerateMsg{t} })},
	{[]string{"e"}, "edit (new branch)", requestCmd(func(t Target) tea.Msg { return EditMsg{t} })},
	{[]string{"f"}, "fork: continue in a copy", requestCmd(func(t Target) tea.Msg { return ForkMsg{t} })},
	{[]string{"x"}, "stop the running tool", func(m *Model) tea.Cmd {
		id := m.browser.running()
		if id == "" {
			return toast("This is no running tool")
		}
		return func() tea.Msg { return StopMsg(id) }
	}},
	{[]string{"w"}, "HTTP inspector", requestCmd(func(t Target) tea.Msg { return WireMsg{t} })},
	{[]string{"esc"}, "exit search, selection or browsing", withoutCmd((*Model).leaveInnermost)},
	{[]string{"i"}, "back to the input", withoutCmd(func(m *Model) { m.Browse(false) })},
}

// commands maps keys to the actions of bindings.
var commands = func() map[string]func(*Model) tea.Cmd {
	by := map[string]func(*Model) tea.Cmd{}
	for _, b := range bindings {
		for i, key := range b.keys {
			if by[key] = b.run; b.run == nil {
				by[key] = func(m *Model) tea.Cmd { return m.browser.copyNthCode(i) }
			}
		}
	}
	return by
}()

// Bindings returns the keys for browsing, each with its help.
func Bindings() [][2]string {
	var rows [][2]string
	for _, b := range bindings {
		keys := strings.Join(b.keys, ", ")
		if n := len(b.keys); b.run == nil {
			keys = b.keys[0] + "–" + b.keys[n-1]
		}
		rows = append(rows, [2]string{keys, b.help})
	}
	return rows
}

// Update handles mouse messages and, while browsing, keys. Copying returns a CopyMsg.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if m.details != nil {
		return m.updateDetails(msg)
	}
	switch msg.(type) {
	case tea.MouseClickMsg, tea.MouseMotionMsg, tea.MouseReleaseMsg, EdgeMsg:
		return m.mouse.handleMouse(msg)
	}
	if _, wheel := msg.(tea.MouseWheelMsg); m.search.typing && !wheel {
		m.search.updateSearch(msg)
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
		if do := commands[msg.String()]; do != nil && m.browser.browsing && len(m.Blocks.items) > 0 {
			return do(m)
		}
	}
	return nil
}

// Browse puts a cursor on the last visible block, or removes it. New blocks do not
// scroll unless the cursor is on the last block.
func (m *Model) Browse(on bool) {
	if on == m.browser.browsing {
		return
	}
	m.browser.browsing, m.browser.code, m.browser.anchor, m.window.dirty = on, -1, -1, true
	if !on {
		m.details = nil
		m.search.endSearch()
		return
	}
	if !m.window.fixTop() {
		return
	}
	last := len(m.Blocks.items) - 1
	if p, inside := m.window.rowsBelowTop(m.window.windowRows() - 1); inside {
		last = p.item
	}
	m.browser.setCursor(m.window.answerInSight(m.window.nextVisible(last, -1)))
}

// answerInSight returns the visible answer above the footers and notes that end with the item
// last, or last if there is none. A cursor on a footer is rarely wanted.
func (m *viewport) answerInSight(last int) int {
	i := last
	for i > m.top.item && m.list.items[i].kind == kindNote {
		i--
	}
	if m.list.items[i].kind == kindAnswer && len(m.linesOf(m.list.items[i])) > 0 {
		return i
	}
	return last
}

// leaveInnermost ends the search, else the selection, else browsing.
func (m *Model) leaveInnermost() {
	switch {
	case m.window.searching:
		m.search.endSearch()
	case m.browser.anchor >= 0:
		m.browser.setAnchor(-1)
	default:
		m.Browse(false)
	}
}

// Hint returns the keys that work now, "" unless browsing.
func (m *Model) Hint() string {
	switch {
	case !m.browser.browsing:
		return ""
	case m.Typing():
		return "search: esc back · enter keep · up down matches"
	case m.details != nil && !m.details.model.window.searching:
		return "details: esc back · j k scroll · / search · y copy"
	case m.window.searching || m.details != nil:
		return "search: esc back · n N next, previous · / new search"
	case m.browser.anchor >= 0:
		return "select: esc back · j k extend · y copy"
	}
	if m.browser.running() != "" {
		return "browse: esc back · x stop it · j k move · space fold · enter details · / search"
	}
	if n := len(m.window.codeBlocks(m.Blocks.items[m.browser.sourceAt()])); n > 0 {
		return "browse: esc back · " + codeKeys(n) + " copy code · y copy · j k move · space fold · enter details · / search"
	}
	return "browse: esc back · j k move · y copy · space fold · enter details · / search"
}

// codeKeys returns the keys that copy one of n code blocks.
func codeKeys(n int) string {
	if n == 1 {
		return "1"
	}
	return "1–" + strconv.Itoa(min(n, 9))
}

// Browsing reports whether there is a cursor.
func (m *Model) Browsing() bool { return m.browser.browsing }

// isPinned reports whether the cursor, or a pressed mouse button, keeps the window from
// following new blocks.
func (m *Model) isPinned() bool {
	return m.mouse.pressed || m.browser.browsing && m.browser.cursor < m.window.nextVisible(len(m.Blocks.items)-1, -1)
}

// nextVisible returns the index of the first item with lines, from i on in the given
// direction. If there is none, it looks in the other direction; else it returns 0.
func (m *viewport) nextVisible(i, direction int) int {
	for _, by := range []int{direction, -direction} {
		for j := i; j >= 0 && j < len(m.list.items); j += by {
			if len(m.linesOf(m.list.items[j])) > 0 {
				return j
			}
		}
	}
	return 0
}

// codeBlocks returns the code blocks of an item. Answers without a fence are not parsed.
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
