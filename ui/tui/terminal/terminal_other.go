//go:build !unix

package terminal

import (
	"os"
	"sync"

	"github.com/charmbracelet/x/term"

	"parley/ui/tui/renderer"
)

// A Terminal holds the state of the console before the screen.
type Terminal struct {
	in, out *os.File
	state   *term.State // nil if in is not a console
	once    sync.Once
}

func Save(in, out *os.File) *Terminal {
	state, _ := term.GetState(in.Fd())
	return &Terminal{in: in, out: out, state: state}
}

// Screen returns the zero value, because Bubble Tea manages the console itself.
func (t *Terminal) Screen([]string) renderer.Terminal { return renderer.Terminal{} }

// Restore restores the console, once. It resets modes only if the renderer could not.
func (t *Terminal) Restore(abrupt bool) {
	t.once.Do(func() {
		if t.state == nil {
			return
		}
		if abrupt {
			t.out.WriteString("\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[m\x1b[?1049l\x1b[?25h\r")
		}
		term.Restore(t.in.Fd(), t.state)
	})
}

// endings lists the signals that end the screen cleanly.
var endings = []os.Signal{os.Interrupt}
