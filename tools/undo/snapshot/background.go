package snapshot

import (
	"context"
	"errors"
	"sync"
)

// errClosed is why calls cannot be undone after their history was closed.
var errClosed = errors.New("the conversation is closed")

// background counts the goroutines of a history that read files and write to the store.
type background struct {
	ctx    context.Context // ends when the history is closed
	cancel context.CancelFunc

	mu      sync.Mutex // ensures that none begins after ctx has ended
	running sync.WaitGroup
}

func newBackground() *background {
	r := &background{}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// begin counts a goroutine, and reports whether the history is open; if so, done must follow.
func (r *background) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return false
	}
	r.running.Add(1)
	return true
}

func (r *background) done() { r.running.Done() }

// Close ends the background reads of h and waits for them, at most until the file being read is
// stored: nothing writes to the store afterwards. Calls that begin later cannot be undone; the
// history stays, and can be restored.
func (h *History) Close() {
	h.background.mu.Lock() // of begin
	ended := h.ctx.Err() != nil
	h.cancel()
	h.background.mu.Unlock()
	h.running.Wait()
	if ended {
		return
	}
	h.workspace.mu.Lock()
	h.histories--
	last := h.histories == 0
	h.workspace.mu.Unlock()
	if last {
		h.memory.close()
	}
}
