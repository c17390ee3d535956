package ui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/ui/composer"
	"parley/ui/transcript"
)

// shellMsg is news of a command of the person's own: live output, or its end.
type shellMsg struct {
	id, text string
	end      *tools.Outcome
	command  string
	ended    func() // takes back the record that it runs, once its output is kept
}

// shell runs a line that began with "!". Its output goes along with the next
// prompt, as a chip that can be taken off.
func (m *Model) shell(command string) tea.Cmd {
	command = strings.TrimSpace(command)
	if command == "" {
		return nil
	}
	if m.o.Shell == nil {
		return m.say("there is no shell here")
	}
	id := m.transcript.NewID()
	m.shown = true
	m.transcript.Bottom()
	m.transcript.Tool(id, transcript.Tool{Name: "!", Title: command, Status: transcript.Running, Started: m.now()})
	ctx, cancel := context.WithCancel(context.Background())
	if m.shellsRun == nil {
		m.shellsRun = map[string]context.CancelFunc{}
	}
	m.shellsRun[id] = cancel
	run, send, o, key := m.o.Shell, m.send, m.o, m.draftKey()
	m.running.Add(1)
	go m.guard(func() {
		defer m.running.Done()
		defer cancel()
		ended := o.RecordShell(key, command)
		out := run(ctx, command, func(text string) { send(shellMsg{id: id, text: text}) })
		send(shellMsg{id: id, end: &out, command: command, ended: ended})
	})
	m.o.Library.RememberLater(session.Past{Text: "!" + command, Folder: m.o.Folder, At: m.now()})
	return nil
}

func (m *Model) shellSays(msg shellMsg) tea.Cmd {
	if msg.end == nil {
		m.transcript.ToolOutput(msg.id, msg.text)
		return nil
	}
	delete(m.shellsRun, msg.id)
	m.endedShells = append(m.endedShells, msg.ended)
	tool := transcript.Tool{Name: "!", Title: msg.command, Status: transcript.Done, Output: msg.end.Text, Took: msg.end.Took}
	if msg.end.Failed {
		tool.Status = transcript.Failed
	}
	m.transcript.Tool(msg.id, tool)
	m.attached = append(m.attached, llm.Part{
		Kind: llm.Text, Name: "output of " + firstLine(msg.command),
		Text: fmt.Sprintf("<output command=%q>\n%s\n</output>", msg.command, msg.end.Text),
	})
	m.layout()
	return m.written()
}

// stopShells ends the commands of the person's own, and reports whether any ran.
func (m *Model) stopShells() bool {
	for _, cancel := range m.shellsRun {
		cancel()
	}
	return len(m.shellsRun) > 0
}

// complete finds what the word behind an @ may become.
func (m *Model) complete(kind rune, word string) ([]composer.Candidate, bool) {
	const most = 50
	if kind != '@' {
		return nil, false
	}
	found, more := m.files.Find(word, most)
	out := make([]composer.Candidate, len(found))
	for i, f := range found {
		out[i] = composer.Candidate{Text: f.Path, Folder: f.Folder}
	}
	for _, r := range m.o.resourcesNamed(word) {
		out = append(out, composer.Candidate{Text: r.Server + ":" + r.URI, Detail: r.Name})
	}
	return out, more
}
