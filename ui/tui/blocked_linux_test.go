package tui

import (
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// Tests of a package start in the order of their files. These wait for seconds, so they are in an
// early one.

// A stuck terminal accepts a little output, and then nothing.
type stuck struct{ left chan []byte }

func (s stuck) Write(b []byte) (int, error) {
	s.left <- b
	return len(b), nil
}

// A signal ends the program even if the terminal accepts no more output, not
// even the sequences that restore it.
func TestSignalOnStuckTerminal(t *testing.T) {
	t.Parallel()
	s := launchStuck(t)
	s.Process.Signal(syscall.SIGTERM)
	if status := wait(t, s.Cmd); status != 143 {
		t.Errorf("exit status %d", status)
	}
}

// So do the keys that end it.
func TestQuitOnStuckTerminal(t *testing.T) {
	t.Parallel()
	s := launchStuck(t)
	io.WriteString(s.tty, "\x03\x03\x04")
	if status := wait(t, s.Cmd); status != 0 {
		t.Errorf("exit status %d", status)
	}
}

// launchStuck starts a screen on a terminal that then accepts no more output.
func launchStuck(t *testing.T) *stand {
	t.Helper()
	out := stuck{make(chan []byte)}
	s := launchOn(t, out, "screenful")
	t.Cleanup(func() {
		go func() {
			for range out.left {
			}
		}()
	})
	<-out.left
	for n := range 10 { // each frame is drawn completely
		if err := pty.Setsize(s.tty, &pty.Winsize{Rows: uint16(160 + n), Cols: 500}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return s
}
