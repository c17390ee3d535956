package wire

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"parley/providers/llm"
	"parley/tools/sanitize"
)

// A Log gets one line for each request: its provider and model, outcome, duration and size. It
// never contains headers, bodies or keys.
type Log struct {
	To       *slog.Logger // nil for no log
	Kind     string
	Model    string
	Strategy func() string // current tool strategy of the model; may be nil
}

// clientID is the header in which OpenAI accepts a request id of the client, which helps its
// support if no answer with the provider's id came.
const clientID = "X-Client-Request-Id"

// withRequestID returns req with a request id, if the provider accepts one.
func (t *transport) withRequestID(req *http.Request) *http.Request {
	if req.URL.Hostname() != "api.openai.com" || req.Header.Get(clientID) != "" {
		return req
	}
	req = req.Clone(req.Context())
	req.Header.Set(clientID, rand.Text())
	return req
}

// A logLine collects the data of one request for the log and the tap. A nil line does nothing.
type logLine struct {
	t       *transport
	tapped  *exchange
	ctx     context.Context
	client  string // parley's request id
	id      string // the provider's request id
	path    string
	status  int
	start   time.Time
	headers time.Time // arrival of the headers; zero if they did not come

	mu           sync.Mutex // a body may be closed during a read
	first        time.Time  // arrival of the body's first byte
	bytes        int64
	outcomeKnown bool // setOutcome was called
	bodyEnded    bool // the body ended before setOutcome
	ended        bool
}

// beginLine returns a new line for req; nil if there is neither log nor tap.
func (t *transport) beginLine(req *http.Request) *logLine {
	if t.Log.To == nil && t.Tap == nil {
		return nil
	}
	return &logLine{t: t, tapped: t.beginExchange(req), ctx: context.WithoutCancel(req.Context()), client: req.Header.Get(clientID), path: req.URL.Path, start: time.Now()}
}

// onHeaders records the headers of the answer.
func (l *logLine) onHeaders(res *http.Response) {
	if l == nil {
		return
	}
	l.headers, l.status, l.id = time.Now(), res.StatusCode, requestID(res.Header, "")
	l.tapped.onHeaders(res.StatusCode, res.Header)
}

// onBytes records a piece of the answer.
func (l *logLine) onBytes(p []byte) {
	if l == nil || len(p) == 0 {
		return
	}
	l.tapped.onBytes(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first.IsZero() {
		l.first = time.Now()
	}
	l.bytes += int64(len(p))
}

// setOutcome records whether the response is a usable answer; err is its error otherwise.
func (l *logLine) setOutcome(err error) {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.outcomeKnown = true
	over := l.bodyEnded
	l.mu.Unlock()
	if over || err != nil {
		l.end(err)
	}
}

// end writes the line, once. Err is why the answer is missing or incomplete.
func (l *logLine) end(err error) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.outcomeKnown || l.ended {
		l.bodyEnded = true
		return
	}
	l.ended = true
	l.tapped.end(err)
	if l.t.Log.To != nil {
		l.write(err)
	}
}

func (l *logLine) write(err error) {
	text := func(name, value string) slog.Attr {
		return slog.String(name, sanitize.Truncate(l.t.mask.Text(value), messageLimit))
	}
	attrs := []slog.Attr{
		text("provider", l.t.Provider), text("kind", l.t.Log.Kind), text("model", l.t.Log.Model),
	}
	if l.t.Log.Strategy != nil {
		attrs = append(attrs, text("strategy", l.t.Log.Strategy()))
	}
	attrs = append(attrs, text("base_url", l.t.URL), text("path", l.path))
	if found := (*llm.Error)(nil); errors.As(err, &found) && found.ID != "" {
		l.id = found.ID // an id in the body counts too
	}
	for _, id := range []struct{ name, value string }{{"client_request_id", l.client}, {"request_id", l.id}} {
		if id.value != "" {
			attrs = append(attrs, text(id.name, id.value))
		}
	}
	if l.status != 0 {
		attrs = append(attrs, slog.Int("status", l.status))
	}
	for _, at := range []struct {
		name string
		time.Time
	}{{"headers_ms", l.headers}, {"first_byte_ms", l.first}, {"total_ms", time.Now()}} {
		if !at.IsZero() {
			attrs = append(attrs, slog.Float64(at.name, float64(at.Sub(l.start).Microseconds())/1000))
		}
	}
	attrs = append(attrs, slog.Int64("bytes", l.bytes))
	if category := Category(err); category != "" {
		attrs = append(attrs, slog.String("error", category))
	}
	l.t.Log.To.LogAttrs(l.ctx, slog.LevelInfo, "request", attrs...)
}

// Categories of errors that are not faults.
const (
	Canceled = "canceled"
	Deadline = "deadline"
)

// Category returns the fault of err as a word; "" for nil.
func Category(err error) string {
	apiErr := (*llm.Error)(nil)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &apiErr):
		return string(apiErr.Fault)
	case errors.Is(err, context.DeadlineExceeded):
		return Deadline
	}
	return Canceled // with any cause of the context
}
