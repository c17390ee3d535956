package llm

import (
	"context"
	"errors"
	"fmt"
)

// Out is where an adapter or a filter writes the events of one answer. It
// latches: after the consumer has left, or after a Finish, everything sent is
// dropped. It ends an answer that grows beyond its limits: with what fits of it,
// a Notice that says so, and a Finish with the Limit. The writer stops then,
// as if the consumer had left.
type Out struct {
	yield    func(Event, error) bool
	joiner   *deltaJoiner // of an adapter, whose server may cut text anywhere; nil for none
	pulse    *Pulse       // beats with each delta that says something; nil for none
	meter    meter
	stopped  bool
	finished bool
}

// NewOut returns an Out for the consumer of a Stream.
func NewOut(yield func(Event, error) bool) *Out { return &Out{yield: yield} }

// Send hands e to the consumer and reports whether the adapter should go on.
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
			e = d // what fits of it
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

// Beat counts a sign of life for content that the adapter holds back until other content comes.
func (o *Out) Beat() { o.pulse.Beat() }

// Hold counts n bytes that an adapter keeps without sending them, and reports
// whether it should go on: they have a limit as well.
func (o *Out) Hold(n int) bool {
	if o.stopped || o.finished {
		return false
	}
	if o.meter.pending += n; o.meter.pending > maxPending {
		return o.endAtLimit(sizeText(maxPending, "data without an answer"))
	}
	return true
}

// endAtLimit ends an answer that has reached a limit.
func (o *Out) endAtLimit(limit string) bool {
	if !o.stopped && !o.finished {
		o.stopped, o.finished = true, true
		_ = o.yield(Notice{Text: "Answer stopped at " + limit + ", the most that one answer may have"}, nil) &&
			o.yield(Finish{Reason: Length, Limit: limit}, nil)
	}
	return false
}

// Fail ends the stream with err, unless it has ended.
func (o *Out) Fail(err error) {
	if o.joiner != nil {
		o.sendDeltas(o.joiner.release(true))
	}
	if !o.stopped && !o.finished {
		o.stopped = true
		o.yield(nil, err)
	}
}

// Stopped reports whether the consumer has left, the stream has failed, or the
// answer has reached a limit.
func (o *Out) Stopped() bool { return o.stopped }

// Produce makes a Stream of what f writes. Text and input may be cut anywhere, in
// a rune as well, with halves of surrogate pairs in the form of WTF-8; they come
// out whole. An error of f ends the stream,
// unless a Finish came before; if f returns nil without a Finish, the answer
// was cut and the stream ends with a Network error, whatever the transport
// thought of it. Once ctx is canceled, its cause is the error.
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

// Canceled reports whether err says that the user, not the provider, ended
// the answer.
func Canceled(err error) bool {
	return errors.Is(err, context.Canceled)
}
