package anthropic

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"parley/providers/llm"
	"parley/providers/wire"
)

// longest bounds an answer, so that a hostile server cannot fill the memory.
const longest = 256 << 20

// errCut is why an answer ended without the server having said so.
var errCut = &llm.Error{Fault: llm.Network, Message: "the answer broke off before it was complete"}

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
// pauses. The body may be a stream of events or one JSON answer, whatever was
// asked for: some servers know only one of the two.
func (a *answer) read(res *http.Response) error {
	r := bufio.NewReaderSize(io.LimitReader(res.Body, longest), 16<<10)
	if bom, _ := r.Peek(3); string(bom) == "\ufeff" {
		r.Discard(3)
	}
	if opening(r) == '{' {
		return a.whole(r)
	}
	return a.stream(ssestream.NewDecoder(&http.Response{Body: io.NopCloser(r)}))
}

// opening looks for the first byte that is not white space, without taking it.
func opening(r *bufio.Reader) byte {
	for {
		b, err := r.Peek(1)
		if err != nil {
			return 0
		}
		if !bytes.Contains([]byte(" \t\r\n"), b) {
			return b[0]
		}
		r.Discard(1)
	}
}

// whole reads an answer that comes in one piece.
func (a *answer) whole(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	var m envelope
	if err := decode(data, &m); err != nil {
		if truncated(err) {
			return errCut
		}
		return unreadable(data, err)
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
func (a *answer) stream(d ssestream.Decoder) error {
	var e event // one for all: its memory is used again
	for !a.out.Stopped() {
		if !d.Next() {
			if end := a.close(false); end != errCut || d.Err() == nil {
				return end
			}
			return d.Err()
		}
		data := bytes.TrimSpace(d.Event().Data)
		if len(data) == 0 {
			continue
		}
		if string(data) == "[DONE]" {
			return a.close(true)
		}
		e.reset()
		if err := decode(data, &e); err != nil {
			return unreadable(data, err)
		}
		if e.Type == "" {
			e.Type = d.Event().Type
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
			if wire.EventFault(data) != nil {
				return a.failed(data)
			}
		}
	}
	return nil
}

// truncated reports whether JSON ended too early.
func truncated(err error) bool {
	syntax := (*json.SyntaxError)(nil)
	return errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input"
}

func unreadable(data []byte, err error) error {
	return &llm.Error{Fault: llm.Server, Message: "not JSON: " + excerpt(data), Err: err}
}

// failed is the error that an event or a body of a 200 answer tells.
func (a *answer) failed(data []byte) error {
	a.report()
	if fault := wire.EventFault(data); fault != nil {
		return fault
	}
	return &llm.Error{Fault: llm.Server, Message: excerpt(data)}
}

// excerpt is as much of data as fits into a message.
func excerpt(data []byte) string {
	const limit = 300
	if len(data) <= limit {
		return string(data)
	}
	for limit := limit; ; limit-- {
		if utf8.RuneStart(data[limit]) {
			return string(data[:limit]) + "…"
		}
	}
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
		return errCut
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
