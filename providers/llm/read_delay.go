package llm

import (
	"context"
	"time"
)

type readDelayKey struct{}

// WithReadDelay returns a context for answers that arrive faster than they are shown:
// delay returns how long reading them can wait, 0 if it cannot. The reader of a
// connection calls it each time that it has read all available data. Data that arrives in the
// meantime gathers, and costs one read instead of many. Delay must be safe for concurrent use.
func WithReadDelay(ctx context.Context, delay func() time.Duration) context.Context {
	return context.WithValue(ctx, readDelayKey{}, delay)
}

// ReadDelay returns what the last WithReadDelay was given; nil if there was none.
func ReadDelay(ctx context.Context) func() time.Duration {
	delay, _ := ctx.Value(readDelayKey{}).(func() time.Duration)
	return delay
}
