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

// Open returns the user's input: standard input, or the terminal itself if standard
// input is not a terminal.
func Open() (*os.File, error) {
	if term.IsTerminal(os.Stdin.Fd()) {
		return os.Stdin, nil
	}
	return os.OpenFile(console, os.O_RDWR, 0)
}

// A Line is the result of one read from the terminal: a line, edited by the
// terminal itself, or the end of input.
type Line struct {
	Text string    // without the newline
	At   time.Time // of its first byte
	Cut  bool      // the terminal dropped the end of the line
	EOF  bool      // ctrl+d on an empty line, or the terminal is gone
}

// A Keyboard reads lines from a terminal without changing its modes. Reading
// can be interrupted, so that an editor gets the terminal for itself.
type Keyboard struct {
	*tty.Input
	over atomic.Bool
}

// Listen returns a Keyboard on in. It does not read before Run.
func Listen(in *os.File) (*Keyboard, error) {
	input, err := tty.NewInput(in)
	return &Keyboard{Input: input}, err
}

// Run sends lines until the input ends, the keyboard is closed, or gone is closed.
func (k *Keyboard) Run(lines chan<- Line, gone <-chan struct{}) {
	send := func(t Line) bool {
		select {
		case lines <- t:
			return true
		case <-gone:
			return false
		}
	}
	var held []byte // bytes of an unfinished line: ctrl+d delivers it without a newline
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
		case n == 0 && err == nil: // the typed text was discarded
			continue
		case n > 0:
			if len(held) == 0 {
				began = time.Now()
			}
			held = append(held, buf[:n]...)
		case len(held) > 0: // ctrl+d after text counts as enter
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

// Echo turns the terminal's echo of typed text on or off.
func (k *Keyboard) Echo(on bool) { tty.Echo(k.Fd(), on) }

// Gone reports whether the terminal no longer exists.
func (k *Keyboard) Gone() bool { return !term.IsTerminal(k.Fd()) }

// Close ends Run, if the system can interrupt reads.
func (k *Keyboard) Close() error {
	k.over.Store(true)
	return k.Input.Close()
}

// sanitizeTyped returns typed text without control characters.
func sanitizeTyped(line []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, tty.Text(line))
}
