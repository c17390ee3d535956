package console

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/term"

	"parley/ui/tty"
)

// Open returns what a user types at: standard input, or the terminal itself if that is
// a pipe.
func Open() (*os.File, error) {
	if term.IsTerminal(os.Stdin.Fd()) {
		return os.Stdin, nil
	}
	return os.OpenFile(console, os.O_RDWR, 0)
}

// A Line is what one read of the terminal gave: a line, as the terminal's own
// line editing made it, or that there will be no more.
type Line struct {
	Text string    // without the newline
	At   time.Time // of its first byte
	Cut  bool      // the terminal dropped the end of the line
	EOF  bool      // ctrl+d on an empty line, or the terminal is gone
}

// A Keyboard reads lines from a terminal whose modes it leaves alone. Reading
// can be called off, so that an editor has the terminal for itself.
type Keyboard struct {
	*tty.Input
	over atomic.Bool
}

// Listen returns a Keyboard on in, which does not read before Run.
func Listen(in *os.File) (*Keyboard, error) {
	input, err := tty.NewInput(in)
	return &Keyboard{Input: input}, err
}

// Run sends lines until the terminal has no more, the keyboard is closed, or
// nobody listens.
func (k *Keyboard) Run(lines chan<- Line, gone <-chan struct{}) {
	send := func(t Line) bool {
		select {
		case lines <- t:
			return true
		case <-gone:
			return false
		}
	}
	var held []byte // of a line that is not finished: ctrl+d hands it over without an end
	var began time.Time
	buf := make([]byte, 64<<10)
	for {
		n, err := k.ReadWithin(buf, -1)
		switch {
		case k.over.Load():
			return
		case errors.Is(err, tty.ErrPaused):
			k.Resumed()
			continue
		case n == 0 && err == nil: // what was typed was thrown away
			continue
		case n > 0:
			if len(held) == 0 {
				began = time.Now()
			}
			held = append(held, buf[:n]...)
		case len(held) > 0: // ctrl+d after text is enter
			held = append(held, '\n')
		default:
			send(Line{EOF: true, At: time.Now()})
			return
		}
		for {
			line, rest, whole := bytes.Cut(held, []byte("\n"))
			if !whole {
				break
			}
			if !send(Line{Text: sanitizeTyped(line), At: began, Cut: len(line) >= LongestLine}) {
				return
			}
			held = rest
		}
	}
}

// Echo has the terminal show what is typed, or not.
func (k *Keyboard) Echo(on bool) { tty.Echo(k.Fd(), on) }

// Gone reports whether the terminal is there no longer.
func (k *Keyboard) Gone() bool { return !term.IsTerminal(k.Fd()) }

// Close ends Run, where reading can be called off.
func (k *Keyboard) Close() error {
	k.over.Store(true)
	return k.Input.Close()
}

// sanitizeTyped returns what was typed, without what is no text.
func sanitizeTyped(line []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, tty.Text(line))
}
