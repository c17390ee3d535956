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

// A shellRun is a running shell command of the user.
type shellRun struct {
	session *session.Session
	n       int    // number of its annotation in session
	id      string // id of its block in the transcript
	command string
	started time.Time
	cancel  context.CancelFunc
}

// StopShells stops the user's running commands, and reports whether there were any.
func (c *Chat) StopShells() bool {
	for _, run := range c.shells {
		run.cancel()
	}
	return len(c.shells) > 0
}

// OnDraftStored registers f, to be called once the draft is stored, on any goroutine.
func (c *Chat) OnDraftStored(f func()) { c.ended = append(c.ended, f) }

// TakeEndedCommands returns a function that removes the records of commands whose output is
// attached. Call it once the output is stored.
func (c *Chat) TakeEndedCommands() func() {
	ended := c.ended
	c.ended = nil
	return func() {
		for _, end := range ended {
			end()
		}
	}
}

// shellMsg reports live output of a command, or its end.
type shellMsg struct {
	run   *shellRun
	text  string
	end   *session.ShellCommand
	ended func() // removes the record of the running command, once its output is stored
}

// shellTool returns the display of a command as a tool call.
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

// show shows a running command.
func (run *shellRun) show(c *Chat) {
	run.id = c.Transcript.Blocks.NewID()
	c.Transcript.Blocks.SetTool(run.id, transcript.Tool{Name: "!", Title: run.command, Status: transcript.Running, Started: run.started, Hint: stopHint("esc")})
}

// runOf returns the running command of an annotation of this conversation; nil if there
// is none.
func (c *Chat) runOf(annotation int) *shellRun {
	for _, run := range c.shells {
		if run.session == c.App.Session && run.n == annotation {
			return run
		}
	}
	return nil
}

// Shell runs a line that began with "!". Its output goes with the next prompt, as a chip that
// can be removed. Until the output is attached, the draft stored under the key draft records the
// command. Shell calls forget before it runs the command, so that the typed text is not restored
// (attachments are stored again soon).
func (c *Chat) Shell(command, draft string, forget func()) tea.Cmd {
	command = strings.TrimSpace(command)
	if command == "" {
		return nil
	}
	if c.App.Machine.Shell == nil {
		return c.ShowToast("No shell here")
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
		ended := o.Drafts().RecordShell(draft, command)
		forget()
		out := o.Machine.Shell(ctx, owner, command, func(text string) { send(shellMsg{run: run, text: text}) })
		end := session.EndedCommand(ctx, command, out)
		send(shellMsg{run: run, end: &end, ended: ended})
	})
	c.App.Drafts().RememberPrompt("!" + command)
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
	if c.App.Drafts().Key(run.session) != c.App.DraftKey() {
		return func() tea.Msg { return app.AttachToStored(c.App.Options, run.session, part, msg.ended) }
	}
	c.ended = append(c.ended, msg.ended)
	c.App.Attached = append(c.App.Attached, part)
	return c.Perform(app.Attached{part})
}

// stopHint returns a hint for the key that stops a running tool or command.
func stopHint(key string) string { return key + " stops it" }
