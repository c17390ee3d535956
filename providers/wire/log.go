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

// A Log has one line for each request: whom it went to, how it ended, how long
// it took and how much came. It never has headers, bodies or keys.
type Log struct {
	To       *slog.Logger // nil writes nothing
	Kind     string
	Model    string
	Strategy func() string // how the model gets tools now; may be nil
}

// clientID is the header in which OpenAI takes an id of the client's own, which
// helps its support where no answer came that would bring the provider's.
const clientID = "X-Client-Request-Id"

// withRequestID returns req with an id of its own, where the provider takes one.
func (t *transport) withRequestID(req *http.Request) *http.Request {
	if req.URL.Hostname() != "api.openai.com" || req.Header.Get(clientID) != "" {
		return req
	}
	req = req.Clone(req.Context())
	req.Header.Set(clientID, rand.Text())
	return req
}

// A logLine collects what the log and the tap record of one request. A nil line does nothing.
type logLine struct {
	t       *transport
	tapped  *exchange
	ctx     context.Context
	client  string // id of the request, ours
	id      string // and the provider's
	path    string
	status  int
	start   time.Time
	headers time.Time // when they came; zero if they did not

	mu           sync.Mutex // a body may be closed while somebody reads it
	first        time.Time  // when the first byte of the body came
	bytes        int64
	outcomeKnown bool // setOutcome was called
	bodyEnded    bool // the body ended before that
	ended        bool
}

// beginLine begins the line of req.
func (t *transport) beginLine(req *http.Request) *logLine {
	if t.Log.To == nil && t.Tap == nil {
		return nil
	}
	return &logLine{t: t, tapped: t.beginExchange(req), ctx: context.WithoutCancel(req.Context()), client: req.Header.Get(clientID), path: req.URL.Path, start: time.Now()}
}

// onHeaders notes the headers of the answer.
func (l *logLine) onHeaders(res *http.Response) {
	if l == nil {
		return
	}
	l.headers, l.status, l.id = time.Now(), res.StatusCode, requestID(res.Header, "")
	l.tapped.onHeaders(res.StatusCode, res.Header)
}

// onBytes notes a piece of the answer.
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

// setOutcome says whether the answer is one: err is what it means otherwise.
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

// end writes the line, once. Err is why the answer did not come, or broke off.
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

// write writes the line.
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
		l.id = found.ID // one in the body counts as well
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

// Categories beside the faults.
const (
	categoryCanceled = "canceled"
	categoryDeadline = "deadline"
)

// Category returns the fault of err in a word, "" if there is no error.
func Category(err error) string {
	apiErr := (*llm.Error)(nil)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &apiErr):
		return string(apiErr.Fault)
	case errors.Is(err, context.DeadlineExceeded):
		return categoryDeadline
	}
	return categoryCanceled // with whatever cause the context was given
}
