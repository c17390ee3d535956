package tui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/tui/dialog"
)

// typed handles keys, pastes and the mouse.
func (m *Model) typed(msg tea.Msg) tea.Cmd {
	if mouse, ok := msg.(tea.MouseMsg); ok {
		if cmd, ok := m.mouseInput(mouse); ok {
			return cmd
		}
	}
	talk := m.chat.Transcript
	key, isKey := msg.(tea.KeyPressMsg)
	if isKey {
		talk.Deselect()
	}
	if isKey && key.String() == "alt+esc" { // two quick presses of esc arrive as one key
		key = tea.KeyPressMsg{Code: tea.KeyEscape}
		msg = key
		if m.overlay.Dialog == nil && m.chat.Turn == nil {
			m.keymap.lastEsc = m.Now() // this is the second press
		}
	}
	if m.overlay.Dialog != nil {
		if isKey {
			if cmd, done := overApproval(m, key); done {
				return tea.Batch(cmd, m.overlay.ConfirmDrawn())
			}
			m.keymap.leader = "" // the dialog opened between the two keys
			if cmd, done := m.dialogKey(key.String()); done {
				return tea.Batch(cmd, m.overlay.ConfirmDrawn())
			}
		}
		return m.overlay.HandleInput(msg)
	}
	esc := key.String() == "esc" // while browsing, esc ends browsing and stops nothing
	own := m.input.Composer.Recall.Searching() || esc && (m.input.Composer.HandlesEsc() || talk.Browsing()) || talk.Typing()
	greets := m.view.greeter != nil && !m.chat.HasContent && !m.input.Composer.Recall.Searching() && idle(m)
	if isKey && m.keymap.leader == "" && greets {
		if cmd, done := m.view.greeter.Key(key.String()); done {
			return cmd
		}
	}
	if isKey && !own && m.keymap.leader == "" && m.view.pane != nil && m.input.Composer.Empty() && len(m.App.Attached) == 0 && !talk.Browsing() {
		switch act := m.view.pane.Key(key.String()); {
		case act != nil && key.Text != "":
			return m.overlay.Hold(msg, act)
		case act != nil:
			return act()
		}
	}
	if isKey && !own {
		if cmd, done := m.press(key.String()); done {
			return cmd
		}
	}
	if talk.Browsing() {
		return talk.Update(msg)
	}
	if paste, ok := msg.(tea.PasteMsg); ok {
		if m.view.greeter != nil {
			m.view.greeter.Key("")
		}
		if e, ok := app.AttachDropped(m.App, paste.Content); ok {
			return m.perform(e)
		}
	}
	m.input.ShowQueue()
	cmd := m.input.Composer.Update(msg)
	return tea.Batch(cmd, m.input.Changed())
}

// writesText reports whether msg types a character into the draft or a search, which does not
// affect the message's attachments.
func writesText(m *Model, msg tea.Msg) bool {
	key, ok := msg.(tea.KeyPressMsg)
	return ok && key.Text != "" && key.Code != tea.KeyEnter && m.overlay.Dialog == nil && m.keymap.leader == "" &&
		m.keymap.keys[key.String()] == nil && !m.chat.Transcript.Browsing()
}

// mouseInput handles the mouse outside of dialogs, and reports whether msg was meant for that.
func (m *Model) mouseInput(msg tea.MouseMsg) (tea.Cmd, bool) {
	talk := m.chat.Transcript
	switch {
	case talk.Dragging(), m.overlay.ScrollsTranscript(msg, m.view.height): // wherever the pointer moves
		return talk.Update(msg), true
	case m.overlay.Dialog != nil:
		return nil, false
	}
	at := msg.Mouse()
	_, wheel := msg.(tea.MouseWheelMsg)
	if !wheel && at.X >= m.view.width { // over the column
		return nil, true
	}
	y := at.Y - (m.view.height - 1 - m.input.Height(m.view.width))
	if wheel || y < 0 || at.Y >= m.view.height-1 {
		return talk.Update(msg), true
	}
	if _, click := msg.(tea.MouseClickMsg); !click || at.Button != tea.MouseLeft {
		return nil, true
	}
	talk.Deselect()
	talk.Browse(false)
	return m.input.Click(at.X, y, m.view.width), true
}

