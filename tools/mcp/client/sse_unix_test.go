//go:build unix

package client

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/tools/mcp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A service that works by neither streamable HTTP nor HTTP with SSE says why, in its own words.
func TestServiceStartFails(t *testing.T) {
	stream := func(event string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, event)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}
	for _, test := range []struct {
		name    string
		get     http.HandlerFunc
		silent  bool
		reasons []string
	}{
		{"another path", http.NotFound, false, []string{"Bad Request"}},
		{"a stream that is none of SSE", stream(""), true, []string{"Bad Request"}},
		{"an endpoint elsewhere", stream("event: endpoint\ndata: http://example.com/messages\n\n"), false, []string{"Bad Request", "it leads to another place, http://example.com"}},
		{"other events", stream("event: message\ndata: {}\n\n"), false, []string{"Bad Request", `first event is "message"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			listens := make(chan struct{}, 1)
			c := withKey(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					http.Error(w, "which version?", http.StatusBadRequest)
					return
				}
				select {
				case listens <- struct{}{}:
				default:
				}
				test.get(w, r)
			}))
			var o mcp.Options
			if test.silent { // its time is up once it was listened to
				o.WithTimeout = func(ctx context.Context, _ time.Duration, cause error) (context.Context, context.CancelFunc) {
					ctx, cancel := context.WithCancelCause(ctx)
					go func() {
						select {
						case <-listens:
						case <-ctx.Done():
						}
						cancel(cause)
					}()
					return ctx, func() { cancel(nil) }
				}
			}
			s := start(t, c, o).state()
			if s.Status != mcp.StatusFailed {
				t.Errorf("got %+v", s)
			}
			for _, why := range test.reasons {
				if !strings.Contains(s.Reason, why) {
					t.Errorf("got %q, want %q", s.Reason, why)
				}
			}
		})
	}
}

// A service whose stream of events ends, as proxies end idle ones, is connected again, unless that
// happens all the time.
func TestStreamEnds(t *testing.T) {
	server, streams := realServer(), atomic.Int64{}
	handler := sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return server }, nil)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			streams.Add(1)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	b := start(t, mcp.Config{URL: h.URL, Trusted: true}, mcp.Options{})
	for n := range int64(newSessions) {
		h.CloseClientConnections()
		b.until("connected again", func(s mcp.State) bool { return s.Status == mcp.StatusReady && streams.Load() == n+2 })
		b.offer()
		if out := b.call("echo", `{"text":"hello"}`); out.Text != head+"you said hello" {
			t.Errorf("got %+v", out)
		}
	}
	h.CloseClientConnections()
	if s := b.until("failed", func(s mcp.State) bool { return s.Status == mcp.StatusFailed }); s.Reason != "it closed the connection" {
		t.Errorf("got %+v", s)
	}
}
