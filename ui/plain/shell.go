package plain

import (
	"context"
	"fmt"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
)

// runShell runs a command of the user's own. Its output is read out line by
// line, and goes along with the next message.
func (p *front) runShell(command string) {
	if p.app.Shell == nil || command == "" {
		p.say("! and a command run it in your shell.")
		return
	}
	p.shells.count++
	id := p.shells.count
	ctx, cancel := context.WithCancel(p.ctx)
	p.shells.running[id] = cancel
	p.app.Library.AddPromptAsync(session.SentPrompt{Text: "!" + command, Dir: p.app.Folder, At: p.now()})
	run, key := p.app.Shell, p.draftKey()
	own := p.app.Session
	n := own.Annotate(0, session.ShellCommand{Command: command})
	p.soon(func() func() {
		defer cancel()
		var live follower
		ended := p.app.RecordShell(key, command)
		out := run(ctx, command, func(text string) {
			if whole := live.add(text); whole != "" {
				select { // a command that says more than the terminal takes waits
				case p.events <- func() { p.block(whole) }:
				case <-ctx.Done():
				case <-p.gone:
				}
			}
		})
		return func() {
			e := session.ShellCommand{Command: command, Output: out.Text, Failed: out.Failed, Ended: true, Duration: out.Duration}
			own.Annotate(n, e)
			p.ranShell(id, e, live.line)
			if p.keepDraft() == nil {
				ended()
			}
		}
	})
}

// ranShell says how a command ended.
func (p *front) ranShell(id int, e session.ShellCommand, rest string) {
	delete(p.shells.running, id)
	if rest != "" {
		p.block(rest)
	}
	p.output = &result{e.Command, e.Output}
	p.say("%s", shellEnd(e))
	p.app.Attached = append(p.app.Attached, llm.Part{
		Kind: llm.Text, Name: "output of " + glance(e.Command, 60),
		Text: fmt.Sprintf("<output command=%q>\n%s\n</output>", e.Command, e.Output),
	})
	p.say("The output goes along with your next message. /detach takes it off.")
}

// A follower takes output as it comes and hands on whole lines.
type follower struct {
	clean sanitize.Stream
	line  string
}

func (f *follower) add(text string) (whole string) {
	f.line += f.clean.Add(text).String()
	if i := strings.LastIndexByte(f.line, '\n') + 1; i > 0 {
		whole, f.line = f.line[:i], f.line[i:]
	}
	return whole
}
