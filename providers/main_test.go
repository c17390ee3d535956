package providers

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Gemini's SDK uses a library that starts a goroutine at program start.
func TestMain(m *testing.M) {
	listTimeout = time.Minute // a busy machine reads slowly; the tests check the amount
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// env returns an environment with these variables, given as name, value, ….
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// contextUntil returns a context that is canceled once wait returns.
func contextUntil(t *testing.T, wait func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		wait()
		cancel()
	}()
	return ctx, cancel
}
