package acp

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"
)

// responseOrder counts unanswered requests of a client by the lines in both directions, because
// the connection ends when the client closes its side, not when the last answer is written. The
// connection may also begin to answer requests in any order; from the lines, responseOrder
// knows which prompts came before a cancel.
type responseOrder struct {
	mu      sync.Mutex
	open    int
	news    chan struct{} // closed and replaced after each answer, begun prompt and executed cancel
	partial []byte        // incomplete line of the client
	closed  bool          // the client has closed its side

	prompts map[any]string     // maps the request IDs of unanswered prompts to sessions
	cancels map[string][][]any // by session: for each cancel not yet handled, the prompts before it
	due     int                // cancels read but not yet executed
}

// header holds the fields of a message that are read here.
type header struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// session returns the session of a message, or "" for none.
func (h header) session() string {
	var about struct {
		Session string `json:"sessionId"`
	}
	_ = json.Unmarshal(h.Params, &about) // an invalid message has no session
	return about.Session
}

// read records data from the client, up to the end of the first cancel. It returns the number of
// bytes recorded.
func (a *responseOrder) read(p []byte) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for n < len(p) && a.due == 0 {
		end := bytes.IndexByte(p[n:], '\n')
		if end < 0 {
			a.partial = append(a.partial, p[n:]...)
			return len(p)
		}
		a.line(append(a.partial, p[n:n+end]...))
		a.partial, n = a.partial[:0], n+end+1
	}
	return n
}

// carriedOut records that a cancel was executed.
func (a *responseOrder) carriedOut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due = max(a.due-1, 0)
	a.tell()
}

// waitCarriedOut waits until the last cancel is executed, at most for long: an invalid cancel
// never is.
func (a *responseOrder) waitCarriedOut(long time.Duration) {
	a.await(long, func() bool { return a.due == 0 })
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due = 0
}

// end records that the client has closed its side. Its last line may have no newline.
func (a *responseOrder) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.line(a.partial)
	a.partial, a.closed = nil, true
}

// isClosed reports whether the client has closed its side.
func (a *responseOrder) isClosed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closed
}

func (a *responseOrder) line(line []byte) {
	var m header
	if json.Unmarshal(line, &m) != nil || m.Method == "" {
		return
	}
	if m.ID != nil {
		a.open++
	}
	switch m.ID.(type) {
	case string, float64:
		if m.Method == sdk.AgentMethodSessionPrompt {
			a.prompts[m.ID] = m.session()
		}
	case nil:
		if about := m.session(); m.Method == sdk.AgentMethodSessionCancel {
			before := []any{}
			for id, session := range a.prompts {
				if session == about {
					before = append(before, id)
				}
			}
			a.cancels[about] = append(a.cancels[about], before)
			a.due++
		}
	}
}

// canceled removes the next cancel of a session, and returns the prompts before it.
func (a *responseOrder) canceled(session string) (prompts []any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	waiting := a.cancels[session]
	if len(waiting) == 0 {
		return nil
	}
	if a.cancels[session] = waiting[1:]; len(waiting) == 1 {
		delete(a.cancels, session)
	}
	return waiting[0]
}

// waitBegun waits until the prompts have begun or are answered, at most for long. begun returns
// the number of prompts that have begun but not ended.
func (a *responseOrder) waitBegun(prompts []any, begun func() int, long time.Duration) {
	a.await(long, func() bool {
		left := 0
		for _, id := range prompts {
			if _, unanswered := a.prompts[id]; unanswered {
				left++
			}
		}
		return left <= begun()
	})
}

// wrote records a complete message to the client.
func (a *responseOrder) wrote(line []byte) {
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
	switch m.ID.(type) {
	case string, float64:
		delete(a.prompts, m.ID)
	}
	a.tell()
}

// tell wakes all waiting goroutines. The caller must hold the lock.
func (a *responseOrder) tell() {
	if a.news != nil {
		close(a.news)
		a.news = nil
	}
}

// began records that a prompt has begun.
func (a *responseOrder) began() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tell()
}

// wait waits until all requests are answered, at most for long.
func (a *responseOrder) wait(long time.Duration) {
	a.await(long, func() bool { return a.open <= 0 })
}

// await waits until done returns true, at most for long. It calls done with the lock held.
func (a *responseOrder) await(long time.Duration, done func() bool) {
	over := time.After(long)
	for {
		a.mu.Lock()
		if done() {
			a.mu.Unlock()
			return
		}
		if a.news == nil {
			a.news = make(chan struct{})
		}
		news := a.news
		a.mu.Unlock()
		select {
		case <-news:
		case <-over:
			return
		}
	}
}

// A countedReader counts requests as they are read. Messages after a cancel wait until it is executed.
// Otherwise the connection could answer a prompt among them first.
type countedReader struct {
	io.Reader
	answers *responseOrder
	open    chan struct{} // closed when reading may begin: the connection starts to read while it is being created
	rest    []byte        // data already read, waiting
	err     error         // read error after rest
}

func (r *countedReader) Read(p []byte) (int, error) {
	<-r.open
	r.answers.waitCarriedOut(2 * promptTime)
	if len(r.rest) == 0 && r.err == nil {
		var n int
		n, r.err = r.Reader.Read(p)
		r.rest = bytes.Clone(p[:n])
	}
	n := r.answers.read(r.rest[:min(len(r.rest), len(p))])
	copy(p, r.rest[:n])
	if r.rest = r.rest[n:]; len(r.rest) > 0 || r.err == nil {
		return n, nil
	}
	r.answers.end()
	return n, r.err
}

// A countedWriter counts responses as they are written.
type countedWriter struct {
	io.Writer
	answers *responseOrder
}

func (w countedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.answers.wrote(p)
	return n, err
}
