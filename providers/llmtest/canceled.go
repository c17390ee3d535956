package llmtest

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

// CanceledClient returns a client whose request is canceled just as its response, with this body,
// arrives. It also returns the context for that request, and a function that reports whether all
// response bodies were closed.
func CanceledClient(ctx context.Context, body string) (client *http.Client, canceled context.Context, closed func() bool) {
	t := &cancelingTransport{body: body}
	canceled, t.cancel = context.WithCancel(ctx)
	return &http.Client{Transport: t}, canceled, func() bool { return t.begun.Load() > 0 && t.begun.Load() == t.closed.Load() }
}

type cancelingTransport struct {
	body          string
	cancel        context.CancelFunc
	begun, closed atomic.Int64
}

func (t *cancelingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	t.begun.Add(1)
	t.cancel()
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: &countedBody{strings.NewReader(t.body), t, false}, Request: r}, nil
}

// A countedBody notifies its transport when it is first closed.
type countedBody struct {
	io.Reader
	t      *cancelingTransport
	closed bool
}

func (b *countedBody) Close() error {
	if !b.closed {
		b.closed = true
		b.t.closed.Add(1)
	}
	return nil
}
