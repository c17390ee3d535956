package undo

import (
	"context"
	"sync"
	"time"
)

// An ahead is the walk that was begun for no call yet: the next call can have it, instead of going
// through all the files itself. The zero value has none.
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

// walkAhead goes through the workspace, unless a walk has just begun and soon is true, and returns
// what it saw, which is only to be read: until it is no longer fresh, a call may take it. Nil: there
// is nothing, or a call has it.
func (h *History) walkAhead(ctx context.Context, soon bool) *look {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	h.ahead.mu.Lock()
	if w := h.ahead.walk; w != nil && soon && time.Since(w.began) < fresh/2 {
		h.ahead.mu.Unlock()
		return nil
	}
	w := &aheadWalk{began: time.Now(), stop: stop, done: make(chan struct{})}
	h.ahead.walk = w
	h.ahead.mu.Unlock()
	w.look, w.err = h.workspace.see(ctx, nil)
	close(w.done)
	h.ahead.mu.Lock()
	defer h.ahead.mu.Unlock()
	if w.err != nil || w.taken {
		h.ahead.drop(w)
		return nil
	}
	if w.look.partial != "" {
		h.ahead.drop(w)
		return w.look
	}
	time.AfterFunc(fresh-time.Since(w.began), func() {
		h.ahead.mu.Lock()
		defer h.ahead.mu.Unlock()
		h.ahead.drop(w)
	})
	return w.look
}

// drop has no call take the walk w. The mutex is held.
func (a *ahead) drop(w *aheadWalk) {
	if a.walk == w {
		a.walk = nil
	}
}

// walkNow goes through the workspace for a call, until ctx ends, or takes the walk that was begun
// shortly before.
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

// leaveWalk has no call take the walk that was begun: what changes from now on is another call's.
func (h *History) leaveWalk() {
	h.ahead.mu.Lock()
	defer h.ahead.mu.Unlock()
	h.ahead.walk = nil
}
