package ability

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"parley/tools/sanitize"
	"parley/ui/format"
)

// A Progress is a terminal line about a long operation, redrawn each second. A nil Progress shows nothing.
type Progress struct {
	w     *os.File
	begun time.Time
	line  func(elapsed, text string) string

	mu    sync.Mutex // guards the fields below
	text  string
	drawn time.Time
	done  chan struct{} // closed by Stop, and then nil
}

// progressInterval is the shortest time between two redraws.
const progressInterval = 100 * time.Millisecond

// NewProgress shows a line on w, a terminal, until Stop. Line returns the text of the line from the time since begun
// and the text of the last Show.
func NewProgress(w *os.File, begun time.Time, line func(elapsed, text string) string) *Progress {
	p := &Progress{w: w, begun: begun, line: line, done: make(chan struct{})}
	go p.run(p.done)
	return p
}

// Show draws the line with text. With "" it clears the line until the next second.
func (p *Progress) Show(text string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = sanitize.Line(text)
	switch {
	case p.done == nil:
	case text == "":
		p.drawn = time.Time{}
		fmt.Fprint(p.w, "\r\x1b[K")
	case time.Since(p.drawn) >= progressInterval:
		p.draw()
	}
}

// Stop clears the line for good.
func (p *Progress) Stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done != nil {
		close(p.done)
		p.done = nil
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func (p *Progress) run(done <-chan struct{}) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case <-second.C:
			p.mu.Lock()
			if p.done != nil {
				p.draw()
			}
			p.mu.Unlock()
		case <-done:
			return
		}
	}
}

// draw draws the line, truncated to the width of the terminal. p.mu is held.
func (p *Progress) draw() {
	p.drawn = time.Now()
	line := p.line(format.Elapsed(time.Since(p.begun)), p.text)
	if width, _, err := term.GetSize(p.w.Fd()); err == nil && width > 1 {
		line = ansi.Truncate(line, width-1, "…")
	}
	fmt.Fprint(p.w, "\r\x1b[K"+line)
}
