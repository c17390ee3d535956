package chat

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/session"
	"parley/ui/app"
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

// StopShells ends the user's commands that run, and reports whether any did.
func (c *Chat) StopShells() bool {
	for _, run := range c.shells {
		run.cancel()
	}
	return len(c.shells) > 0
}

// OnDraftStored has f called, on any goroutine, once the draft is stored.
func (c *Chat) OnDraftStored(f func()) { c.ended = append(c.ended, f) }

// TakeEndedCommands returns what takes back the records of commands whose output is attached,
// to be called once that is stored.
func (c *Chat) TakeEndedCommands() func() {
	ended := c.ended
	c.ended = nil
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
	end   *session.ShellCommand
	ended func() // takes back the record that it runs, once its output is kept
}

// shellTool returns how a command of the user's own looks.
func shellTool(e session.ShellCommand) transcript.Tool {
	tool := transcript.Tool{Name: "!", Title: e.Command, Status: transcript.Lost, Output: e.Output + e.Notes, Notes: e.Notes, Duration: e.Duration}
	switch {
	case e.Stopped:
		tool.Status = transcript.Canceled
	case e.Ended && e.Failed:
		tool.Status = transcript.Failed
	case e.Ended:
		tool.Status = transcript.Done
	}
	return tool
}

// show shows a command that runs.
func (run *shellRun) show(c *Chat) {
	run.id = c.Transcript.Blocks.NewID()
	c.Transcript.Blocks.SetTool(run.id, transcript.Tool{Name: "!", Title: run.command, Status: transcript.Running, Started: run.started, Hint: stopHint("esc")})
}

// runOf returns the command that an annotation of this conversation is about; nil if it
// does not run.
func (c *Chat) runOf(annotation int) *shellRun {
	for _, run := range c.shells {
		if run.session == c.App.Session && run.n == annotation {
			return run
		}
	}
	return nil
}

// Shell runs a line that began with "!". Its output goes along with the next
// prompt, as a chip that can be taken off; until it is attached, the draft of this key
// has the command on record. Before it runs, forget is called: what was typed does not come back
// (what is attached is stored again soon).
func (c *Chat) Shell(command, draft string, forget func()) tea.Cmd {
	command = strings.TrimSpace(command)
	if command == "" {
		return nil
	}
	if c.App.Shell == nil {
		return c.ShowToast(app.NoShell)
	}
	c.HasContent = true
	c.Transcript.Bottom()
	ctx, cancel := context.WithCancel(context.Background())
	run := &shellRun{session: c.App.Session, command: command, started: c.Now(), cancel: cancel}
	run.n = c.App.Session.Annotate(0, session.ShellCommand{Command: command})
	run.show(c)
	c.shells = append(c.shells, run)
	send, o, owner := c.Send, c.App.Options, run.session.ID()
	c.Go(func() {
		defer cancel()
		ended := o.RecordShell(draft, command)
		forget()
		out := o.Shell(ctx, owner, command, func(text string) { send(shellMsg{run: run, text: text}) })
		end := session.EndedCommand(ctx, command, out)
		send(shellMsg{run: run, end: &end, ended: ended})
	})
	c.App.RememberPrompt("!" + command)
	return nil
}

func (c *Chat) shellSays(msg shellMsg) tea.Cmd {
	run, shown := msg.run, msg.run.session == c.App.Session
	if msg.end == nil {
		if shown {
			c.Transcript.Blocks.AppendToolOutput(run.id, msg.text)
		}
		return nil
	}
	c.shells = slices.DeleteFunc(c.shells, func(r *shellRun) bool { return r == run })
	run.session.Annotate(run.n, *msg.end)
	if shown {
		c.Transcript.Blocks.SetTool(run.id, shellTool(*msg.end))
	}
	part := app.ShellOutput(*msg.end)
	if !app.SharesDraft(c.App, run.session) {
		return func() tea.Msg { return app.AttachToStored(c.App.Options, run.session, part, msg.ended) }
	}
	c.ended = append(c.ended, msg.ended)
	c.App.Attached = append(c.App.Attached, part)
	return c.Perform(app.Attached{part})
}

// stopHint returns the words for the key that stops a tool or a command that runs.
func stopHint(key string) string { return key + " stops it" }
