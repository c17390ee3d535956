package dialog

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/act"
	"parley/ui/describe"
)

const (
	// minTextRows is the minimum number of rows of a scrolling text above the list of choices. With
	// fewer, the choices are a row.
	minTextRows = 10
	// minSelectWidth is the width below which choices have only letters, because a selection sign
	// does not fit.
	minSelectWidth = 20
	// minNameWidth is the minimum width of a truncated name, in cells.
	minNameWidth = 6
)

// choicesOf returns the possible answers in list order.
func choicesOf(a *Approval) []describe.Choice {
	return describe.Choices(a.action, a.Editor != nil, a.draft.network)
}

// rowOrder returns the answers in row order. Deny is second, because the last ones may not fit.
func rowOrder(a *Approval) []describe.Choice {
	list := choicesOf(a)
	list = slices.DeleteFunc(list, func(c describe.Choice) bool { return c == describe.DenyCall })
	return slices.Insert(list, 1, describe.DenyCall)
}

// letterOf returns the key for a choice.
func letterOf(c describe.Choice) keyName {
	return map[describe.Choice]keyName{
		describe.AllowOnce: keyOnce, describe.AllowSession: keySession, describe.AlwaysAllow: keyAlways,
		describe.DenyCall: keyDeny, describe.EditArguments: keyEdit, describe.WithNetwork: keyNetwork,
	}[c]
}

// choiceOf returns the answer for a key: the one with its letter, or the selected one for enter;
// NoChoice for other keys.
func choiceOf(a *Approval, press tea.KeyPressMsg) describe.Choice {
	if pressed(press, keyAccept) && a.hasSelection() {
		return a.selected
	}
	if a.action.IsOrdinaryEdit() && pressed(press, keyAllEdits) {
		return describe.AllowSession
	}
	for c := describe.AllowOnce; c <= describe.WithNetwork; c++ {
		if pressed(press, letterOf(c)) {
			return c
		}
	}
	return describe.NoChoice
}

// takeChoice executes a choice.
func takeChoice(a *Approval, c describe.Choice) tea.Cmd {
	switch c {
	case describe.AllowOnce:
		return a.reply(act.Approval{Verdict: act.Allow, Network: a.draft.network})
	case describe.AllowSession:
		return a.reply(act.Approval{Verdict: act.Allow, Session: true})
	case describe.AlwaysAllow:
		a.startRule()
	case describe.DenyCall:
		if a.action.OfPrompt {
			return a.reply(act.Approval{Verdict: act.Deny})
		}
		a.state = noting
	case describe.EditArguments:
		a.startEdit()
	case describe.WithNetwork:
		a.draft.network, a.selected = !a.draft.network, describe.AllowOnce
		a.arrange()
		a.Gate.markAllSeen() // the text stays the same; only the network changes
	}
	return nil
}

// SelectNone clears the selection, so that enter answers nothing: the user is typing and may press
// enter to send the text.
func (a *Approval) SelectNone() { a.selected = describe.NoChoice }

// hasSelection reports whether there is room to show the selection.
func (a *Approval) hasSelection() bool { return a.width >= minSelectWidth }

// selectNext handles keys that select another answer, and reports whether msg was one. In the list these
// are arrows and tab; in the row tab, left and right, and up and down if there is no text to scroll. They
// do nothing until the call has been visible for settleDelay.
func selectNext(a *Approval, msg tea.Msg) bool {
	press, ok := msg.(tea.KeyPressMsg)
	if !ok || !a.hasSelection() {
		return false
	}
	by, order := 0, rowOrder(a)
	up, down := false, false
	if a.listRows() > 0 {
		order = choicesOf(a)
	}
	if a.listRows() > 0 || len(a.rows) <= a.visible() {
		move := moveOf(press, scrollMode{covering: true})
		up, down = move == keyUp, move == keyDown
	}
	switch {
	case down, pressed(press, keyNext):
		by = 1
	case up, pressed(press, keyPrevious) && choiceOf(a, press) == describe.NoChoice:
		by = -1
	default:
		return false
	}
	at := slices.Index(order, a.selected)
	switch {
	case !a.Gate.isCalm():
	case at < 0 && by < 0:
		a.selected = order[len(order)-1]
	default:
		a.selected = order[min(max(at+by, 0), len(order)-1)]
	}
	return true
}

