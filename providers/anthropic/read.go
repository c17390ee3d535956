package anthropic

import (
	"io"

	"parley/providers/llm"
	"parley/providers/wire"
)

// longest bounds an answer, so that a hostile server cannot fill the memory.
const longest = 256 << 20

// The stop reasons that mean more than a reason.
const (
	pause     = "pause_turn"
	overflown = "model_context_window_exceeded"
)

// reasons translates stop_reason.
var reasons = map[string]llm.Reason{
	"end_turn": llm.Stop, "stop_sequence": llm.Stop, "stop": llm.Stop,
	"max_tokens": llm.Length, "length": llm.Length, overflown: llm.Length,
	"tool_use": llm.Calls, "tool_calls": llm.Calls,
	"refusal": llm.Refused, "sensitive": llm.Refused, "content_filter": llm.Refused,
}

// read turns the body of a response into events, until the answer is complete or
// pauses. The body may be a stream of events or one JSON answer.
func (a *answer) read(body io.Reader) error {
	r, first := wire.Sniff(io.LimitReader(body, longest))
	if first == '{' {
		return a.whole(r)
	}
	return a.stream(wire.NewEvents(r))
}

// whole reads an answer that comes in one piece.
func (a *answer) whole(r io.Reader) error {
	data, err := wire.ReadAll(r)
	if err != nil {
		return err
	}
	var m envelope
	if err := decode(data, &m); err != nil {
		return wire.DecodeError(data, err)
	}
	if m.Content == nil {
		return a.failed(data)
	}
	a.envelope(&m)
	for i, raw := range m.Content {
		a.stop(a.start(i, raw))
	}
	return a.close(true)
}

// stream reads an answer that comes in events.
func (a *answer) stream(events *wire.Events) error {
	var e event // one for all: its memory is used again
	for !a.out.Stopped() {
		data, err := events.Next()
		if err != nil {
			if end := a.close(events.Done); end != wire.ErrInterrupted || err == io.EOF {
				return end
			}
			return err
		}
		e.reset()
		if err := decode(data, &e); err != nil {
			if err = wire.DecodeError(data, err); err == wire.ErrInterrupted { // in the last event
				return a.close(false)
			}
			return err
		}
		if e.Type == "" {
			e.Type = events.Name
		}
		if a.another(&e) { // nothing of it belongs to what came
			return a.close(false)
		}
		switch e.Type {
		case "ping":
		case "error":
			return a.failed(data)
		case "message_stop":
			return a.close(true)
		case "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta":
			a.take(&e)
		default:
			if wire.EventError(data) != nil {
				return a.failed(data)
			}
		}
	}
	return nil
}

// failed is the error that an event or a body of a 200 answer tells.
func (a *answer) failed(data []byte) error {
	a.report()
	return wire.BodyError(data)
}

// report sends the numbers, if there are any.
func (a *answer) report() {
	if a.counted {
		a.out.Send(a.total())
	}
}

// paused reports whether the server waits to be asked to go on.
func (a *answer) paused() bool { return a.end == pause && len(a.content) > 0 }

// close ends the answer. Done says that the server did.
func (a *answer) close(done bool) error {
	if a.end == "" && !(done && a.opened > 0) {
		return wire.ErrInterrupted
	}
	for len(a.order) > 0 {
		a.stop(a.order[0])
	}
	if a.paused() {
		return nil
	}
	reason := reasons[a.end]
	switch {
	case a.end == "":
		reason = llm.Stop
	case reason == "":
		reason = llm.Other
	case a.end == overflown && !a.said:
		a.report()
		return &llm.Error{Fault: llm.ContextOverflow, Message: "the answer ended with " + overflown, Code: overflown}
	}
	switch {
	case a.asked && reason == llm.Stop:
		reason = llm.Calls
	case !a.asked && reason == llm.Calls:
		reason = llm.Stop
	}
	a.report()
	a.out.Send(llm.Finish{Reason: reason, Raw: a.end, ID: a.id, Model: a.model})
	return nil
}
