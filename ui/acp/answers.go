package acp

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// answers counts the requests of a client that are not answered yet, by the lines of both
// directions: the connection ends when the client closes its side, and not once it has written
// the last answer.
type answers struct {
	mu      sync.Mutex
	open    int
	written chan struct{} // closed with each answer, and made anew
	partial []byte        // of a line that the client has not ended
}

// header is what a message begins with.
type header struct {
	ID     *json.RawMessage `json:"id"`
	Method string           `json:"method"`
}

// read notes what came from the client.
func (a *answers) read(p []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			a.partial = append(a.partial, p...)
			return
		}
		a.line(append(a.partial, p[:end]...))
		a.partial, p = a.partial[:0], p[end+1:]
	}
}

// end notes that the client has closed its side: what it wrote last is a line too.
func (a *answers) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.line(a.partial)
	a.partial = nil
}

func (a *answers) line(line []byte) {
	var m header
	if json.Unmarshal(line, &m) == nil && m.ID != nil && m.Method != "" {
		a.open++
	}
}

// wrote notes a message to the client, which is written whole.
func (a *answers) wrote(line []byte) {
	if !bytes.HasPrefix(line, []byte(`{"jsonrpc":"2.0","id":`)) {
		return
	}
	var m header
	if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method != "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open--
	if a.written != nil {
		close(a.written)
		a.written = nil
	}
}

// wait waits until all requests are answered, or for long.
func (a *answers) wait(long time.Duration) {
	over := time.After(long)
	for {
		a.mu.Lock()
		if a.open <= 0 {
			a.mu.Unlock()
			return
		}
		if a.written == nil {
			a.written = make(chan struct{})
		}
		written := a.written
		a.mu.Unlock()
		select {
		case <-written:
		case <-over:
			return
		}
	}
}

// A countedReader has answers count what is read.
type countedReader struct {
	io.Reader
	answers *answers
}

func (r countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.answers.read(p[:n])
	if err != nil {
		r.answers.end()
	}
	return n, err
}

// A countedWriter has answers count what is written.
type countedWriter struct {
	io.Writer
	answers *answers
}

func (w countedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.answers.wrote(p)
	return n, err
}
