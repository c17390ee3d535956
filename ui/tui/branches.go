package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session/attach"
	"parley/ui/format"
	"parley/ui/tui/composer"
	"parley/ui/tui/dialog"
)

// What follows goes from one branch of the conversation to another, and grows new
// ones.

// tree shows the ways the conversation went.
func (m *Model) tree(string) tea.Cmd {
	branches := m.app.Session.Branches()
	rows := make([]dialog.Branch, len(branches))
	for i, b := range branches {
		rows[i] = dialog.Branch{
			Seq: b.Node.Seq, Depth: b.Depth, Label: "you", Text: spoken(b.Node.Message), Length: b.Descendants,
			Model: b.Node.Model, Current: b.Active, Head: b.Active && b.Tip == m.app.Session.Head(),
		}
		if !b.Node.At.IsZero() {
			rows[i].Age = format.Age(m.now().Sub(b.Node.At))
		}
		if b.Node.Role != llm.RoleUser {
			rows[i].Label = "answer"
		}
	}
	return m.open(dialog.Tree(rows, m.theme))
}

// switchTo goes on at the end of the branch that a message is on.
func (m *Model) switchTo(seq int) tea.Cmd {
	if err := m.app.Session.SwitchBranch(seq); err != nil {
		return m.say(err.Error())
	}
	m.redraw()
	m.chat.transcript.Show(seq)
	return nil
}

// redraw shows the current branch anew.
func (m *Model) redraw() {
	m.chat.transcript.Clear()
	m.chat.replay(m.app.Session)
	m.layout()
}

// edit takes a message of the user's into the composer, to be sent anew as a
// branch. Nothing changes before that.
func (m *Model) edit(seq int) tea.Cmd {
	if m.chat.turn != nil {
		return m.say("stop the running turn first")
	}
	n, err := m.app.Session.At(seq)
	if err != nil || n.Summary || n.Role != llm.RoleUser && (n.Role != llm.RoleAssistant || len(n.Calls()) > 0) {
		return m.say("your messages can be edited, and answers that call no tools")
	}
	m.chat.transcript.Browse(false)
	if !m.composer.Empty() {
		m.composer.Stash()
	}
	text, attached := attach.SplitMessage(n.Message)
	m.editing, m.app.Attached = seq, attached
	m.composer.SetPlain(text) // a model's words, perhaps
	m.chat.transcript.Show(seq)
	m.layout()
	return nil
}

// leaveEdit goes back to how things were before edit.
func (m *Model) leaveEdit() tea.Cmd {
	m.editing, m.app.Attached = 0, nil
	m.composer.Reset()
	if m.composer.Stashed() > 0 {
		m.composer.Unstash()
	}
	m.chat.transcript.Bottom()
	m.layout()
	return m.written()
}

// rewrite puts text in the place of an answer that is being edited, and reports
// whether one is. Nothing is sent.
func (m *Model) rewrite(text string) bool {
	if !m.rewrites() {
		return false
	}
	n, _ := m.app.Session.At(m.editing)
	m.editing = 0
	if was := n.Text(); composer.Plain(was) != was {
		text = strings.TrimPrefix(text, " ") // which kept it from running
	}
	if err := m.app.Session.Rewrite(n.Seq, text); err != nil {
		m.note(err.Error())
		return true
	}
	m.redraw()
	return true
}

// branch makes what is sent next an edit of the message that was chosen.
func (m *Model) branch() error {
	if m.editing == 0 {
		return nil
	}
	seq := m.editing
	m.editing = 0
	if _, err := m.app.Session.Edit(seq); err != nil {
		return err
	}
	m.redraw()
	return nil
}
