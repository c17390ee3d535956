package transcript

import (
	"strconv"
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

// A ToastMsg tells the user why a key did nothing.
type ToastMsg string

// nothingSearched is said where a search finds nothing, or there was none.
const nothingSearched = "Nothing found · / searches"

// say returns the command that tells the user.
func toast(text string) tea.Cmd { return func() tea.Msg { return ToastMsg(text) } }

// orSay returns a command that tells the user text where do finds nothing.
func orSay(do func(*Model) bool, text string) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		if do(m) {
			return nil
		}
		return toast(text)
	}
}

var bindings = []binding{
	{[]string{"j", "down"}, "next block", withoutCmd(func(m *Model) { m.moveCursor(1, false) })},
	{[]string{"k", "up"}, "previous block", withoutCmd(func(m *Model) { m.moveCursor(-1, false) })},
	{[]string{"d"}, "half a page down", withoutCmd(func(m *Model) { m.pageCursor(0.5) })},
	{[]string{"u"}, "half a page up", withoutCmd(func(m *Model) { m.pageCursor(-0.5) })},
	{[]string{"g"}, "beginning", withoutCmd(func(m *Model) { m.cursorToEnd(0) })},
	{[]string{"G"}, "end", withoutCmd(func(m *Model) { m.cursorToEnd(len(m.items) - 1) })},
	{[]string{"]"}, "your next message", orSay(func(m *Model) bool { return m.moveCursor(1, true) }, "No later message from you")},
	{[]string{"["}, "your previous message", orSay(func(m *Model) bool { return m.moveCursor(-1, true) }, "No earlier message from you")},
	{[]string{"}"}, "next code block", orSay(func(m *Model) bool { return m.stepCode(1) }, "No code block below")},
	{[]string{"{"}, "previous code block", orSay(func(m *Model) bool { return m.stepCode(-1) }, "No code block above")},
	{[]string{"space"}, "fold or unfold", withoutCmd((*Model).toggleFold)},
	{[]string{"z"}, "fold or unfold all", withoutCmd((*Model).toggleFolds)},
	{[]string{"enter"}, "open full text", withoutCmd((*Model).openDetails)},
	{[]string{"/"}, "search", withoutCmd((*Model).beginSearch)},
	{[]string{"n"}, "next match", orSay(func(m *Model) bool { return m.nextMatch(1) }, nothingSearched)},
	{[]string{"N"}, "previous match", orSay(func(m *Model) bool { return m.nextMatch(-1) }, nothingSearched)},
	{[]string{"v"}, "select lines", withoutCmd(func(m *Model) { m.setAnchor(m.cursor) })},
	{[]string{"y"}, "copy the source", (*Model).copySelected},
	{[]string{"Y"}, "copy the code", (*Model).copyCode},
	{[]string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, "copy the nth code block", nil},
	{[]string{"o"}, "open a source", requestCmd(func(t Target) tea.Msg { return SourcesMsg{t} })},
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
		for i, key := range b.keys {
			if by[key] = b.run; b.run == nil {
				by[key] = func(m *Model) tea.Cmd { return m.copyNthCode(i) }
			}
		}
	}
	return by
}()

// Bindings lists the keys of browsing, and what they do.
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
	m.setCursor(m.answerInSight(m.nextVisible(last, -1)))
}

// answerInSight returns the answer of which something is in sight above footers and notes
// that end with the item last; last if there is none: nobody wants to have the footer.
func (m *viewport) answerInSight(last int) int {
	i := last
	for i > m.top.item && m.items[i].kind == kindNote {
		i--
	}
	if m.items[i].kind == kindAnswer && len(m.linesOf(m.items[i])) > 0 {
		return i
	}
	return last
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
		return "search: esc exit · enter keep · up down matches"
	case m.details != nil && !m.details.searching:
		return "details: esc back · j k scroll · / search · y copy"
	case m.searching || m.details != nil:
		return "search: esc exit · n N next, previous · / new search"
	case m.anchor >= 0:
		return "select: esc exit · j k extend · y copy"
	}
	if n := len(m.codeBlocks(m.items[m.sourceAt()])); n > 0 {
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
func (m *Model) Browsing() bool { return m.browsing }

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
