//go:build linux

package terminal

import (
	"os"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// A signal that meets a panic on its way still ends the program in order.
func TestPanicInTheSignalHandler(t *testing.T) {
	ended := make(chan struct{})
	e := &exit{terminal: &Terminal{in: os.Stdin, out: os.Stdout}, kill: func() { close(ended) }, leave: func(time.Duration) bool { return true }}
	stop := e.signals(func(tea.Msg) { panic("in the handler") })
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the loop was not ended")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.panic != "in the handler" || e.status != 129 {
		t.Errorf("panic %v, status %d", e.panic, e.status)
	}
}
