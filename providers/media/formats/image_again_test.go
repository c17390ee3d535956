package formats

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"parley/providers/llm/works"
	"parley/providers/media"
)

// TestAsksAgainOnlyIfNothingWasMade checks that an image is charged once.
func TestAsksAgainOnlyIfNothingWasMade(t *testing.T) {
	good := saysJSON(openAIImageAnswer(pngImage))
	fails := func(status int) http.HandlerFunc {
		return says(status, "application/json", `{"error":{"message":"not now"}}`)
	}
	for _, test := range []struct {
		name            string
		first           http.HandlerFunc
		requests, notes int
		good            bool
	}{
		{"too many", fails(429), 2, 1, true},
		{"too busy", fails(503), 2, 1, true},
		{"broken", fails(500), 1, 0, false},
		{"cut", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("{"))
		}, 1, 0, false},
		{"hung up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 1, 0, false},
		{"wrong key", fails(401), 1, 0, false},
	} {
		server := newImageServer(t, test.first, good)
		var waited time.Duration
		m := media.WithRetries(openAISuite.maker(server.URL), func(_ context.Context, d time.Duration) error { waited += d; return nil })
		o := made(t, m, works.ImageRequest{Prompt: "a fox"})
		if len(server.seen()) != test.requests || len(o.notes) != test.notes || (o.err == nil) != test.good || (waited > 0) != (test.notes > 0) {
			t.Errorf("%s: %d requests, notes %q, %v", test.name, len(server.seen()), o.notes, o.err)
		}
	}
	server := newImageServer(t, fails(429))
	m := media.WithRetries(openAISuite.maker(server.URL), func(context.Context, time.Duration) error { return nil })
	if o := made(t, m, works.ImageRequest{Prompt: "a fox"}); o.err == nil || len(server.seen()) != 4 {
		t.Errorf("for ever: %d requests, %v", len(server.seen()), o.err)
	}
	m = media.WithRetries(openAISuite.maker(server.URL), func(context.Context, time.Duration) error { return context.Canceled })
	var last error
	for _, last = range m.Make(t.Context(), works.ImageRequest{Prompt: "a fox"}) {
	}
	if !errors.Is(last, context.Canceled) || media.MayBePaid(last) {
		t.Errorf("stopped before it is sent again: %v, may be paid: %t", last, media.MayBePaid(last))
	}
}
