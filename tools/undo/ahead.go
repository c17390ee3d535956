package undo

import (
	"context"
	"sync"
	"time"
)

// An ahead is the walk that goes on for no call yet: the next call can have it, instead of going
// through all the files beside it. The zero value has none.
type ahead struct {
	mu   sync.Mutex
	walk *aheadWalk // nil: there is none that a call can have
}

// An aheadWalk is one such walk.
type aheadWalk struct {
	began time.Time
	stop  context.CancelFunc // ends it with what it has seen
	taken bool               // a call has it
	done  chan struct{}      // closed once it has ended, and look and err are there
	look  *look
	err   error
}

// walkAhead goes through the workspace. Taken says that the look is a call's.
func (h *History) walkAhead(ctx context.Context) (l *look, taken bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w := &aheadWalk{began: time.Now(), stop: stop, done: make(chan struct{})}
	h.ahead.mu.Lock()
	h.ahead.walk = w
	h.ahead.mu.Unlock()
	w.look, w.err = h.workspace.see(ctx, nil)
	close(w.done)
	h.ahead.mu.Lock()
	defer h.ahead.mu.Unlock()
	if h.ahead.walk == w {
		h.ahead.walk = nil
	}
	return w.look, w.taken, w.err
}

// walkNow goes through the workspace for a call, until ctx ends, or takes the walk that goes on and
// has just begun.
func (h *History) walkNow(ctx context.Context) (*look, error) {
	h.ahead.mu.Lock()
	w := h.ahead.walk
	if w == nil || time.Since(w.began) > fresh {
		h.ahead.mu.Unlock()
		return h.workspace.see(ctx, nil)
	}
	h.ahead.walk, w.taken = nil, true
	h.ahead.mu.Unlock()
	defer context.AfterFunc(ctx, w.stop)()
	<-w.done
	return w.look, w.err
}

// leaveWalk has no call take the walk that goes on: what changes from now on is another call's.
func (h *History) leaveWalk() {
	h.ahead.mu.Lock()
	defer h.ahead.mu.Unlock()
	h.ahead.walk = nil
}
