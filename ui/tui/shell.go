package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/ui/app"
	"parley/ui/tui/composer"
	"parley/ui/tui/transcript"
)

// A shellRun is a command of the user's own that runs.
type shellRun struct {
	session *session.Session
	n       int    // its annotation there
	id      string // in the transcript
	command string
	started time.Time
	cancel  context.CancelFunc
}

// shells are the commands of the user's own.
type shells struct {
	running []*shellRun
	ended   []func() // take back the records of those whose output is attached
}

// stop ends those that run, and reports whether any did.
func (s *shells) stop() bool {
	for _, run := range s.running {
		run.cancel()
	}
	return len(s.running) > 0
}

// takeEnded returns what takes back the records of commands whose output is attached,
// to be called once that is stored.
func (s *shells) takeEnded() func() {
	ended := s.ended
	s.ended = nil
	return func() {
		for _, end := range ended {
			end()
		}
	}
}

// shellMsg is news of a command: live output, or its end.
type shellMsg struct {
	run   *shellRun
	text  string
	end   *tools.Outcome
	ended func() // takes back the record that it runs, once its output is kept
}

// shellTool is how a command of the user's own looks.
func shellTool(e session.ShellCommand) transcript.Tool {
	tool := transcript.Tool{Name: "!", Title: e.Command, Status: transcript.Lost, Output: e.Output, Duration: e.Duration}
	switch {
	case e.Ended && e.Failed:
		tool.Status = transcript.Failed
	case e.Ended:
		tool.Status = transcript.Done
	}
	return tool
}

// show shows a command that runs.
func (run *shellRun) show(c *chat) {
	run.id = c.transcript.NewID()
	c.transcript.Tool(run.id, transcript.Tool{Name: "!", Title: run.command, Status: transcript.Running, Started: run.started})
}

// runOf returns the command that an annotation of this conversation is about; nil if it
// does not run.
func (m *Model) runOf(annotation int) *shellRun {
	for _, run := range m.shells.running {
		if run.session == m.app.Session && run.n == annotation {
			return run
		}
	}
	return nil
}

// shell runs a line that began with "!". Its output goes along with the next
// prompt, as a chip that can be taken off.
func (m *Model) shell(command string) tea.Cmd {
	command = strings.TrimSpace(command)
	if command == "" {
		return nil
	}
	if m.app.Shell == nil {
		return m.say("there is no shell here")
	}
	m.chat.shown = true
	m.chat.transcript.Bottom()
	ctx, cancel := context.WithCancel(context.Background())
	run := &shellRun{session: m.app.Session, command: command, started: m.now(), cancel: cancel}
	run.n = m.app.Session.Annotate(0, session.ShellCommand{Command: command})
	run.show(&m.chat)
	m.shells.running = append(m.shells.running, run)
	send, o, key := m.send, m.app, m.draftKey()
	m.running.Add(1)
	go m.guard(func() {
		defer m.running.Done()
		defer cancel()
		ended := o.RecordShell(key, command)
		out := o.Shell(ctx, command, func(text string) { send(shellMsg{run: run, text: text}) })
		send(shellMsg{run: run, end: &out, ended: ended})
	})
	m.app.Library.AddPromptAsync(session.SentPrompt{Text: "!" + command, Dir: m.app.Folder, At: m.now()})
	return nil
}

func (m *Model) shellSays(msg shellMsg) tea.Cmd {
	run, shown := msg.run, msg.run.session == m.app.Session
	if msg.end == nil {
		if shown {
			m.chat.transcript.ToolOutput(run.id, msg.text)
		}
		return nil
	}
	m.shells.running = slices.DeleteFunc(m.shells.running, func(r *shellRun) bool { return r == run })
	m.shells.ended = append(m.shells.ended, msg.ended)
	e := session.ShellCommand{Command: run.command, Output: msg.end.Text, Failed: msg.end.Failed, Ended: true, Duration: msg.end.Duration}
	run.session.Annotate(run.n, e)
	if shown {
		m.chat.transcript.Tool(run.id, shellTool(e))
	}
	m.app.Attached = append(m.app.Attached, llm.Part{
		Kind: llm.Text, Name: "output of " + app.FirstLine(run.command),
		Text: fmt.Sprintf("<output command=%q>\n%s\n</output>", run.command, msg.end.Text),
	})
	m.layout()
	return m.written()
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
		out[i] = composer.Candidate{Text: f.Path, Directory: f.Folder}
	}
	for _, r := range m.app.ResourcesNamed(word) {
		out = append(out, composer.Candidate{Text: r.Server + ":" + r.URI, Detail: r.Name})
	}
	return out, more
}
