package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session/attach"
	"parley/ui/tui/composer"
)

type (
	expandedMsg struct { // a prompt with the files it mentions
		text  string
		parts []llm.Part
		notes []string
		err   error
	}
)

// detach takes the last attachment off, with backspace on an empty line.
func (m *Model) detach(string) tea.Cmd {
	last := m.app.Attached[len(m.app.Attached)-1]
	m.app.Attached = m.app.Attached[:len(m.app.Attached)-1]
	m.layout()
	return tea.Batch(m.written(), m.say("took off "+attach.PartLabel(last)))
}

// expand reads the files that a prompt mentions.
func (m *Model) expand(typed composer.SubmitMsg) tea.Cmd {
	o := m.app
	return func() tea.Msg {
		msg := expandedMsg{text: typed.Text}
		msg.parts, msg.notes, msg.err = o.Expand(context.Background(), typed.Typed)
		return msg
	}
}

// expanded sends a prompt with the files it mentions.
func (m *Model) expanded(msg expandedMsg) tea.Cmd {
	if msg.err != nil {
		m.draft(msg.text)
		return m.say(msg.err.Error())
	}
	for _, n := range msg.notes {
		m.note(n)
	}
	for _, n := range m.app.VisionNotes(msg.parts) {
		m.note(n)
	}
	return m.dispatch(msg.text, msg.parts)
}

// labels names attachments.
func labels(parts []llm.Part) []string {
	var out []string
	for _, p := range parts {
		out = append(out, attach.PartLabel(p))
	}
	return out
}
