// Package plain is the front end for screen readers, braille lines and serial
// consoles: what happens in a session as lines of words, in order, each written
// once. There is no alternate screen, no color, no cursor movement and not one
// escape sequence, and the terminal keeps its own line editing and its echo.
//
//	session.Turn ──► front ──► speaker ──► lines
//	terminal ──► keyboard ──► lines ──► front ──► answer to a question, /command,
//	                                             !shell line, or prompt
//
// One goroutine owns the front; all others post to it. Answers come by whole
// sentences. What was typed before a question was asked never answers it.
// Nothing from outside is written that did not pass tools/sanitize.
package plain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/charmbracelet/x/term"

	"parley/tools/sanitize"
	"parley/ui/app"
)

// Run talks with the user at the terminal until they leave, and returns the
// exit status: 0, or 128+n if a signal ended it.
func Run(o app.Options) int {
	in, err := terminal()
	if err != nil {
		fmt.Fprintln(os.Stderr, "parley: "+sanitize.Line(err.Error()))
		return 1
	}
	if in != os.Stdin {
		defer in.Close()
	}
	return serve(o, in, os.Stdout)
}

// terminal is where a user types: standard input, or the terminal itself if
// that is a pipe.
func terminal() (*os.File, error) {
	if term.IsTerminal(os.Stdin.Fd()) {
		return os.Stdin, nil
	}
	return os.OpenFile(console, os.O_RDWR, 0)
}

// serve is Run on files.
func serve(o app.Options, in *os.File, out io.Writer) (status int) {
	p := newFront(o, out)
	keys, err := listen(in)
	if err != nil {
		fmt.Fprintln(os.Stderr, "parley: the terminal: "+sanitize.Line(err.Error()))
		return 1
	}
	p.keys = keys
	go p.guard(func() { keys.run(p.typed, p.gone) })
	stop := p.watch()
	p.guard(p.run)
	p.leave()
	keys.close()
	stop()
	p.await()
	if err := p.app.Session.Close(); err != nil {
		p.out.say("The end of this conversation could not be saved: %s", oneLine(err.Error()))
	}
	p.out.end()
	if p.mail.panic != nil {
		return app.Crash(p.mail.panic, p.mail.stack)
	}
	return p.status
}

// leave calls off everything that runs.
func (p *front) leave() {
	p.cancel(context.Canceled)
	close(p.gone)
	if err := p.keepDraft(); err != nil && p.app.Library.ReadOnly() == nil {
		p.out.say("The draft could not be kept: %s", oneLine(err.Error()))
	}
}

// await waits, not for long, until what runs has stopped its children.
func (p *front) await() {
	ended := make(chan struct{})
	go func() {
		p.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(3 * time.Second):
	}
}

// guard runs f and turns a panic into an orderly end with a report in a file: a
// trace on the terminal could hold anything.
func (p *front) guard(f func()) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		p.mail.crashed(r)
		p.mail.post(func() { p.over = true })
	}()
	f()
}

// errHangup is the cause of a cancel because the terminal is gone.
var errHangup = errors.Join(errors.New("the terminal is gone"), context.Canceled)
