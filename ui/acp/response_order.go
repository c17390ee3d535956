package acp

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"
)

// responseOrder counts the requests of a client that are not answered yet, by the lines of both
// directions: the connection ends when the client closes its side, and not once it has written
// the last answer. It also begins to answer requests in any order, so that answers knows which
// prompts came before a cancel.
type responseOrder struct {
	mu      sync.Mutex
	open    int
	news    chan struct{} // closed with each answer, prompt that begins and cancel that is carried out, and made anew
	partial []byte        // of a line that the client has not ended
	closed  bool          // by the client

	prompts map[any]string     // sessions of the prompts that are not answered, by the id of the request
	cancels map[string][][]any // by session: of each cancel that nobody took yet, the prompts before it
	due     int                // cancels that were read and have not been carried out
}

// header is the part of a message that is read here.
type header struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// session returns the session that a message is about; "" if there is none.
func (h header) session() string {
	var about struct {
		Session string `json:"sessionId"`
	}
	_ = json.Unmarshal(h.Params, &about) // an invalid message is about no session
	return about.Session
}

// read notes data from the client, up to the end of the first cancel, and returns how much that is.
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

// carriedOut notes that a cancel was carried out.
func (a *responseOrder) carriedOut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due = max(a.due-1, 0)
	a.tell()
}

// waitCarriedOut waits until the cancel that was read is carried out, or for long: one that is not
// understood never is.
func (a *responseOrder) waitCarriedOut(long time.Duration) {
	a.await(long, func() bool { return a.due == 0 })
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due = 0
}

// end notes that the client has closed its side: what it wrote last is a line too.
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

// canceled takes the next cancel of a session, and returns the prompts that came before it.
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

// waitBegun waits until prompts have begun, or are answered, or for long; begun counts those that
// have begun and not ended.
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

// wrote notes a message to the client, which is written whole.
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

// tell has those look again who wait. The lock is held.
func (a *responseOrder) tell() {
	if a.news != nil {
		close(a.news)
		a.news = nil
	}
}

// began notes that a prompt has begun.
func (a *responseOrder) began() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tell()
}

// wait waits until all requests are answered, or for long.
func (a *responseOrder) wait(long time.Duration) {
	a.await(long, func() bool { return a.open <= 0 })
}

// await waits until done, which is called with the lock held, or for long.
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

// A countedReader counts requests as they are read. Messages after a cancel wait until that is carried
// out: the connection would otherwise begin to answer a prompt among them before it.
type countedReader struct {
	io.Reader
	answers *responseOrder
	rest    []byte // that was read and waits
	err     error  // after it
}

func (r *countedReader) Read(p []byte) (int, error) {
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
