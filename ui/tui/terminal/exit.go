package terminal

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/tools/sanitize"
	"parley/ui/tui/renderer"
)

// An exit gathers why the program ends, and brings the terminal back whichever
// way that is.
type exit struct {
	terminal *Terminal
	reports  Reports
	leave    func(time.Duration) bool // ends painting, and undoes its modes if there is time
	guard    *guard                   // for the ways out that cannot be caught
	kill     func()                   // ends the program's loop without its consent
	lent     func() bool              // reports whether another program has the terminal

	mu      sync.Mutex
	orderly bool // the loop ended by itself
	status  int
	err     error
	panic   any
	stack   []byte
}

// A SignalMsg asks the screen to end because of a signal.
type SignalMsg struct{}

// signals ends the screen on a signal, with status 128+n. If the loop does not
// react, because it is stuck or the terminal is gone, the terminal comes back
// and the program ends all the same. What cannot be caught is left to the guard
// from here on.
func (e *exit) signals(send func(tea.Msg)) (stop func()) {
	const (
		forLoop   = 300 * time.Millisecond
		forScreen = 100 * time.Millisecond
		forAll    = 2500 * time.Millisecond
	)
	e.guard = watch(e.terminal, e.reports)
	ch, over := make(chan os.Signal, 4), make(chan struct{})
	for _, s := range endings {
		if !signal.Ignored(s) { // as nohup does
			signal.Notify(ch, s)
		}
	}
	go e.safely(func() {
		s := e.first(ch, over)
		if s == nil {
			return
		}
		e.mu.Lock()
		if n, ok := s.(syscall.Signal); ok {
			e.status = 128 + int(n)
		}
		e.mu.Unlock()
		go e.safely(func() { send(SignalMsg{}) })
		for _, wait := range []time.Duration{forLoop, forAll} {
			select {
			case <-over:
				return
			case <-ch: // a second signal
			case <-time.After(wait):
			}
			if !e.restored(forScreen) {
				os.Exit(e.status) // the terminal takes nothing: the guard can wait for it
			}
		}
		os.Exit(e.finish(true))
	})
	return func() {
		signal.Stop(ch)
		close(over)
	}
}

// first returns the first signal that ends the screen; nil if that is over. What the keyboard sends while another
// program has the terminal, such as an editor, is for that one.
func (e *exit) first(ch <-chan os.Signal, over <-chan struct{}) os.Signal {
	for {
		select {
		case s := <-ch:
			if (s == os.Interrupt || s == syscall.SIGQUIT) && e.lent() {
				continue
			}
			return s
		case <-over:
			return nil
		}
	}
}

// restored brings the terminal back, and reports whether it took that in time.
func (e *exit) restored(patience time.Duration) bool {
	return renderer.Within(2*patience, func() {
		e.safely(func() { e.terminal.Restore(!e.left(patience)) })
	})
}

// safely runs f, and ends the program in order if that panics. It is guard for
// what runs beside the screen.
func (e *exit) safely(f func()) {
	defer func() {
		if p := recover(); p != nil {
			e.crashed(p, debug.Stack())
		}
	}()
	f()
}

// crashed keeps the first panic and ends the program.
func (e *exit) crashed(p any, stack []byte) {
	e.mu.Lock()
	if e.panic == nil {
		e.panic, e.stack = p, stack
	}
	e.mu.Unlock()
	e.kill()
}

// recover keeps a panic: it is deferred around the program's loop for panics in Update and View.
func (e *exit) recover() {
	if p := recover(); p != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.panic == nil {
			e.panic, e.stack = p, debug.Stack()
		}
	}
}

// ended keeps the loop's own error.
func (e *exit) ended(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.orderly = true
	if e.status == 0 && err != nil && !errors.Is(err, tea.ErrInterrupted) {
		e.err = err
	}
}

// left ends the screen, and reports whether its modes are undone. Where Bubble
// Tea paints, it undid them if it could.
func (e *exit) left(patience time.Duration) bool {
	if done := e.leave(patience); renderer.Supported {
		return done
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.orderly
}

// finish reports what went wrong on the normal screen, and returns the exit
// status. A terminal that is not back is told nothing, for it takes nothing: the
// guard waits for it when the process has ended.
func (e *exit) finish(back bool) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if back {
		e.guard.dismiss()
		e.guard = nil
	}
	switch {
	case e.panic != nil:
		return e.reports.Crash(e.panic, e.stack, back)
	case e.status != 0:
		return e.status
	case e.err != nil:
		if back {
			fmt.Fprintf(os.Stderr, "parley: the screen: %s\n", sanitize.Text(e.err.Error()))
		}
		return 1
	}
	return 0
}