// listRows returns the height of the list of choices with the empty row above it, or 0 if the choices are
// shown in a row. The list must not make a fitting text scroll. A text that scrolls anyway keeps at
// least minTextRows.
func (a *Approval) listRows() int {
	if !a.hasSelection() {
		return 0
	}
	list := len(choicesOf(a))
	if a.air() > 0 && !a.headless {
		list++
	}
	room := a.mostRows()
	if len(a.rows)+list <= room || len(a.rows) > room && room-list >= minTextRows {
		return list
	}
	return 0
}

// choiceList returns the list of choices, below an empty row. The content of the call never reaches the
// first cell of a row, so it cannot imitate the band.
func choiceList(a *Approval) []string {
	if a.listRows() == 0 {
		return nil
	}
	var rows []string
	if a.air() > 0 && !a.headless {
		rows = append(rows, "")
	}
	for _, c := range choicesOf(a) {
		letter, style := a.theme.Accent.Bold(true), choiceStyle(a, c)
		if !a.isArmed() && c != describe.DenyCall {
			letter = style
		}
		room := max(a.inner()-signWidth-3, 0)
		label := c.Phrase(a.action, sessionScope(a.action, "Allow ", room), a.draft.network)
		row := a.sign(c == a.selected) + letter.Render(letterOf(c).String()) + "  " + style.Render(ansi.Truncate(label, room, "…"))
		if key := keyAllEdits.String(); c == describe.AllowSession && a.action.IsOrdinaryEdit() && ansi.StringWidth(row)+titleGap+len(key) <= a.inner() {
			row += strings.Repeat(" ", titleGap) + a.theme.Dim.Render(key)
		}
		rows = append(rows, row)
	}
	return rows
}

// choiceStyle returns the style of an answer: dim while its key does not work.
func choiceStyle(a *Approval, c describe.Choice) lipgloss.Style {
	switch {
	case !a.isArmed() && c != describe.DenyCall:
		return a.theme.Dim
	case c == a.selected:
		return a.theme.Strong
	}
	return a.theme.Text
}

// denyWord returns the verb for a denial; denying a plan means to keep planning.
func denyWord(of *act.Action) string {
	if of.Proposal != "" {
		return "keep planning"
	}
	return "deny"
}

// listFoot returns the key hints below the list.
func listFoot(a *Approval) string {
	keys := []hint{keyAccept.hint("choose"), keyDismiss.hint(denyWord(a.action)), keyDetails.hint("details")}
	if a.selected == describe.NoChoice {
		keys[0] = scrollHint("select")
	}
	return a.keyHints(keys...)
}

// A rowEntry is a choice in the row.
type rowEntry struct {
	choice describe.Choice // NoChoice for the details key
	text   string
}

// choiceRow returns the choices as a row, with short words if space is tight. It omits choices that
// do not fit, except deny and the selected one.
func choiceRow(a *Approval, deny hint) string {
	room := a.footWidth()
	if a.hasSelection() && a.selected != describe.NoChoice {
		room -= signWidth
	}
	entries := rowEntries(a, "allow ", room)
	if rowWidth(entries) > room {
		entries = rowEntries(a, "", room)
	}
	if at := slices.IndexFunc(entries, func(e rowEntry) bool { return a.selected != describe.NoChoice && e.choice == a.selected }); at > 1 && rowWidth(entries[:at+1]) > room {
		entries = slices.Concat(entries[at:at+1], entries[1:at], entries[at+1:], entries[:1])
	}
	var parts []string
	for i, e := range entries {
		cells := ansi.StringWidth(e.text)
		if i > 0 {
			cells += ansi.StringWidth(hintSeparator)
		}
		if cells > room {
			continue
		}
		room -= cells
		style, sign := a.theme.Text, ""
		if !a.isArmed() {
			style = a.theme.Faint
		}
		if a.hasSelection() && e.choice != describe.NoChoice && e.choice == a.selected {
			style, sign = choiceStyle(a, e.choice), a.sign(true)
		}
		parts = append(parts, sign+style.Render(e.text))
	}
	if len(parts) == 0 {
		return a.keyHint(a.theme.Text, deny)
	}
	return strings.Join(parts, a.theme.Faint.Render(hintSeparator))
}