// pages lists the actions whose keys a question leaves to the conversation,
// unless it needs them itself.
var pages = []string{"page-up", "page-down", "top", "bottom"}

// aboveDialog returns the action that a key runs even over a dialog, or nil if the key
// is for the dialog.
func aboveDialog(m *Model, key string) *action {
	a := m.keymap.keys[key]
	if a == nil || a.above && a.Group != app.View {
		return a
	}
	if m.overlay.RowsAbove(m.view.height) > 0 && (a.above || m.overlay.IsUnscrollable() && slices.Contains(pages, a.Name)) {
		return a
	}
	return nil
}

// dialogKey handles keys that work over every dialog. Ctrl+c closes the dialog;
// if it asks about a tool call, ctrl+c stops the turn.
func (m *Model) dialogKey(key string) (tea.Cmd, bool) {
	if a := aboveDialog(m, key); a != nil {
		return a.do(m, ""), true
	}
	if key != "ctrl+c" {
		return nil, false
	}
	switch m.overlay.Dialog.(type) {
	case *dialog.Approval, *dialog.ModelQuestion:
		m.chat.Stop()
	case turnDialog:
		if m.chat.Turn != nil {
			return m.chat.Stop(), true // the answers so far can be chosen
		}
	}
	return m.overlay.Interrupt(), true
}

// press runs the action of a key, and reports whether there was one.
func (m *Model) press(key string) (tea.Cmd, bool) {
	if m.keymap.leader != "" {
		second := key
		key, m.keymap.leader, m.keymap.showsNext = m.keymap.leader+" "+key, "", false
		switch a := m.keymap.keys[key]; {
		case a != nil:
			return a.do(m, ""), true
		case second == "esc", second == "ctrl+c":
			return nil, true
		}
		return m.ShowToast("No command on " + key), true
	}
	if m.keymap.leaders[key] {
		return m.keymap.lead(m.Screen, key), true
	}
	if key == "esc" && m.branches.editing > 0 && !m.chat.Transcript.Browsing() {
		m.branches.leaveEdit()
		m.chat.Transcript.Bottom()
		return nil, true
	}
	if key == "esc" && m.chat.Turn == nil {
		if m.chat.StopShells() {
			return nil, true
		}
		return m.escape()
	}
	a := m.keymap.keys[key]
	if a == nil || a.when != nil && !a.when(m) {
		return nil, false
	}
	return a.do(m, ""), true
}

// escWithin is the maximum time between two presses of esc that count as a double press.
const escWithin = 600 * time.Millisecond

// escape handles esc: pressed twice on an empty line it runs its own action.
func (m *Model) escape() (tea.Cmd, bool) {
	twice := m.keymap.keys["esc esc"]
	if m.chat.Transcript.Browsing() || twice == nil || !twice.when(m) {
		return nil, false
	}
	if m.Now().Sub(m.keymap.lastEsc) < escWithin {
		m.keymap.lastEsc = m.Now().Add(-escWithin)
		return twice.do(m, ""), true
	}
	m.keymap.lastEsc = m.Now()
	return nil, true
}

// interrupt handles ctrl+c: it stops the turn, else clears the draft, else quits.
func (m *Model) interrupt() tea.Cmd {
	const quitWithin = 2 * time.Second
	written := m.input.Composer
	switch {
	case m.chat.Turn != nil && !m.chat.Turn.Stopped:
		return m.chat.Stop()
	case m.branches.editing > 0:
		m.branches.leaveEdit()
		m.chat.Transcript.Bottom()
		return nil
	case !written.Empty():
		return m.input.Clear()
	case m.chat.StopShells():
		return nil
	case m.Now().Sub(m.keymap.quitAsked) < quitWithin:
		return m.perform(app.Quit(m.App))
	}
	m.keymap.quitAsked = m.Now()
	return m.ShowToastWhile("Press ctrl+c again to quit", func() bool { return m.Now().Sub(m.keymap.quitAsked) < quitWithin && written.Empty() })
}
