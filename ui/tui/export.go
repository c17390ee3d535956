package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/clip"
)

type (
	writeMsg  string // is for the terminal, between frames
	copiedMsg struct {
		what   string
		result clip.Result
	}
)

// write sends a sequence to the terminal as it is.
func write(msg writeMsg) tea.Cmd { return tea.Raw(string(msg)) }

func (m *Model) copyAnswer(string) tea.Cmd {
	return m.copy(m.chat.transcript.LastAnswer(), "answer")
}

func (m *Model) copyCode(string) tea.Cmd {
	code, ok := m.chat.transcript.LastCode()
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
	put := app.Copy(m.clip, text)
	return func() tea.Msg { return copiedMsg{what, put(context.Background())} }
}

// copied says which way a text went.
func (m *Model) copied(msg copiedMsg) tea.Cmd {
	if msg.result.Passed {
		return nil
	}
	msg.result.File = m.app.Short(msg.result.File)
	return m.say(msg.result.Message(msg.what))
}
