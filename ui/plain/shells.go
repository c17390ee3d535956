package plain

import (
	"context"

	"parley/session"
	"parley/ui/app"
	"parley/ui/plain/console"
)

// shells runs the user's shell commands.
type shells struct {
	*deps
	transcript *transcript
	drafts     *drafts

	running map[int]context.CancelFunc // by number of the command
	count   int                        // number of the latest command
}

// run runs a command, writes its output line by line, and attaches the output to the next message.
func (s *shells) run(command string) {
	if s.app.Machine.Shell == nil || command == "" {
		s.writeLine("! and a command run it in your shell.")
		return
	}
	s.count++
	id := s.count
	ctx, cancel := context.WithCancel(s.ctx)
	s.running[id] = cancel
	s.app.Drafts().RememberPrompt("!" + command)
	run, record, key := s.app.Machine.Shell, s.app.Drafts().RecordShell, s.app.DraftKey()
	own := s.app.Session
	n := own.Annotate(0, session.ShellCommand{Command: command})
	s.async(func() func() {
		defer cancel()
		var live console.Output
		ended := record(key, command)
		out := run(ctx, own.ID(), command, func(text string) {
			if whole := live.Add(text); whole != "" { // send blocks a command that writes faster than the terminal
				s.send(func() { s.out.Block(whole) }, ctx.Done())
			}
		})
		e := session.EndedCommand(ctx, command, out) // while only the user can have stopped the command
		return func() {
			own.Annotate(n, e)
			delete(s.running, id)
			s.ended(e, live.Rest())
			if s.drafts.store() == nil {
				ended()
			}
		}
	})
}

// ended writes how a command ended and attaches its output. rest is the unwritten end of the output.
func (s *shells) ended(e session.ShellCommand, rest string) {
	if rest != "" {
		s.out.Block(rest)
	}
	s.transcript.output = &result{e.Command, e.Output + e.Notes}
	s.writeLine("%s", shellEnd(e))
	part := app.ShellOutput(e)
	part.Name = "output of " + truncate(e.Command, 60)
	s.app.Attached = append(s.app.Attached, part)
	s.writeLine("The output is sent along with your next message. /detach removes it.")
}

// interrupt stops all commands, and reports whether one ran.
func (s *shells) interrupt() bool {
	if len(s.running) == 0 {
		return false
	}
	for _, cancel := range s.running {
		cancel()
	}
	s.writeLine("Stopping the command.")
	return true
}
