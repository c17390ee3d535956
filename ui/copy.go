package ui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"parley/ui/clip"
	"parley/ui/safe"
)

type (
	writeMsg  string // is for the terminal, between frames
	copiedMsg struct {
		what   string
		result clip.Result
	}
)

// Board is where text is copied to. Terminal writes a sequence between frames; if
// it is nil, text does not go that way.
func (o Options) Board(terminal func(seq string)) *clip.Board {
	folder, _ := stateFolder(o.Getenv) // without one there is a route less
	return &clip.Board{Getenv: o.Getenv, Folder: folder, Workspace: o.Folder, Terminal: terminal}
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

// Copy returns what copies text as it was to be seen: who pastes it elsewhere
// pastes nothing that was hidden in it, and ends no paste.
func Copy(board *clip.Board, text string) func(context.Context) clip.Result {
	text, hidden := safe.Source(text)
	put := board.Copy(text)
	return func(ctx context.Context) clip.Result {
		result := put(ctx)
		result.Hidden = hidden
		return result
	}
}

// copy puts source text on the clipboard. All that copies ends here.
func (m *Model) copy(text, what string) tea.Cmd {
	if text == "" {
		return m.say("there is nothing to copy")
	}
	put := Copy(m.clip, text)
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
