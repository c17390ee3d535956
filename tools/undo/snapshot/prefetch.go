package snapshot

import (
	"context"
	"sync"
	"time"
)

// A prefetch holds the last snapshot of [History.Warm], running or just taken, which the next call
// can claim instead of walking through the same files again. The zero value has none.
type prefetch struct {
	mu   sync.Mutex
	walk *prefetchWalk // nil: none can be claimed
}

// A prefetchWalk is a snapshot taken before any call needs it.
type prefetchWalk struct {
	began    time.Time
	stop     context.CancelFunc // ends the walk and keeps the entries listed so far
	claimed  bool               // a call uses it
	done     chan struct{}      // closed once snapshot and err are set
	snapshot *snapshot
	err      error
}

// prefetchSnapshot takes a snapshot that a call can claim while it is no older than maxSnapshotAge.
// prefetchSnapshot takes a snapshot that a call can claim until it is maxSnapshotAge old. It
// returns the snapshot for reading only; nil if it failed, if a call claimed it, or if callSoon
// is set and another one has just begun.
func (h *History) prefetchSnapshot(ctx context.Context, callSoon bool) *snapshot {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	h.prefetch.mu.Lock()
	if w := h.prefetch.walk; w != nil && callSoon && time.Since(w.began) < maxSnapshotAge/2 {
		h.prefetch.mu.Unlock()
		return nil
	}
	w := &prefetchWalk{began: time.Now(), stop: stop, done: make(chan struct{})}
	h.prefetch.walk = w
	h.prefetch.mu.Unlock()
	w.snapshot, w.err = h.workspace.snapshot(ctx, nil)
	close(w.done)
	h.prefetch.mu.Lock()
	defer h.prefetch.mu.Unlock()
	if w.err != nil || w.claimed {
		h.prefetch.drop(w)
		return nil
	}
	if w.snapshot.partial != "" {
		h.prefetch.drop(w)
		return w.snapshot
	}
	time.AfterFunc(maxSnapshotAge-time.Since(w.began), func() {
		h.prefetch.mu.Lock()
		defer h.prefetch.mu.Unlock()
		h.prefetch.drop(w)
	})
	return w.snapshot
}

// drop makes w unavailable to calls. The caller holds the mutex.
func (a *prefetch) drop(w *prefetchWalk) {
	if a.walk == w {
		a.walk = nil
	}
}

// takeSnapshot takes a snapshot for a call until ctx ends, or claims the prefetched one if it was
// begun shortly before.
func (h *History) takeSnapshot(ctx context.Context) (*snapshot, error) {
	h.prefetch.mu.Lock()
	w := h.prefetch.walk
	if w == nil || time.Since(w.began) > maxSnapshotAge {
		h.prefetch.mu.Unlock()
		return h.workspace.snapshot(ctx, nil)
	}
	h.prefetch.walk, w.claimed = nil, true
	h.prefetch.mu.Unlock()
	defer context.AfterFunc(ctx, w.stop)()
	<-w.done
	return w.snapshot, w.err
}

// dropPrefetch makes the prefetched snapshot unavailable, because a call has begun or ended,
// and the snapshot may not reflect its changes.
func (h *History) dropPrefetch() {
	h.prefetch.mu.Lock()
	defer h.prefetch.mu.Unlock()
	h.prefetch.walk = nil
}
