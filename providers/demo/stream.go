package demo

import (
	"context"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// pace is how fast the demo writes. The zero pace waits for nothing.
type pace struct {
	first time.Duration // before the first token
	each  time.Duration // for each token, a little more or less
}

// human is the pace of a brisk model: 75 tokens a second.
var human = pace{first: 300 * time.Millisecond, each: time.Second / 75}

// wait waits for d, unless ctx ends first.
func (p pace) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stream is a response body that writes itself while it is read. It starts no
// goroutine: the reader waits.
type stream struct {
	ctx    context.Context
	close  context.CancelFunc
	pace   pace
	mu     sync.Mutex // readers take turns
	chunks []chunk
	rest   string // of the chunk being read
	began  bool
}

func newStream(ctx context.Context, chunks []chunk, p pace) *stream {
	ctx, cancel := context.WithCancel(ctx)
	return &stream{ctx: ctx, close: cancel, pace: p, chunks: chunks}
}

// Read waits for the next chunk. It ends as soon as the request is canceled or
// the body closed.
func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rest == "" {
		if len(s.chunks) == 0 {
			return 0, io.EOF
		}
		next := s.chunks[0]
		if err := s.pace.wait(s.ctx, s.due(next)); err != nil {
			return 0, err
		}
		s.rest, s.chunks, s.began = next.data, s.chunks[1:], true
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// due is how long a model would take for c: a third more or less than on
// average.
func (s *stream) due(c chunk) time.Duration {
	d := time.Duration(c.tokens) * s.pace.each
	if d > 0 {
		d += time.Duration((rand.Float64() - 0.5) * float64(d) * 2 / 3)
	}
	if !s.began {
		d += s.pace.first
	}
	return d
}

// Close ends the body; a Read that waits returns at once.
func (s *stream) Close() error {
	s.close()
	return nil
}
