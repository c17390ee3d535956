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

// An exit collects the reasons for the program's end, and restores the terminal
// in every case.
type exit struct {
	terminal *Terminal
	reports  Reports
	leave    func(time.Duration) bool // ends painting, and resets the renderer's modes if there is time
	guard    *guard                   // for exits that cannot be caught
	kill     func()                   // ends the program's loop by force
	lent     func() bool              // reports whether another program has the terminal

	mu      sync.Mutex
	orderly bool // the loop ended normally
	status  int
	err     error
	panic   any
	stack   []byte
}

// A SignalMsg asks the screen to end because of a signal.
type SignalMsg struct{}

// signals ends the screen on signal n, with status 128+n. If the loop does not
// react, because it hangs or the terminal is gone, it restores the terminal and ends
// the program anyway. From here on, the guard handles exits that cannot be caught.
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
			case <-ch: // on a second signal
			case <-time.After(wait):
			}
			if !e.restored(forScreen) {
				os.Exit(e.status) // the terminal accepts no output: the guard can wait for it
			}
		}
		os.Exit(e.finish(true))
	})
	return func() {
		signal.Stop(ch)
		close(over)
	}
}

// first returns the first signal that ends the screen; nil if over is closed first. It ignores keyboard signals
// while another program, such as an editor, has the terminal.
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

// restored restores the terminal, and reports whether it did so in time.
func (e *exit) restored(patience time.Duration) bool {
	return renderer.Within(2*patience, func() {
		e.safely(func() { e.terminal.Restore(!e.left(patience)) })
	})
}

// safely runs f, and ends the program cleanly if f panics. It guards code that
// runs concurrently with the screen.
func (e *exit) safely(f func()) {
	defer func() {
		if p := recover(); p != nil {
			e.crashed(p, debug.Stack())
		}
	}()
	f()
}

// crashed stores the first panic and ends the program.
func (e *exit) crashed(p any, stack []byte) {
	e.mu.Lock()
	if e.panic == nil {
		e.panic, e.stack = p, stack
	}
	e.mu.Unlock()
	e.kill()
}

// recover stores a panic. It is deferred around the program's loop, for panics in Update and View.
func (e *exit) recover() {
	if p := recover(); p != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.panic == nil {
			e.panic, e.stack = p, debug.Stack()
		}
	}
}

// ended stores the loop's own error.
func (e *exit) ended(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.orderly = true
	if e.status == 0 && err != nil && !errors.Is(err, tea.ErrInterrupted) {
		e.err = err
	}
}

// left ends the screen, and reports whether its modes were reset. If Bubble Tea
// draws, it resets them itself if it can.
func (e *exit) left(patience time.Duration) bool {
	if done := e.leave(patience); renderer.Supported {
		return done
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.orderly
}

// finish reports errors on the normal screen, and returns the exit status. It
// writes nothing to a terminal that was not restored, because that accepts no
// output: the guard waits for it after the process has ended.
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
