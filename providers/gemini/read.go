package gemini

import (
	"encoding/json"
	"errors"
	"io"

	"parley/providers/llm"
	"parley/providers/wire"
)

// read turns the body of a response into events. It may be a stream of events,
// a list of chunks, which is what the API sends unless it is asked for events,
// or one chunk.
func (a *answer) read(body io.Reader) error {
	r, first := wire.Sniff(body)
	var err error
	switch first {
	case '{', '[':
		err = a.values(r, first == '[')
	default:
		err = a.stream(wire.NewEvents(r))
	}
	if a.finish != "" && llm.FaultOf(err) == llm.Network {
		return nil // the answer was complete
	}
	return err
}

// cut is err as the reason why an answer broke off.
func cut(err error) error {
	if told := (*llm.Error)(nil); errors.As(err, &told) {
		return err
	}
	return &llm.Error{Fault: llm.Network, Message: "the answer broke off before it was complete", Err: err}
}

// values reads a chunk, or a list of them.
func (a *answer) values(r io.Reader, list bool) error {
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
				return cut(err)
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
			return cut(err)
		}
		if err := a.chunk(data); err != nil {
			return err
		}
	}
	return nil
}

// stream reads chunks that come in events.
func (a *answer) stream(e *wire.Events) error {
	for !a.out.Stopped() {
		data, err := e.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return cut(err)
		}
		if err := a.chunk(data); err != nil {
			return err
		}
	}
	return nil
}

// chunk reads one chunk, which may hold an error instead of an answer.
func (a *answer) chunk(data []byte) error {
	c := &a.last
	if data[0] == '[' { // an error, wrapped in a list
		*c = chunk{}
	} else if err := c.decode(data, &a.usage); err != nil {
		return wire.DecodeError(data, err)
	}
	if a.label.ID == "" && a.looked < 8 { // gateways may leave it out
		a.looked++
		lenient(data, &a.label)
	}
	a.take(c, data)
	if present(c.Error) {
		return wire.BodyError(data)
	}
	if len(c.Candidates) == 0 {
		if fault := wire.EventError(data); fault != nil {
			return fault
		}
	}
	return nil
}
