package plain

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
)

// errHangup causes a cancel when the terminal is gone.
var errHangup = errors.Join(errors.New("the terminal is gone"), context.Canceled)

// A runner runs what goes on beside the goroutine that owns the front end, and brings
// what comes of it back to that one. It knows how all of it ends.
type runner struct {
	ctx     context.Context // canceled at the end
	cancel  context.CancelCauseFunc
	closed  chan struct{}  // closed at the end: nobody listens any more
	events  chan func()    // for the owner, from those who wait for the terminal
	mail    mailbox        // for the owner, from all others
	tasks   sync.WaitGroup // what runs
	pending int            // calls of async whose result is not said yet: there is no prompt before

	isOver bool // the owner is to end
	status int  // with which the program exits
}

func newRunner() *runner {
	r := &runner{closed: make(chan struct{}), events: make(chan func()), mail: newMailbox()}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	return r
}

// concurrent runs f beside the owner.
func (r *runner) concurrent(f func()) { r.tasks.Go(func() { r.guard(f) }) }

// async runs f beside the owner, and what it returns by the owner. There is no prompt
// before.
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

// send has the owner run f, and waits until it does, nobody listens any more, or
// canceled is closed; nil never is.
func (r *runner) send(f func(), canceled <-chan struct{}) {
	select {
	case r.events <- f:
	case <-canceled:
	case <-r.closed:
	}
}

// guard runs f and turns a panic into an orderly end with a report in a file: a
// trace on the terminal could hold anything.
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
	r.cancel(context.Canceled)
	close(r.closed)
}

// A mailbox holds what others want the owner to do, and why it has to end.
type mailbox struct {
	signal chan struct{} // something was posted

	mu     sync.Mutex // guards what follows
	posted []func()
	panic  any
	stack  []byte
}

func newMailbox() mailbox { return mailbox{signal: make(chan struct{}, 1)} }

// post has f run by the goroutine that owns the front end. It never waits.
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

// crashed keeps the first panic, with the stack of the goroutine that calls.
func (m *mailbox) crashed(p any) {
	stack := debug.Stack()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.panic == nil {
		m.panic, m.stack = p, stack
	}
}
