package print

import (
	"io"
	"sync"
)

// An asyncWriter writes to another writer from its own goroutine. Data that arrives during a write
// goes out with the next one, so that many small pieces cost few writes and the stream does not wait
// for a slow reader. The first error is kept, and also passed to fail immediately: the next Write,
// which would return it, may come late if a model is silent.
type asyncWriter struct {
	w       io.Writer
	fail    func(error)
	wake    sync.Cond
	mu      sync.Mutex // guards the fields below, except stopped
	buf     []byte
	err     error
	writing bool // a write is in progress
	done    bool // Close was called
	stopped chan struct{}
}

// maxPending is how many bytes may wait for a slow reader before Write blocks.
const maxPending = 256 << 10

// newAsyncWriter starts a writer, which the caller must Close.
func newAsyncWriter(w io.Writer, fail func(error)) *asyncWriter {
	e := &asyncWriter{w: w, fail: fail, stopped: make(chan struct{})}
	e.wake.L = &e.mu
	go e.run()
	return e
}

// Write appends p to the data to write. It returns the first error of earlier writes.
func (e *asyncWriter) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.buf) > maxPending && e.err == nil {
		e.wake.Wait()
	}
	if e.err != nil {
		return 0, e.err
	}
	e.buf = append(e.buf, p...)
	e.wake.Broadcast()
	return len(p), nil
}

func (e *asyncWriter) run() {
	defer close(e.stopped)
	var spare []byte
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		for len(e.buf) == 0 && !e.done {
			e.wake.Wait()
		}
		if len(e.buf) == 0 || e.err != nil {
			return
		}
		out := e.buf
		e.buf, e.writing = spare[:0], true
		e.mu.Unlock()
		_, err := e.w.Write(out)
		if err != nil {
			e.fail(err)
		}
		e.mu.Lock()
		spare, e.writing, e.err = out, false, err
		e.wake.Broadcast()
	}
}

// flush waits until everything is written.
func (e *asyncWriter) flush() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for (len(e.buf) > 0 || e.writing) && e.err == nil {
		e.wake.Wait()
	}
}

// Close writes the rest and returns the first error.
func (e *asyncWriter) Close() error {
	e.mu.Lock()
	e.done = true
	e.wake.Broadcast()
	e.mu.Unlock()
	<-e.stopped
	return e.err
}
