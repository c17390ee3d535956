package llm

import (
	"context"
	"time"
)

type readDelayKey struct{}

// WithReadDelay returns a context for answers that arrive faster than they are shown. Delay returns
// how long reading can be postponed; 0 if not at all. The reader of a connection calls it each time
// it has read all available data. Data that arrives in the meantime accumulates, and costs one read
// instead of many. Delay must be safe for concurrent use.
func WithReadDelay(ctx context.Context, delay func() time.Duration) context.Context {
	return context.WithValue(ctx, readDelayKey{}, delay)
}

// ReadDelay returns the delay function of ctx; nil if there is none.
func ReadDelay(ctx context.Context) func() time.Duration {
	delay, _ := ctx.Value(readDelayKey{}).(func() time.Duration)
	return delay
}
