package llm

import (
	"context"
	"sync/atomic"
	"time"
)

// A Pulse counts the signs of life of an answer: everything that adds content to
// it, shown or held back. Comments, pings and empty deltas are none. Who reads
// the connection ends an answer whose pulse has stood still for the Limit. It is
// safe for concurrent use.
type Pulse struct {
	Limit time.Duration // longest time without a beat; 0 leaves it to the reader of the connection

	beats atomic.Uint64
	outer *Pulse
}

type pulseKey struct{}

// WithPulse returns a context with a pulse of its own, for the answers that are
// asked for with it. A limit of 0 is that of ctx. Beats of the pulse of ctx, if
// there is one, count as beats of this one, but not the other way around.
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

// Beat gives a sign of life: content came, or the user wants to wait on.
func (p *Pulse) Beat() {
	if p != nil {
		p.beats.Add(1)
	}
}

// Beats returns how many signs of life there were.
func (p *Pulse) Beats() uint64 {
	var n uint64
	for ; p != nil; p = p.outer {
		n += p.beats.Load()
	}
	return n
}
