//go:build unix

package terminal

import (
	"os"
	"sync"
	"syscall"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"parley/ui/tty"
	"parley/ui/tui/renderer"
)

// reset resets all modes that a full-screen program may have set: synchronized
// output, margins, mouse, focus reports, bracketed paste, keyboard protocols,
// cursor shape and visibility, colors, the window's title and progress, the
// alternate screen. Modes of the alternate screen come first, because the
// keyboard protocol is stored per screen.
const reset = "\x1b[?2026l\x1b[r\x1b[?7h" +
	"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l" +
	"\x1b[?1004l\x1b[?2004l\x1b[?2027l\x1b[?2031l" +
	"\x1b[<u\x1b[>4m" +
	"\x1b[0 q\x1b[?25h\x1b[m" +
	"\x1b]2;\a\x1b]9;4;0\a" +
	"\x1b[?1049l\x1b[?25h\x1b[23;2t\r"

// A Terminal holds the state of the terminal before the screen.
type Terminal struct {
	in, out *os.File
	state   *term.State // nil if in is not a terminal
	input   *tty.Input  // reads in; nil if Bubble Tea does
	once    sync.Once
}

func Save(in, out *os.File) *Terminal {
	t := &Terminal{in: in, out: out}
	if !term.IsTerminal(in.Fd()) { // with -i, the keyboard is the controlling terminal
		if tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
			t.in = tty
		}
	}
	t.state, _ = term.GetState(t.in.Fd())
	return t
}

// Screen returns the terminal in the form that a renderer needs.
func (t *Terminal) Screen(env []string) renderer.Terminal {
	screen := renderer.Terminal{
		In: t.in, Out: t.out, Env: env, Profile: colorprofile.Detect(t.out, env),
		Size: func() (int, int, error) { return term.GetSize(t.out.Fd()) },
		Raw: func() error {
			if t.state == nil {
				return nil
			}
			_, err := term.MakeRaw(t.in.Fd())
			return err
		},
		Cooked: func() error {
			if t.state == nil {
				return nil
			}
			return term.Restore(t.in.Fd(), t.state)
		},
	}
	if input, err := tty.NewInput(t.in); err == nil && t.state != nil {
		t.input = input
		screen.Keys, screen.Pause = tty.NewReader(input), input.Pause
	}
	return screen
}

// Restore restores the terminal, once. It resets modes only if the renderer
// could not do so (abrupt): the alternate screen and the keyboard protocol are
// stacks, and popping twice would remove what the shell pushed. Pending answers
// to queries are discarded, because the shell would read them as typed text.
func (t *Terminal) Restore(abrupt bool) {
	t.once.Do(func() {
		if t.input != nil {
			t.input.Close()
		}
		if abrupt && term.IsTerminal(t.out.Fd()) {
			t.out.WriteString(reset)
		}
		if t.state != nil {
			term.Restore(t.in.Fd(), t.state)
			tty.FlushInput(t.in.Fd())
		}
	})
}

// endings lists the signals that end the screen cleanly.
var endings = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
