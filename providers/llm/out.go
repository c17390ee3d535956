package llm

import (
	"context"
	"errors"
	"fmt"
)

// Out receives the events of one answer from an adapter or a filter. After the consumer has left,
// or after a Finish, it drops all events. It ends an answer that exceeds its limits: it sends the
// part within the limit, a Notice about it, and a Finish with the Limit. The writer then stops, as
// if the consumer had left.
type Out struct {
	yield    func(Event, error) bool
	joiner   *deltaJoiner // of an adapter, whose server may split text anywhere; nil for none
	pulse    *Pulse       // beats with each delta that has content; nil for none
	meter    meter
	stopped  bool
	finished bool
}

// NewOut returns an Out for the consumer of a Stream.
func NewOut(yield func(Event, error) bool) *Out { return &Out{yield: yield} }

// Send passes e to the consumer and reports whether the adapter should continue.
func (o *Out) Send(e Event) bool {
	if o.joiner == nil {
		return o.send(e)
	}
	switch v := e.(type) {
	case Delta:
		if deltas, changed := o.joiner.add(v); changed {
			return o.sendDeltas(deltas)
		}
	case Retry:
		o.joiner.discard(v.Discards)
	case Finish:
		o.sendDeltas(o.joiner.release(true))
	}
	return o.send(e)
}

func (o *Out) sendDeltas(list []Delta) bool {
	for _, d := range list {
		o.send(d)
	}
	return !o.stopped && !o.finished
}

func (o *Out) send(e Event) bool {
	if o.stopped || o.finished {
		return false
	}
	limit := ""
	switch d := e.(type) {
	case Delta:
		limit = o.meter.count(&d)
		speaks := d.hasContent()
		if speaks {
			o.pulse.Beat()
		}
		if limit != "" {
			if !speaks {
				return o.endAtLimit(limit)
			}
			e = d // the part within the limit
		}
	case Notice:
		if o.meter.parts++; o.meter.parts > maxParts {
			return o.endAtLimit(fmt.Sprintf("%d notices", maxParts))
		}
	case Finish:
		o.finished = true
	}
	if !o.yield(e, nil) {
		o.stopped = true
	}
	if limit != "" {
		return o.endAtLimit(limit)
	}
	return !o.stopped && !o.finished
}

// Beat counts a sign of life for content that the adapter buffers.
func (o *Out) Beat() { o.pulse.Beat() }

// Hold counts n bytes that an adapter buffers, and reports whether it should continue: buffered
// bytes have a limit too.
func (o *Out) Hold(n int) bool {
	if o.stopped || o.finished {
		return false
	}
	if o.meter.pending += n; o.meter.pending > maxPending {
		return o.endAtLimit(sizeText(maxPending, "data without an answer"))
	}
	return true
}

// endAtLimit ends an answer that reached a limit.
func (o *Out) endAtLimit(limit string) bool {
	if !o.stopped && !o.finished {
		o.stopped, o.finished = true, true
		_ = o.yield(Notice{Text: "Answer stopped at " + limit + ", the most that one answer may have"}, nil) &&
			o.yield(Finish{Reason: Length, Limit: limit}, nil)
	}
	return false
}

// Fail ends the stream with err, unless it has already ended.
func (o *Out) Fail(err error) {
	if o.joiner != nil {
		o.sendDeltas(o.joiner.release(true))
	}
	if !o.stopped && !o.finished {
		o.stopped = true
		o.yield(nil, err)
	}
}

// Stopped reports whether the consumer has left, the stream has failed, or the answer has reached a
// limit.
func (o *Out) Stopped() bool { return o.stopped }

// Produce returns a Stream of the events that f writes. Text and input may be split anywhere, even
// in a rune, with lone surrogates encoded as WTF-8; consumers get whole runes. An error of f ends
// the stream, unless a Finish came before. If f returns nil without a Finish, the answer was
// interrupted: the stream ends with a Network error, even if the transport reported none. Once ctx
// is canceled, its cause is the error.
func Produce(ctx context.Context, f func(ctx context.Context, out *Out) error) Stream {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		out := NewOut(yield)
		out.joiner = &deltaJoiner{}
		ctx, out.pulse = WithPulse(ctx, 0)
		err := f(ctx, out)
		if out.stopped || out.finished {
			return
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			err = &Error{Fault: Network, Message: "the stream ended before the answer was complete"}
		}
		out.Fail(err)
	}
}

// Canceled reports whether err means that the user, not the provider, ended the answer.
func Canceled(err error) bool {
	return errors.Is(err, context.Canceled)
}
