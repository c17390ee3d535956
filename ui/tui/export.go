package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/clip"
	"parley/ui/tui/dialog"
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

// export writes the conversation to a file in the working folder.
func (m *Model) export(arg string) tea.Cmd {
	format, path, _ := strings.Cut(arg, " ")
	if format == "" {
		return m.open(dialog.Pick("export", "Export as", exportFormats(), m.theme))
	}
	o, s := m.app, m.app.Session
	return m.about("", func() error {
		path, note, err := o.Export(s, format, strings.TrimSpace(path))
		if err == nil {
			m.send(didMsg{text: "wrote " + o.Short(path) + note})
		}
		return err
	})
}

// exportFormats returns the formats of export.
func exportFormats() []dialog.Item {
	return []dialog.Item{
		{Title: "Markdown", Detail: "the current branch, to read or to paste", Value: "md"},
		{Title: "HTML", Detail: "one file for any browser", Value: "html"},
		{Title: "JSONL", Detail: "everything, every branch; parley sessions import takes it", Value: "jsonl"},
	}
}
