//go:build linux

package terminal

import (
	"os"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// A signal handler that panics still ends the program cleanly.
func TestPanicInTheSignalHandler(t *testing.T) {
	ended := make(chan struct{})
	e := &exit{terminal: &Terminal{in: os.Stdin, out: os.Stdout}, kill: func() { close(ended) }, leave: func(time.Duration) bool { return true }, lent: func() bool { return false }}
	stop := e.signals(func(tea.Msg) { panic("in the handler") })
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the loop was not ended")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.panic != "in the handler" || e.status != 143 {
		t.Errorf("panic %v, status %d", e.panic, e.status)
	}
}

// A signal from the keyboard to another program that has the terminal does not end the screen; other signals do.
func TestKeysOfAnotherProgram(t *testing.T) {
	lent, over := true, make(chan struct{})
	e := &exit{lent: func() bool { return lent }}
	for _, test := range []struct {
		lent bool
		sent []os.Signal
		want os.Signal
	}{
		{true, []os.Signal{os.Interrupt, syscall.SIGQUIT, syscall.SIGHUP}, syscall.SIGHUP},
		{true, []os.Signal{os.Interrupt, syscall.SIGTERM}, syscall.SIGTERM},
		{false, []os.Signal{os.Interrupt, syscall.SIGTERM}, os.Interrupt},
	} {
		ch := make(chan os.Signal, len(test.sent))
		for _, s := range test.sent {
			ch <- s
		}
		lent = test.lent
		if got := e.first(ch, over); got != test.want {
			t.Errorf("%v, lent: %v: %v, want %v", test.sent, test.lent, got, test.want)
		}
	}
	close(over)
	if got := e.first(make(chan os.Signal), over); got != nil {
		t.Errorf("it is over: %v", got)
	}
}
