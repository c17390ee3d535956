//go:build linux

package console

import (
	"io"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// TestForgetWhileReading: discarding a line just before it is read leaves no read waiting that
// could not be interrupted.
func TestForgetWhileReading(t *testing.T) {
	user, in, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer user.Close()
	go io.Copy(io.Discard, user)
	k, err := Listen(in)
	if err != nil {
		t.Fatal(err)
	}
	lines, gone := make(chan Line), make(chan struct{})
	var run sync.WaitGroup
	defer run.Wait() // before the terminal closes
	run.Go(func() { k.Run(lines, gone) })
	go func() {
		for {
			select {
			case <-lines:
			case <-gone:
				return
			}
		}
	}()
	stuck := time.AfterFunc(time.Minute, func() { panic("reading cannot be called off") })
	for i := range 500 {
		io.WriteString(user, "y\n")
		for began := time.Now(); time.Since(began) < time.Duration(i%50)*time.Microsecond; {
		}
		k.Forget()
		k.Pause()()
	}
	k.Close()
	stuck.Stop()
	close(gone)
}
