package gemini

import (
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/providers/wire"
)

// read turns the body of a response into events. It may be a stream of events,
// a list of chunks, which is what the API sends unless it is asked for events,
// or one chunk.
func (a *answer) read(body io.Reader) error {
	r, first := wire.Open(body)
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
		case truncated(err):
			return cut(err)
		case err != nil:
			return garbled(err, nil)
		}
		if err := a.chunk(data); err != nil {
			return err
		}
	}
	return nil
}

// truncated reports whether JSON ended too early, and not in the wrong way.
func truncated(err error) bool {
	if err == nil {
		return false
	}
	syntax := (*json.SyntaxError)(nil)
	return !errors.As(err, &syntax) || syntax.Error() == "unexpected end of JSON input"
}

func garbled(err error, data []byte) error {
	return &llm.Error{Fault: llm.Server, Message: "not JSON: " + excerpt(string(data)), Err: err}
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
	} else if err := c.decode(data, &a.usage); truncated(err) {
		return cut(err)
	} else if err != nil {
		return garbled(err, data)
	}
	if a.label.ID == "" && a.looked < 8 { // gateways may leave it out
		a.looked++
		lenient(data, &a.label)
	}
	a.take(c, data)
	if present(c.Error) || len(c.Candidates) == 0 {
		if fault := wire.EventFault(data); fault != nil {
			return fault
		}
	}
	if present(c.Error) {
		return &llm.Error{Fault: llm.Server, Message: excerpt(string(data))}
	}
	return nil
}

// excerpt is as much of s as fits into a message.
func excerpt(s string) string {
	const limit = 300
	if len(s) <= limit {
		return s
	}
	end := limit
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
