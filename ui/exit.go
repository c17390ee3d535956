package ui

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/ui/safe"
)

// statusPanic is the exit status after a crash, that of an uncaught Go panic.
const statusPanic = 2

// An exit gathers why the program ends, and brings the terminal back whichever
// way that is.
type exit struct {
	terminal *terminal
	kill     func() // ends the program's loop without its consent

	mu      sync.Mutex
	orderly bool // the loop ended by itself and undid its modes
	status  int
	err     error
	panic   any
	stack   []byte
}

// guard runs f and turns a panic into an orderly crash. Every goroutine of the
// screen starts through it: a panic anywhere else would leave the terminal raw.
func (m *Model) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			m.crash(p, debug.Stack())
		}
	}()
	f()
}

// guarded wraps a command likewise, for Bubble Tea runs it in a goroutine.
// Batches are taken apart; sequences are not used here.
func (m *Model) guarded(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		m.guard(func() { msg = cmd() })
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = m.guarded(batch[i])
			}
		}
		return msg
	}
}

// signalMsg asks the screen to end because of a signal.
type signalMsg struct{}

// signals ends the screen on a signal, with status 128+n. If the loop does not
// react, because it is stuck or the terminal is gone, the terminal comes back
// and the program ends all the same.
func (e *exit) signals(send func(tea.Msg)) (stop func()) {
	const (
		forLoop = 400 * time.Millisecond
		forAll  = 2500 * time.Millisecond
	)
	ch, over := make(chan os.Signal, 4), make(chan struct{})
	for _, s := range endings {
		if !signal.Ignored(s) { // as nohup does
			signal.Notify(ch, s)
		}
	}
	go func() {
		var s os.Signal
		select {
		case s = <-ch:
		case <-over:
			return
		}
		e.mu.Lock()
		if n, ok := s.(syscall.Signal); ok {
			e.status = 128 + int(n)
		}
		e.mu.Unlock()
		go send(signalMsg{})
		for _, wait := range []time.Duration{forLoop, forAll} {
			select {
			case <-over:
				return
			case <-ch: // a second signal
			case <-time.After(wait):
			}
			e.terminal.restore(true)
		}
		os.Exit(e.finish())
	}()
	return func() {
		signal.Stop(ch)
		close(over)
	}
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

// recover is deferred around the program's loop for panics in Update and View.
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

// restore brings the terminal back as soon as the loop is over.
func (e *exit) restore() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.terminal.restore(!e.orderly)
}

// finish restores the terminal, reports what went wrong on the normal screen,
// and returns the exit status.
func (e *exit) finish() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.terminal.restore(!e.orderly)
	switch {
	case e.panic != nil:
		path, err := writeCrash(e.panic, e.stack)
		if err != nil {
			path = err.Error()
		}
		fmt.Fprintf(os.Stderr, "parley: crashed: %s\n  the report is in %s\n", safe.Line(fmt.Sprint(e.panic)), path)
		return statusPanic
	case e.status != 0:
		return e.status
	case e.err != nil:
		fmt.Fprintf(os.Stderr, "parley: the screen: %v\n", e.err)
		return 1
	}
	return 0
}

// writeCrash keeps a panic in a file only its owner may read.
func writeCrash(p any, stack []byte) (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, ".local", "state")
	}
	dir = filepath.Join(dir, "parley")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "crash-"+time.Now().UTC().Format("20060102-150405")+"-*.txt") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "panic: %v\n\n%s", p, stack)
	return f.Name(), errors.Join(err, f.Close())
}
