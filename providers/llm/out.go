package llm

import (
	"context"
	"errors"
)

// Out is where an adapter or a filter writes the events of one answer. It
// latches: after the consumer has left, or after a Finish, everything sent is
// dropped.
type Out struct {
	yield    func(Event, error) bool
	joiner   *joiner // of an adapter, whose server may cut text anywhere; nil for none
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
			return o.deltas(deltas)
		}
	case Finish:
		o.deltas(o.joiner.release(true))
	}
	return o.send(e)
}

func (o *Out) deltas(list []Delta) bool {
	for _, d := range list {
		o.send(d)
	}
	return !o.stopped && !o.finished
}

func (o *Out) send(e Event) bool {
	if o.stopped || o.finished {
		return false
	}
	if _, ok := e.(Finish); ok {
		o.finished = true
	}
	if !o.yield(e, nil) {
		o.stopped = true
	}
	return !o.stopped && !o.finished
}

// Fail ends the stream with err, unless it has ended.
func (o *Out) Fail(err error) {
	if o.joiner != nil {
		o.deltas(o.joiner.release(true))
	}
	if !o.stopped && !o.finished {
		o.stopped = true
		o.yield(nil, err)
	}
}

// Stopped reports whether the consumer has left, or the stream has failed.
func (o *Out) Stopped() bool { return o.stopped }

// Finished reports whether a Finish was sent.
func (o *Out) Finished() bool { return o.finished }

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
		out.joiner = &joiner{}
		err := f(ctx, out)
		if out.stopped || out.finished {
			return
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			err = &Error{Fault: Network, Message: "the answer broke off before it was complete"}
		}
		out.Fail(err)
	}
}

// Fail is a stream that only reports err.
func Fail(err error) Stream {
	return func(yield func(Event, error) bool) { yield(nil, err) }
}

// Canceled reports whether err says that the person, not the provider, ended
// the answer.
func Canceled(err error) bool {
	return errors.Is(err, context.Canceled)
}
