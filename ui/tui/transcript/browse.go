package transcript

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/ui/markdown"
)

// wheelStep sets how many lines a notch of the wheel moves.
const wheelStep = 3

// A binding is keys of browsing, and what they do.
type binding struct {
	keys []string
	does string
	run  func(*Model) tea.Cmd
}

// always returns a command that asks for nothing.
func always(do func(*Model)) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd { do(m); return nil }
}

var bindings = []binding{
	{[]string{"j", "down"}, "to the next block", always(func(m *Model) { m.step(1, false) })},
	{[]string{"k", "up"}, "to the previous block", always(func(m *Model) { m.step(-1, false) })},
	{[]string{"d"}, "half a page down", always(func(m *Model) { m.turn(0.5) })},
	{[]string{"u"}, "half a page up", always(func(m *Model) { m.turn(-0.5) })},
	{[]string{"g"}, "to the beginning", always(func(m *Model) { m.ends(0) })},
	{[]string{"G"}, "to the end", always(func(m *Model) { m.ends(len(m.items) - 1) })},
	{[]string{"]"}, "to your next message", always(func(m *Model) { m.step(1, true) })},
	{[]string{"["}, "to your previous message", always(func(m *Model) { m.step(-1, true) })},
	{[]string{"}"}, "to the next code block", always(func(m *Model) { m.stepCode(1) })},
	{[]string{"{"}, "to the previous code block", always(func(m *Model) { m.stepCode(-1) })},
	{[]string{"space"}, "fold or unfold", always((*Model).toggle)},
	{[]string{"z"}, "fold or unfold all", always((*Model).toggleAll)},
	{[]string{"enter"}, "all of it, in a pager", always((*Model).openDetails)},
	{[]string{"/"}, "search", always((*Model).beginSearch)},
	{[]string{"n"}, "next place that was found", always(func(m *Model) { m.again(1) })},
	{[]string{"N"}, "previous place", always(func(m *Model) { m.again(-1) })},
	{[]string{"v"}, "select lines", always(func(m *Model) { m.selectFrom(m.cursor) })},
	{[]string{"y"}, "copy the source", (*Model).copyBlock},
	{[]string{"Y"}, "copy the code", (*Model).copyCode},
	{[]string{"r"}, "answer anew, as a branch", ask(func(t Target) tea.Msg { return RegenerateMsg{t} })},
	{[]string{"e"}, "edit, as a branch", ask(func(t Target) tea.Msg { return EditMsg{t} })},
	{[]string{"f"}, "go on from here in a copy", ask(func(t Target) tea.Msg { return ForkMsg{t} })},
	{[]string{"w"}, "what went over the wire", ask(func(t Target) tea.Msg { return WireMsg{t} })},
	{[]string{"esc"}, "leave the search, the selection, browsing", always((*Model).back)},
	{[]string{"i"}, "back to writing", always(func(m *Model) { m.Browse(false) })},
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
		rows = append(rows, [2]string{strings.Join(b.keys, ", "), b.does})
	}
	return rows
}

// Update handles the mouse and, while browsing, keys. Copying gives a CopyMsg.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if m.details != nil {
		return m.pressInDetails(msg)
	}
	switch msg.(type) {
	case tea.MouseClickMsg, tea.MouseMotionMsg, tea.MouseReleaseMsg, EdgeMsg:
		return m.moused(msg)
	}
	if _, wheel := msg.(tea.MouseWheelMsg); m.search.typing && !wheel {
		m.typeWord(msg)
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
	if !m.freeze() {
		return
	}
	last := len(m.items) - 1
	if p, inside := m.down(m.top, m.window()-1); inside {
		last = p.item
	}
	m.point(m.solid(last, -1))
}

// point moves the cursor to an item.
func (m *Model) point(i int) { m.cursor, m.code, m.search.hit = i, -1, -1 }

