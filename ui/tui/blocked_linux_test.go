package tui

import (
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// Tests of one package begin in the order of their files, and these wait for seconds.

// A stuck terminal takes a little, and then nothing.
type stuck struct{ left chan []byte }

func (s stuck) Write(b []byte) (int, error) {
	s.left <- b
	return len(b), nil
}

// A signal ends the program even if the terminal takes nothing any more, and
// nothing at all of what brings it back.
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

// launchStuck starts a screen on a terminal that then takes nothing any more.
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
	for n := range 10 { // each is painted whole
		if err := pty.Setsize(s.tty, &pty.Winsize{Rows: uint16(160 + n), Cols: 500}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return s
}
