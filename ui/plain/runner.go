package plain

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"

	"parley/session"
)

// errHangup causes a cancel when the terminal is gone.
var errHangup = errors.Join(errors.New("the terminal is gone"), session.ErrProgramEnded)

// A runner runs functions beside the owner, the goroutine that owns the front end, and hands their
// results back to it.
type runner struct {
	ctx     context.Context // canceled at the end
	cancel  context.CancelCauseFunc
	closed  chan struct{}  // closed when the owner has stopped reading
	events  chan func()    // to the owner, from functions that wait until the terminal takes more
	mail    mailbox        // to the owner, from all others
	tasks   sync.WaitGroup // running functions
	pending int            // calls of async without a result yet: there is no prompt until then

	isOver bool // the owner has to end
	status int  // exit status of the program
}

func newRunner() *runner {
	r := &runner{closed: make(chan struct{}), events: make(chan func()), mail: newMailbox()}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	return r
}

// concurrent runs f beside the owner.
func (r *runner) concurrent(f func()) { r.tasks.Go(func() { r.guard(f) }) }

// async runs f beside the owner, and then the function that it returns in the owner. Until then
// there is no prompt.
func (r *runner) async(f func() (done func())) {
	r.pending++
	r.tasks.Go(func() {
		done := func() {}
		defer func() {
			r.mail.post(func() {
				r.pending--
				done()
			})
		}()
		r.guard(func() { done = f() })
	})
}

// send makes the owner run f, and waits until it does, until it has stopped, or until canceled is
// closed; nil never is.
func (r *runner) send(f func(), canceled <-chan struct{}) {
	select {
	case r.events <- f:
	case <-canceled:
	case <-r.closed:
	}
}

// guard runs f and turns a panic into an orderly end with a report in a file: a stack trace on the
// terminal could contain anything.
func (r *runner) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			r.mail.crashed(p)
			r.mail.post(func() { r.isOver = true })
		}
	}()
	f()
}

// stop cancels everything that runs.
func (r *runner) stop() {
	r.cancel(session.ErrProgramEnded)
	close(r.closed)
}

// A mailbox holds functions for the owner to run, and the first panic.
type mailbox struct {
	signal chan struct{} // something was posted

	mu     sync.Mutex // guards what follows
	posted []func()
	panic  any
	stack  []byte
}

func newMailbox() mailbox { return mailbox{signal: make(chan struct{}, 1)} }

// post makes the owner run f. It never blocks.
func (m *mailbox) post(f func()) {
	m.mu.Lock()
	m.posted = append(m.posted, f)
	m.mu.Unlock()
	select {
	case m.signal <- struct{}{}:
	default:
	}
}

// runPosted runs what was posted.
func (m *mailbox) runPosted() {
	m.mu.Lock()
	posted := m.posted
	m.posted = nil
	m.mu.Unlock()
	for _, f := range posted {
		f()
	}
}

// crashed stores the first panic, with the stack of the calling goroutine.
func (m *mailbox) crashed(p any) {
	stack := debug.Stack()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.panic == nil {
		m.panic, m.stack = p, stack
	}
}
