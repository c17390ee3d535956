package plain

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"

	"parley/session"
)

// errHangup is the cancel cause when the terminal is gone.
var errHangup = errors.Join(errors.New("the terminal is gone"), session.ErrProgramEnded)

// A runner runs functions concurrently with the owner, the goroutine that owns the front end, and
// passes their results to it.
type runner struct {
	ctx     context.Context // canceled at the end
	cancel  context.CancelCauseFunc
	closed  chan struct{}  // closed when the owner no longer reads
	events  chan func()    // to the owner, from functions that wait until the terminal accepts more
	mail    mailbox        // to the owner, from all other functions
	tasks   sync.WaitGroup // running functions
	pending int            // async calls without a result yet; there is no prompt meanwhile

	isOver bool // the owner must stop
	status int  // exit status of the program
}

func newRunner() *runner {
	r := &runner{closed: make(chan struct{}), events: make(chan func()), mail: newMailbox()}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	return r
}

// concurrent runs f concurrently with the owner.
func (r *runner) concurrent(f func()) { r.tasks.Go(func() { r.guard(f) }) }

// async runs f concurrently with the owner, and then the function that f returns in the owner.
// There is no prompt until then.
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

// send makes the owner run f. It waits until the owner does or has stopped, or until canceled is
// closed; a nil canceled never is.
func (r *runner) send(f func(), canceled <-chan struct{}) {
	select {
	case r.events <- f:
	case <-canceled:
	case <-r.closed:
	}
}

// guard runs f. It turns a panic into an orderly exit with a report in a file, because a stack
// trace on the terminal could contain anything.
func (r *runner) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			r.mail.crashed(p)
			r.mail.post(func() { r.isOver = true })
		}
	}()
	f()
}

// stop cancels all running functions.
func (r *runner) stop() {
	r.cancel(session.ErrProgramEnded)
	close(r.closed)
}

// A mailbox holds functions for the owner to run, and the first panic.
type mailbox struct {
	signal chan struct{} // something was posted

	mu     sync.Mutex // guards the following fields
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

// runPosted runs the posted functions.
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
