package demo

import (
	"context"
	"io"
	"time"
)

// pace is the writing speed of the demo. The zero pace never pauses.
type pace struct {
	first time.Duration // before the first event
	each  time.Duration // before each further event
}

// modelPace is the pace of a fast model: 75 tokens a second.
var modelPace = pace{first: 300 * time.Millisecond, each: time.Second / 75}

// pause waits for d. It returns early if ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stream is a response body that pauses before each event as it is read. It starts no goroutine:
// the reader waits.
type stream struct {
	ctx    context.Context
	cancel context.CancelFunc
	pace   pace
	events []string
	rest   string // unread part of the current event
}

func newStream(ctx context.Context, events []string, p pace) *stream {
	ctx, cancel := context.WithCancel(ctx)
	return &stream{ctx: ctx, cancel: cancel, pace: p, events: events}
}

// Read returns bytes of at most one event. It ends as soon as the request is canceled or the body
// closed.
func (s *stream) Read(p []byte) (int, error) {
	if s.rest == "" {
		if len(s.events) == 0 {
			return 0, io.EOF
		}
		if err := pause(s.ctx, s.pace.first); err != nil {
			return 0, err
		}
		s.rest, s.events, s.pace.first = s.events[0], s.events[1:], s.pace.each
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Close ends the body; a waiting Read returns at once.
func (s *stream) Close() error {
	s.cancel()
	return nil
}