// back leaves what was entered last: the search, the selection, browsing.
func (m *Model) back() {
	switch {
	case m.search.on:
		m.endSearch()
	case m.anchor >= 0:
		m.selectFrom(-1)
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
		return "search: enter keeps it · up down between places · esc leaves"
	case m.details != nil && !m.details.search.on:
		return "details: j k scroll · / search · y copy · esc back"
	case m.search.on || m.details != nil:
		return "search: n N next and previous · / anew · esc leaves"
	case m.anchor >= 0:
		return "select: j k extend · y copy · esc leaves"
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

// pinned reports whether the cursor, or the mouse, keeps the reader from following
// what comes.
func (m *Model) pinned() bool {
	return m.mouse.held || m.browsing && m.cursor < m.solid(len(m.items)-1, -1)
}

// solid returns the next item that has lines, from i on in a direction; if there is
// none, the last one the other way.
func (m *Model) solid(i, direction int) int {
	for j := i; j >= 0 && j < len(m.items); j += direction {
		if len(m.lay(m.items[j])) > 0 {
			return j
		}
	}
	for j := i; j >= 0 && j < len(m.items); j -= direction {
		if len(m.lay(m.items[j])) > 0 {
			return j
		}
	}
	return 0
}

// step moves the cursor to the next block, or to the next message of the
// user's.
func (m *Model) step(direction int, user bool) {
	for i := m.cursor + direction; i >= 0 && i < len(m.items); i += direction {
		if user && m.items[i].kind != aUser || len(m.lay(m.items[i])) == 0 {
			continue
		}
		m.point(i)
		m.reveal()
		return
	}
}

// reveal brings the cursor's block in sight: whole if it fits, else from its
// beginning.
func (m *Model) reveal() {
	if !m.freeze() {
		return
	}
	from, to := pos{m.cursor, 0}, pos{m.cursor, len(m.lay(m.items[m.cursor]))}
	bottom, inside := m.down(m.top, m.window())
	switch {
	case from.before(m.top):
		m.top = from
	case inside && bottom.before(to):
		if m.top = m.up(to, m.window()); m.top.before(from) {
			break
		}
		m.top = from
	}
	m.arrive()
}

// turn moves by parts of a window and takes the cursor along.
func (m *Model) turn(pages float64) {
	m.Page(pages)
	if !m.freeze() {
		return
	}
	last := len(m.items) - 1
	if p, inside := m.down(m.top, m.window()-1); inside {
		last = p.item
	}
	cursor := m.cursor
	if pages > 0 && m.follow {
		cursor = last
	}
	m.point(m.solid(max(m.top.item, min(cursor, last)), 1))
	m.arrive()
}

// ends moves to the first or the last block.
func (m *Model) ends(i int) {
	if i == 0 {
		m.point(m.solid(0, 1))
		m.Top()
		return
	}
	m.point(m.solid(i, -1))
	m.Bottom()
}

// stepCode moves the cursor to the next code block.
func (m *Model) stepCode(direction int) {
	at := m.code
	if at < 0 && direction < 0 {
		at = len(m.codes(m.items[m.cursor]))
	}
	for i := m.cursor; i >= 0 && i < len(m.items); i += direction {
		codes := m.codes(m.items[i])
		if i != m.cursor {
			at = -1
			if direction < 0 {
				at = len(codes)
			}
		}
		if next := at + direction; next >= 0 && next < len(codes) {
			m.point(i)
			m.code = next
			m.jump(pos{i, max(0, codes[next].Line-1)})
			return
		}
	}
}

// toggle folds or unfolds the block under the cursor.
func (m *Model) toggle() {
	it := m.items[m.cursor]
	m.settle()
	now := folded
	if !m.open(it) {
		now = unfolded
	}
	it.fold = now
	it.forget()
	if g := it.group(); g != nil {
		for _, member := range g.members {
			member.forget()
		}
	}
	m.dirty = true
	m.reveal()
}

// toggleAll folds everything if something of it is unfolded, or else unfolds it.
func (m *Model) toggleAll() {
	open := !m.openThinking && !m.openOutput
	m.openThinking, m.openOutput = open, open
	m.refold(func(k kind) bool { return k != anAnswer })
	m.reveal()
}

// selectFrom begins a selection, which goes to the cursor; again, or with -1, it
// ends it.
func (m *Model) selectFrom(i int) {
	if m.anchor >= 0 {
		i = -1
	}
	m.anchor, m.dirty = i, true
}

// selected returns the first and the last of the blocks that are selected: the one
// under the cursor, if there is no selection.
func (m *Model) selected() (low, high int) {
	if m.anchor < 0 {
		return m.cursor, m.cursor
	}
	return min(m.anchor, m.cursor), max(m.anchor, m.cursor)
}

// copyBlock copies the block under the cursor, or all that is selected.
func (m *Model) copyBlock() tea.Cmd {
	low, high := m.selected()
	for high < len(m.items)-1 && m.hidden(m.items[high+1]) {
		high++ // what a group stands for
	}
	m.selectFrom(-1)
	if low == high {
		text, what := m.items[m.meant()].source()
		return copied(text, what)
	}
	var parts []string
	for _, it := range m.items[low : high+1] {
		if text, _ := it.source(); text != "" && !it.footer() {
			parts = append(parts, strings.Trim(text, "\n"))
		}
	}
	return copied(strings.Join(parts, "\n\n"), fmt.Sprintf("%d block%s", len(parts), plural(len(parts))))
}

// meant returns what the block under the cursor stands for: the answer above, or else
// the message, if it is the footer of a turn, which nobody wants to have.
func (m *Model) meant() int {
	if !m.items[m.cursor].footer() {
		return m.cursor
	}
	for i := m.cursor - 1; i >= 0 && !m.items[i].footer(); i-- {
		if k := m.items[i].kind; k == anAnswer || k == aUser {
			return i
		}
	}
	return m.cursor
}

// copyCode copies the chosen code block, or the last one of the block under the
// cursor.
func (m *Model) copyCode() tea.Cmd {
	codes := m.codes(m.items[m.meant()])
	if len(codes) == 0 {
		return nil
	}
	i := m.code
	if i < 0 || i >= len(codes) {
		i = len(codes) - 1
	}
	return copied(codes[i].Text, "code")
}

func copied(text, what string) tea.Cmd {
	if text == "" {
		return nil
	}
	return func() tea.Msg { return CopyMsg{text, what} }
}

// codes returns the code blocks of an item. Reading a long conversation for them
// passes over answers without a fence.
func (m *Model) codes(it *item) []markdown.Code {
	b, ok := it.block.(*answer)
	if !ok {
		return nil
	}
	if !b.mayHaveCode() {
		return nil
	}
	m.lay(it)
	return b.codes(m.theme)
}
