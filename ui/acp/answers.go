package acp

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"
)

// answers counts the requests of a client that are not answered yet, by the lines of both
// directions: the connection ends when the client closes its side, and not once it has written
// the last answer. It also begins to answer requests in any order, so that answers knows which
// prompts came before a cancel.
type answers struct {
	mu      sync.Mutex
	open    int
	news    chan struct{} // closed with each answer and each prompt that begins, and made anew
	partial []byte        // of a line that the client has not ended
	closed  bool          // by the client

	prompts map[any]string     // sessions of the prompts that are not answered, by the id of the request
	cancels map[string][][]any // by session: of each cancel that nobody took yet, the prompts before it
}

// header is what a message begins with.
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
	_ = json.Unmarshal(h.Params, &about) // what is none is about none
	return about.Session
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
	a.partial, a.closed = nil, true
}

// isClosed reports whether the client has closed its side.
func (a *answers) isClosed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closed
}

func (a *answers) line(line []byte) {
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
		}
	}
}

// canceled takes the next cancel of a session, and returns the prompts that came before it.
func (a *answers) canceled(session string) (prompts []any) {
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
func (a *answers) waitBegun(prompts []any, begun func() int, long time.Duration) {
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
	switch m.ID.(type) {
	case string, float64:
		delete(a.prompts, m.ID)
	}
	a.tell()
}

// tell has those look again who wait. The lock is held.
func (a *answers) tell() {
	if a.news != nil {
		close(a.news)
		a.news = nil
	}
}

// began notes that a prompt has begun.
func (a *answers) began() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tell()
}

// wait waits until all requests are answered, or for long.
func (a *answers) wait(long time.Duration) {
	a.await(long, func() bool { return a.open <= 0 })
}

// await waits until done, which is called with the lock held, or for long.
func (a *answers) await(long time.Duration, done func() bool) {
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
