package cli

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/format"
)

// A videoProgress says on standard error how far a job is: on a terminal in one line that
// counts the seconds, elsewhere in a line for each new state.
type videoProgress struct {
	name  string
	begun time.Time
	quiet bool
	live  bool   // the line is drawn again
	file  string // that was saved; "" none yet

	mu   sync.Mutex
	text string
	done chan struct{} // closed at the end; nil if the line is not drawn again
}

func newVideoProgress(c *videoCommand, v session.Video) *videoProgress {
	p := &videoProgress{name: sanitize.Line(v.Name()), begun: v.Created, quiet: c.quiet}
	p.live = !c.quiet && term.IsTerminal(os.Stderr.Fd()) && !c.plainMode()
	if p.live {
		p.done = make(chan struct{})
		go p.tick(p.done)
	}
	return p
}

func (p *videoProgress) tick(done <-chan struct{}) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			p.draw()
		case <-done:
			return
		}
	}
}

// show tells of a poll, with the error that it will be repeated for.
func (p *videoProgress) show(j llm.Job, err error) {
	text := string(j.State)
	if j.Word != "" && j.State == llm.JobRunning {
		text = sanitize.Line(j.Word)
	}
	if j.Progress > 0 && !j.State.Over() {
		text += fmt.Sprintf(" %d%%", j.Progress)
	}
	if err != nil {
		text = "asking again: " + sanitize.Line(app.ShellErrorText(err))
	}
	p.say(text)
}

// say shows a text.
func (p *videoProgress) say(text string) {
	p.mu.Lock()
	changed := text != p.text
	p.text = text
	p.mu.Unlock()
	switch {
	case p.live:
		p.draw()
	case changed && !p.quiet:
		fmt.Fprintf(os.Stderr, "parley: %s: %s\n", p.name, text)
	}
}

// draw draws the line of a terminal.
func (p *videoProgress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done == nil {
		return
	}
	line := fmt.Sprintf("%s · %s · %s", format.Elapsed(time.Since(p.begun)), p.text, p.name)
	if width, _, err := term.GetSize(os.Stderr.Fd()); err == nil && width > 1 {
		line = ansi.Truncate(line, width-1, "…")
	}
	fmt.Fprint(os.Stderr, "\r\x1b[K"+line)
}

// stop takes the line away.
func (p *videoProgress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done != nil {
		close(p.done)
		p.done = nil
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}
