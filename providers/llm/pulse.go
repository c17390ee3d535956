package llm

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Pulse counts the signs of life of an answer: everything that adds content to it, shown or
// buffered, but no comments, pings and empty deltas. The reader of the connection ends an answer
// whose pulse has had no beat for Limit. It is safe for concurrent use.
type Pulse struct {
	Limit time.Duration // longest time without a beat; 0 leaves it to the reader of the connection

	beats atomic.Uint64
	outer *Pulse

	mu   sync.Mutex
	wake chan struct{} // used in the outermost pulse: closed by RetryNow; nil if there is no pause
}

type pulseKey struct{}

// WithPulse returns a context with a new pulse for the answers requested with it. A limit of 0
// takes the limit of ctx's pulse. Beats of ctx's pulse also count for the new one, but not the
// reverse.
func WithPulse(ctx context.Context, limit time.Duration) (context.Context, *Pulse) {
	p := &Pulse{Limit: limit, outer: PulseOf(ctx)}
	if limit == 0 && p.outer != nil {
		p.Limit = p.outer.Limit
	}
	return context.WithValue(ctx, pulseKey{}, p), p
}

// PulseOf returns the pulse of ctx; nil if it has none.
func PulseOf(ctx context.Context) *Pulse {
	p, _ := ctx.Value(pulseKey{}).(*Pulse)
	return p
}

// Beat counts a sign of life: content came, or the user chose to keep waiting.
func (p *Pulse) Beat() {
	if p != nil {
		p.beats.Add(1)
	}
}

// Beats returns the number of signs of life.
func (p *Pulse) Beats() uint64 {
	var n uint64
	for ; p != nil; p = p.outer {
		n += p.beats.Load()
	}
	return n
}

// RetryNow ends every running Pause of the pulse: the user does not want to wait for the next
// attempt.
func (p *Pulse) RetryNow() {
	if p = p.outermost(); p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wake != nil {
		close(p.wake)
		p.wake = nil
	}
}

// retrySignal returns the channel that the next RetryNow closes; nil without a pulse.
func (p *Pulse) retrySignal() <-chan struct{} {
	if p = p.outermost(); p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wake == nil {
		p.wake = make(chan struct{})
	}
	return p.wake
}

func (p *Pulse) outermost() *Pulse {
	for p != nil && p.outer != nil {
		p = p.outer
	}
	return p
}

type announcedKey struct{}

// AnnouncePause returns a context for a Pause that the user is notified of before it starts: any
// RetryNow from now on ends it.
func AnnouncePause(ctx context.Context) context.Context {
	return context.WithValue(ctx, announcedKey{}, PulseOf(ctx).retrySignal())
}

// Pause waits for d before a request is retried, or until RetryNow of ctx's pulse. If ctx ends
// first, it returns the cause.
func Pause(ctx context.Context, d time.Duration) error {
	return PauseUntil(ctx, time.Now().Add(d), time.Now)
}

// pauseCheck is how often a PauseUntil compares the clock.
const pauseCheck = 5 * time.Second

// PauseUntil is Pause until now returns the time until, or as much time has passed: while the machine
// sleeps, timers stand still and the clock does not, and the clock may be set back.
func PauseUntil(ctx context.Context, until time.Time, now func() time.Time) error {
	hurried, told := ctx.Value(announcedKey{}).(<-chan struct{})
	if !told {
		hurried = PulseOf(ctx).retrySignal()
	}
	until = until.Round(0) // compares the time of day, without the monotonic clock, which may stand still
	began, wait := time.Now(), until.Sub(now().Round(0))
	for {
		left := min(wait-time.Since(began), until.Sub(now().Round(0)))
		if left <= 0 {
			return context.Cause(ctx)
		}
		timer := time.NewTimer(min(left, pauseCheck))
		select {
		case <-timer.C:
		case <-hurried:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}
