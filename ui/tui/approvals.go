package tui

import (
	tea "charm.land/bubbletea/v2"
)

// A coverable is a question about the turn that another dialog may cover.
type coverable interface {
	HandlesKey(tea.KeyPressMsg) bool
	NoteTyping() tea.Cmd
}

// overApproval runs the action of a key that the open approval or question does not use, such as one
// that opens another dialog. The question returns unchanged afterwards. Such a key
// answers nothing, nor does the second key of a sequence.
func overApproval(m *Model, press tea.KeyPressMsg) (tea.Cmd, bool) {
	approval, ok := m.overlay.Dialog.(coverable)
	key := press.String()
	switch {
	case !ok:
		return nil, false
	case m.keymap.leader != "", m.keymap.leaders[key] && press.Text == "":
		cmd, done := m.press(key)
		return tea.Batch(cmd, approval.NoteTyping()), done
	case key == "ctrl+c", approval.HandlesKey(press):
		return nil, false
	}
	a := m.keymap.keys[key]
	if a == nil || a.when != nil || a.above {
		return nil, false
	}
	return a.do(m, ""), true
}
