package ui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/session"
	"parley/session/archive"
	"parley/ui/clip"
	"parley/ui/dialog"
	"parley/ui/print"
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

// export writes the conversation to a file in the working folder.
func (m *Model) export(arg string) tea.Cmd {
	format, path, _ := strings.Cut(arg, " ")
	if format == "" {
		return m.open(dialog.Pick("export", "Export as", exports(), m.theme))
	}
	o, s := m.o, m.session
	return m.about("", func() error {
		path, note, err := o.Export(s, format, strings.TrimSpace(path))
		if err == nil {
			m.send(didMsg{text: "wrote " + o.Short(path) + note})
		}
		return err
	})
}

// Export writes the conversation of s to a new file, without the keys that Mask
// knows. It returns its path, and what to tell behind it: how many texts held
// such keys, "" for none. See print.Export.
func (o Options) Export(s *session.Session, format, path string) (written, note string, err error) {
	about, _, err := o.Library.Read(s.ID())
	if err != nil { // it is not kept
		about = session.Summary{ID: s.ID(), Model: s.Model().Name, Created: o.Now()}
	}
	about.Head = s.Head()
	shown, _ := o.Library.Annotations(s.ID()) // the messages are what matters
	c := archive.Conversation{Session: about, Nodes: s.Nodes(), Annotations: shown}
	if o.Mask != nil {
		mask, err := o.Mask()
		if c = archive.Masked(c, mask); c.Masked > 0 {
			note = " · keys masked in " + several(c.Masked, "text")
		}
		if err != nil {
			note += " · " + strings.ReplaceAll(err.Error(), "\n", " · ")
		}
	}
	written, err = print.Export(c, format, path, o.Folder)
	return written, note, err
}

// exports are the formats of export.
func exports() []dialog.Item {
	return []dialog.Item{
		{Title: "Markdown", Detail: "the current branch, to read or to paste", Value: "md"},
		{Title: "HTML", Detail: "one file for any browser", Value: "html"},
		{Title: "JSONL", Detail: "everything, every branch; parley sessions import takes it", Value: "jsonl"},
	}
}
