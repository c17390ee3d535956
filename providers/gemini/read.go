package gemini

import (
	"encoding/json"
	"errors"
	"io"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// readBody turns the body of a response into events. The body may be a stream of events, a list of
// chunks, which the API sends unless events are requested, or one chunk.
func (a *answer) readBody(body io.Reader) error {
	r, first := wire.Sniff(body)
	var err error
	switch first {
	case '{', '[':
		err = a.readValues(r, first == '[')
	default:
		err = a.readEvents(wire.NewEvents(r))
	}
	if a.finish != "" && llm.FaultOf(err) == llm.Network {
		return nil // the answer was complete
	}
	return err
}

// asInterrupted returns err as the reason for an interrupted answer.
func asInterrupted(err error) error {
	if apiErr := (*llm.Error)(nil); errors.As(err, &apiErr) {
		return err
	}
	return &llm.Error{Fault: llm.Network, Message: "the stream ended before the answer was complete", Err: err}
}

// readValues reads a chunk or a list of chunks.
func (a *answer) readValues(r io.Reader, list bool) error {
	bounded := &io.LimitedReader{R: r}
	d := json.NewDecoder(bounded)
	if list {
		bounded.N = wire.MaxEvent
		d.Token()
	}
	for !a.out.Stopped() {
		bounded.N = wire.MaxEvent
		if list && !d.More() {
			if _, err := d.Token(); err != nil && err != io.EOF {
				return asInterrupted(err)
			}
			return nil
		}
		var data json.RawMessage
		switch err := d.Decode(&data); {
		case err == io.EOF:
			return nil
		case err != nil && bounded.N <= 0:
			return wire.ErrTooLong
		case err != nil:
			if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
				return wire.DecodeError(nil, err)
			}
			return asInterrupted(err)
		}
		if err := a.onChunk(data); err != nil {
			return err
		}
	}
	return nil
}

// readEvents reads chunks from a stream of events.
func (a *answer) readEvents(e *wire.Events) error {
	for !a.out.Stopped() {
		data, err := e.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil && a.finish != "":
			return nil // errors after the end of the answer do not matter
		case err != nil:
			return asInterrupted(err)
		}
		if err := a.onChunk(data); err != nil {
			return e.Blame(data, err)
		}
	}
	return nil
}

// onChunk adds one chunk, which may contain an error instead of an answer.
func (a *answer) onChunk(data []byte) error {
	c := &a.last
	if data[0] == '[' { // an error, wrapped in a list
		*c = chunk{}
	} else if err := c.decode(data, &a.usage); err != nil {
		return wire.DecodeError(data, err)
	}
	if a.label.ID == "" && a.labelChecks < 8 { // gateways may omit it
		a.labelChecks++
		adapter.DecodeLenient(data, &a.label)
	}
	a.addChunk(c, data)
	if wire.HasError(c.Error) {
		return wire.BodyError(data)
	}
	if len(c.Candidates) == 0 {
		if fault := wire.EventError(data); fault != nil {
			return fault
		}
	}
	return nil
}