// rowWidth returns the width of entries, in cells.
func rowWidth(entries []rowEntry) int {
	width := -ansi.StringWidth(hintSeparator)
	for _, e := range entries {
		width += ansi.StringWidth(e.text) + ansi.StringWidth(hintSeparator)
	}
	return width
}

// rowEntries returns the choices of a row of room cells, each after its letter, and the details
// key. allow is "allow ", or "" if space is tight.
func rowEntries(a *Approval, allow string, room int) []rowEntry {
	words := map[describe.Choice]string{
		describe.AllowOnce: allow + "once", describe.DenyCall: "deny", describe.EditArguments: "edit",
		describe.AlwaysAllow: "always…", describe.WithNetwork: allow + "with network",
	}
	if allow != "" {
		words[describe.AlwaysAllow] = "always allow…"
	}
	if a.draft.network {
		words[describe.AllowOnce], words[describe.WithNetwork] = "allow with network", "without network"
	}
	if a.action.Proposal != "" {
		words = map[describe.Choice]string{describe.AllowOnce: "accept", describe.AllowSession: "accept, mode auto", describe.DenyCall: "keep planning", describe.EditArguments: "edit"}
	}
	fill := func() (list []rowEntry) {
		for _, c := range rowOrder(a) {
			list = append(list, rowEntry{c, letterOf(c).String() + " " + words[c]})
		}
		return append(list, rowEntry{text: keyDetails.String() + " details"})
	}
	if a.action.IsOrdinaryEdit() {
		words[describe.AllowSession] = allow + "all edits"
	}
	if words[describe.AllowSession] != "" {
		return fill()
	}
	for _, beside := range []int{7, 5, 4, 3} { // the scope matters more than the last entries
		words[describe.AllowSession] = ""
		others := fill()
		left := room - rowWidth(others[:min(beside, len(others))])
		words[describe.AllowSession] = sessionScope(a.action, allow, left)
		if ansi.StringWidth(words[describe.AllowSession]) <= left {
			break
		}
	}
	return fill()
}

// sessionScope returns the scope of an approval for the session, after the word allow, in about
// width cells. It truncates the beginning of a long name.
func sessionScope(of *act.Action, allow string, width int) string {
	const session = "this session"
	what, name := describe.SessionScope(of)
	if name == "" {
		return allow + session
	}
	if over := ansi.StringWidth(name) - max(width-len(allow)-len(what)-len(session)-1, minNameWidth); over > 0 {
		name = ansi.TruncateLeft(name, over+1, "…")
	}
	return allow + what + name + " " + session
}

// NoteTyping records that a key was pressed for another part of the screen.
func (a *Approval) NoteTyping() tea.Cmd { return a.Gate.onTyping() }

// HandlesKey reports whether a key belongs to the approval: it answers, selects, scrolls or
// types. Function keys never do.
func (a *Approval) HandlesKey(press tea.KeyPressMsg) bool {
	switch {
	case press.Code >= tea.KeyF1 && press.Code <= tea.KeyF63:
		return false
	case a.state == editing, a.state == noting, isPrintable(press):
		return true
	}
	return moveOf(press, scrollMode{covering: true}) >= 0 ||
		pressed(press, keyAccept, keyClose, keyDismiss, keyDetails, keyNext, keyPrevious, keyWider, keyNarrower, keyErase)
}
