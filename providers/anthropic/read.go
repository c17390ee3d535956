package anthropic

import (
	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// maxAnswer bounds an answer in bytes, so that a hostile server cannot exhaust the memory.
const maxAnswer = 256 << 20

// Stop reasons with special handling.
const (
	stopPause    = "pause_turn"
	stopOverflow = "model_context_window_exceeded"
)

// OnBody reads an answer sent in one piece.
func (a *answer) OnBody(data []byte) error {
	var m envelope
	if err := adapter.DecodeLenient(data, &m); err != nil {
		return wire.DecodeError(data, err)
	}
	if m.Content == nil {
		return a.bodyError(data)
	}
	a.onEnvelope(&m)
	for i, raw := range m.Content {
		a.closeBlock(a.openBlock(i, raw))
	}
	return a.OnEnd(true)
}

// OnEvent reads one event of a stream.
func (a *answer) OnEvent(name string, data []byte) (last bool, err error) {
	e, err := a.shape.Decode(data, decodeEvent, eventDeltas)
	if err != nil {
		if err = wire.DecodeError(data, err); err == wire.ErrInterrupted { // truncated in the last event
			err = a.OnEnd(false)
		}
		return true, err
	}
	if e.Type == "" {
		e.Type = name
	}
	if a.startsAgain(e) { // nothing of e belongs to the current answer
		return true, a.OnEnd(false)
	}
	switch e.Type {
	case "ping":
		if a.ended && len(a.order) == 0 { // nothing is left to wait for
			return true, a.OnEnd(true)
		}
	case "error":
		return true, a.bodyError(data)
	case "message_stop":
		return true, a.OnEnd(true)
	case "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta":
		a.onEvent(e)
	default:
		if wire.EventError(data) != nil {
			return true, a.bodyError(data)
		}
	}
	return false, nil
}

// bodyError returns the error in an event or body of a response with status 200.
func (a *answer) bodyError(data []byte) error {
	a.sendUsage()
	return wire.BodyError(data)
}

// sendUsage sends the usage, if any.
func (a *answer) sendUsage() {
	if a.hasUsage {
		a.out.Send(a.totalUsage())
	}
}

// isPaused reports whether the server expects a request to continue.
func (a *answer) isPaused() bool { return a.stopReason == stopPause && len(a.content) > 0 }

// OnEnd ends the answer. Done means that the server ended the stream.
func (a *answer) OnEnd(done bool) error {
	if a.stopReason == "" && !(done && a.blocks > 0) {
		return wire.ErrInterrupted
	}
	for len(a.order) > 0 {
		a.closeBlock(a.order[0])
	}
	a.endRun()
	if a.isPaused() {
		return nil
	}
	a.sendUsage()
	if a.stopReason == stopOverflow && !a.hasText {
		return &llm.Error{Fault: llm.ContextOverflow, Message: "the answer ended with " + stopOverflow, Code: stopOverflow}
	}
	a.out.Send(llm.Finish{Reason: adapter.FinishReason(a.stopReason, a.hasCalls), Raw: a.stopReason, ID: a.id, Model: a.model, Unused: a.unused})
	return nil
}
