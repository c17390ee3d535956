package tui

import (
	"parley/providers/llm"
	"parley/session/attach"
	"parley/ui/tui/composer"

	tea "charm.land/bubbletea/v2"
)

// What follows is about what is not sent yet: queued, put aside, taken back.

// unqueue puts what waits to be sent back into the composer.
func (m *Model) unqueue(string) tea.Cmd {
	waiting := m.app.Session.Unqueue()
	for i := range waiting {
		m.takeBack(waiting[len(waiting)-1-i])
	}
	m.composer.SetQueue(nil)
	m.layout()
	return nil
}

// unqueueAt takes one queued prompt back, to be edited or to be dropped.
func (m *Model) unqueueAt(msg composer.UnqueueMsg) tea.Cmd {
	for i, waiting := range m.app.Session.Queued() {
		text, _ := attach.SplitMessage(waiting)
		if i != msg.Index || text != msg.Text {
			continue
		}
		if taken, ok := m.app.Session.UnqueueAt(i, waiting.Text()); ok && msg.Edit {
			m.takeBack(taken)
		}
	}
	m.composer.SetQueue(m.queuedTexts())
	m.layout()
	return nil
}

// queuedTexts is what waits to be sent.
func (m *Model) queuedTexts() []string {
	var texts []string
	for _, waiting := range m.app.Session.Queued() {
		text, _ := attach.SplitMessage(waiting)
		texts = append(texts, text)
	}
	return texts
}

// stash puts the draft aside, or brings back what was.
func (m *Model) stash(string) tea.Cmd {
	defer m.layout()
	if m.composer.Empty() {
		if !m.composer.Unstash() {
			return m.say("nothing was put aside")
		}
		return m.written()
	}
	m.rememberDraft()
	m.composer.Stash()
	return tea.Batch(m.written(), m.say("put aside: "+m.keyOf("stash")+" on an empty line brings it back"))
}

// takeBack makes a message of the person's a draft again, attachments included.
func (m *Model) takeBack(msg llm.Message) {
	text, attached := attach.SplitMessage(msg)
	m.app.Attached = append(m.app.Attached, attached...)
	m.draft(text)
}
