// Package plain is the front end for screen readers, braille displays and serial consoles. It writes
// the events of a session as lines of words, in order, each once. There is no alternate screen, no
// color, no cursor movement and no escape sequence. The terminal keeps its own line editing and echo.
//
//	session.Turn ──► turns ──► turn, transcript ──► console.Writer ──► terminal
//	terminal ──► console.Keyboard ──► input ──► frontend ─┬─► questions, lists, approvals
//	                                                      ├─► /command ──► app ──► effect
//	                                                      ├─► shells
//	                                                      └─► sender ──► turns
//
// One goroutine owns all parts; others reach it through the runner. Answers are written sentence by
// sentence. Lines typed before a question was asked never answer it. All text from outside passes
// through tools/sanitize before it is written.
package plain

import (
	"fmt"
	"io"
	"os"

	"parley/ui/app"
	"parley/ui/crash"
	"parley/ui/format"
	"parley/ui/plain/console"
)

// Run talks with the user at the terminal until they leave, and returns the
// exit status: 0, or 128+n if signal n ended it.
func Run(o app.Options) int {
	in, err := console.Open()
	if err != nil {
		return failed(err)
	}
	if in != os.Stdin {
		defer in.Close()
	}
	return serve(o, in, os.Stdout)
}

// failed writes an error of the terminal to standard error, and returns the exit status.
func failed(err error) int {
	out := console.NewWriter(os.Stderr)
	out.Width = nil // no wrapping, so that the line can be copied
	out.WriteLine("parley: %v", err)
	return 1
}

// serve runs the front end on the given files; see Run.
func serve(o app.Options, in *os.File, out io.Writer) (status int) {
	p := newFrontend(o, out)
	keys, err := console.Listen(in)
	if err != nil {
		return failed(fmt.Errorf("the terminal: %w", err))
	}
	p.input.keys = keys
	go p.guard(func() { keys.Run(p.input.lines, p.closed) })
	stop, release := p.watchSignals()
	defer release()
	p.guard(p.run)
	p.close()
	keys.Close()
	stop()
	crash.Within(crash.StopWait, p.tasks.Wait)
	if err := p.app.Session.Close(); err != nil {
		p.writeLine("Could not save the end of this conversation: %s", oneLine(format.ErrorText(err)))
	}
	p.out.End()
	if p.mail.panic != nil {
		return crash.Report(p.mail.panic, p.mail.stack, true)
	}
	return p.status
}

// draftUnsent moves every unsent message to the draft.
func (p *frontend) draftUnsent() {
	for _, text := range p.questions.messages() {
		p.drafts.add(text)
	}
	p.pendingToDraft()
	p.drafts.unqueue()
}

// close cancels everything that runs and stores the draft.
func (p *frontend) close() {
	p.stop()
	p.draftUnsent()
	if p.questions.isHidden() {
		p.input.discard()
		p.input.echo(true)
	}
	if err := p.drafts.store(); err != nil && p.app.Library.ReadOnly() == nil {
		p.writeLine("Could not save the draft: %s", oneLine(format.ErrorText(err)))
	}
}
