package ui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"parley/ui/clip"
)

type (
	writeMsg  string // is for the terminal, between frames
	copiedMsg struct {
		what   string
		result clip.Result
	}
)

// newClip is where text is copied to.
func newClip(m *Model) *clip.Board {
	folder, _ := stateFolder(m.o.Getenv) // without one there is a route less
	return &clip.Board{
		Getenv: m.o.Getenv, Folder: folder, Workspace: m.o.Folder,
		Terminal: func(seq string) { m.send(writeMsg(seq)) },
	}
}

// write sends a sequence to the terminal as it is.
func write(msg writeMsg) tea.Cmd { return tea.Raw(string(msg)) }

func (m *Model) copyAnswer(string) tea.Cmd {
	return m.copy(m.transcript.LastAnswer(), "answer")
}

func (m *Model) copyCode(string) tea.Cmd {
	code, ok := m.transcript.LastCode()
	if !ok {
		return m.say("there is no code block to copy")
	}
	return m.copy(code, "code")
}

// copy puts source text on the clipboard. All that copies ends here.
func (m *Model) copy(text, what string) tea.Cmd {
	if text == "" {
		return m.say("there is nothing to copy")
	}
	put := m.clip.Copy(text)
	return func() tea.Msg { return copiedMsg{what, put(context.Background())} }
}

// copied says which way a text went.
func (m *Model) copied(msg copiedMsg) tea.Cmd {
	if msg.result.Passed {
		return nil
	}
	msg.result.File = m.o.Short(msg.result.File)
	return m.say(msg.result.Say(msg.what))
}
