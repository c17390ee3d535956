package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session/attach"
	"parley/ui/app"
	"parley/ui/tui/composer"
)

// What became of something that was to be attached.
type (
	attachedMsg struct {
		items []attach.Attachment
		err   error
	}
	expandedMsg struct { // a prompt with the files it mentions
		text  string
		parts []llm.Part
		notes []string
		err   error
	}
)

// attach reads the files that arg names, or the picture on the clipboard.
func (m *Model) attach(arg string) tea.Cmd {
	if arg == "" {
		return m.attachClipboard("")
	}
	return func() tea.Msg {
		items, err := app.Attach(arg)
		return attachedMsg{items, err}
	}
}

func (m *Model) attachFiles(paths []string) tea.Cmd {
	return func() tea.Msg {
		items, err := app.AttachFiles(paths)
		return attachedMsg{items, err}
	}
}

// attachClipboard takes the picture on the clipboard.
func (m *Model) attachClipboard(string) tea.Cmd {
	board := m.clip
	return func() tea.Msg {
		data, err := board.Image(context.Background())
		if err != nil {
			return attachedMsg{err: err}
		}
		item, err := attach.FromBytes("pasted.png", data, attach.DefaultLimits())
		if err != nil {
			return attachedMsg{err: err}
		}
		return attachedMsg{items: []attach.Attachment{item}}
	}
}

// took adds attachments to the prompt that is being written.
func (m *Model) took(msg attachedMsg) tea.Cmd {
	for _, item := range msg.items {
		m.app.Attached = append(m.app.Attached, item.Part)
		if item.Note != "" {
			m.note(item.Part.Name + ": " + item.Note)
		}
	}
	if len(msg.items) > 0 {
		m.blindTo(msg.items[0].Part)
	}
	m.layout()
	cmd := m.written()
	if msg.err != nil {
		return tea.Batch(cmd, m.say(msg.err.Error()))
	}
	return cmd
}

// blindTo tells, before anything is sent, that the model takes no pictures.
func (m *Model) blindTo(p llm.Part) {
	if model := m.app.Session.Model(); app.LacksVision(model, p) {
		m.note(model.Name + " takes no images: it will only be told that there was one. " + m.keyOf("model") + " picks a model with vision")
	}
}

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
	if len(msg.parts) > 0 {
		m.blindTo(msg.parts[0])
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
