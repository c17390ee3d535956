package llm

import (
	"context"
	"time"
)

type readDelayKey struct{}

// WithReadDelay returns a context for answers of which more is sent in a second than is shown:
// delay returns how long nothing more needs to be read of them, 0 for not at all. Who reads a
// connection calls it each time that everything there was has been read. What arrives in the
// meantime gathers, and costs one read instead of many. Delay must be safe for concurrent use.
func WithReadDelay(ctx context.Context, delay func() time.Duration) context.Context {
	return context.WithValue(ctx, readDelayKey{}, delay)
}

// ReadDelay returns what the last WithReadDelay was given; nil if there was none.
func ReadDelay(ctx context.Context) func() time.Duration {
	delay, _ := ctx.Value(readDelayKey{}).(func() time.Duration)
	return delay
}
