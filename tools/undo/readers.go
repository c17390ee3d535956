package undo

import (
	"context"
	"errors"
	"sync"
)

// errClosed is why calls cannot be undone once their history is closed.
var errClosed = errors.New("the conversation is closed")

// Readers are what looks and reads beside the caller, which keeps contents in the store.
type readers struct {
	life context.Context // until the history is closed
	end  context.CancelFunc

	entering sync.Mutex // guards that none enters once life has ended
	inside   sync.WaitGroup
}

func newReaders() *readers {
	r := &readers{}
	r.life, r.end = context.WithCancel(context.Background())
	return r
}

// enter reports whether the history is open. If so, leave is to be called in the end.
func (r *readers) enter() bool {
	r.entering.Lock()
	defer r.entering.Unlock()
	if r.life.Err() != nil {
		return false
	}
	r.inside.Add(1)
	return true
}

func (r *readers) leave() { r.inside.Done() }

// Close ends what looks and reads beside the caller, and waits for it, at most until the file
// that is read is kept: nothing writes to the store afterwards. Calls that begin later cannot be
// undone; what is in the history stays, and can be restored.
func (h *History) Close() {
	if h == nil {
		return
	}
	h.entering.Lock()
	h.end()
	h.entering.Unlock()
	h.inside.Wait()
}
