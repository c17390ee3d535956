package console

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/term"

	"parley/tools/lazy"
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
	In *os.File

	r, w    *os.File   // a byte in this pipe calls reading off
	reading sync.Mutex // held while the terminal is read
	taking  sync.Mutex // held while what is there is read, or thrown away
	over    atomic.Bool
	ended   chan struct{} // closed once Run has ended
}

// Listen returns a Keyboard on in, which does not read before Run.
func Listen(in *os.File) (*Keyboard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &Keyboard{In: in, r: r, w: w, ended: make(chan struct{})}, nil
}

// Run sends lines until the terminal has no more, the keyboard is closed, or
// nobody listens.
func (k *Keyboard) Run(lines chan<- Line, gone <-chan struct{}) {
	defer close(k.ended)
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
		n, err := k.read(buf)
		switch {
		case k.over.Load():
			return
		case n == 0 && err == nil: // called off
			continue
		case n > 0:
			if len(held) == 0 {
				began = time.Now()
			}
			held = append(held, buf[:n]...)
		case len(held) > 0: // ctrl+d behind text is enter
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

// read reads once; 0 without an error says that it was called off.
func (k *Keyboard) read(buf []byte) (int, error) {
	k.reading.Lock()
	defer k.reading.Unlock()
	if ready, err := k.wait(false); !ready || err != nil {
		return 0, err
	}
	// What was there may have been thrown away since, and a read that waits for more could
	// not be called off.
	k.taking.Lock()
	defer k.taking.Unlock()
	if ready, err := k.wait(true); !ready || err != nil {
		return 0, err
	}
	return k.In.Read(buf)
}

// Echo has the terminal show what is typed, or not.
func (k *Keyboard) Echo(on bool) { tty.Echo(k.In.Fd(), on) }

// Gone reports whether the terminal is there no longer.
func (k *Keyboard) Gone() bool { return !term.IsTerminal(k.In.Fd()) }

// sequences match what arrow keys and the like leave in a line that the terminal
// edits.
var sequences = lazy.NewRegexp("\x1b(?:\\[[0-?]*[ -/]*[@-~]|O.)")

// sanitizeTyped returns what was typed, without what is no text.
func sanitizeTyped(line []byte) string {
	text := sequences.ReplaceAllString(strings.ToValidUTF8(string(line), "\uFFFD"), "")
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, text)
}
