package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/providers/wire"
)

// errCut is why an answer ended without the server having said so.
var errCut = &llm.Error{Fault: llm.Network, Message: "the answer broke off before it was complete"}

// read turns the body of a response into events, until the answer is complete.
// The body may be a stream of events or one JSON answer, whatever was asked for:
// some servers know only one of the two.
func (a *answer) read(body io.Reader) error {
	r := bufio.NewReaderSize(body, 16<<10)
	if bom, _ := r.Peek(3); string(bom) == "\ufeff" {
		r.Discard(3)
	}
	if opening(r) == '{' {
		return a.whole(r)
	}
	return a.stream(&events{r: r})
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
	data, err := io.ReadAll(io.LimitReader(r, maxEvent+1))
	if err != nil {
		return err
	}
	if len(data) > maxEvent {
		return errTooLong
	}
	var c chunk
	if err := a.chunk(&c, data); err != nil {
		return err
	}
	if len(c.Choices) == 0 {
		return a.failed(data)
	}
	return a.end(true)
}

// stream reads an answer that comes in events.
func (a *answer) stream(e *events) error {
	var c chunk // one for all: its memory is used again
	for !a.out.Stopped() {
		data, err := e.next()
		if err != nil {
			if end := a.end(false); end != errCut || err == io.EOF {
				return end
			}
			return err
		}
		data = bytes.TrimSpace(data)
		switch {
		case len(data) == 0:
			continue
		case bytes.HasPrefix(data, []byte("[DONE]")):
			return a.end(true)
		}
		if e.name == "error" { // LM Studio
			return a.failed(data)
		}
		if err := a.chunk(&c, data); err != nil {
			return err
		}
	}
	return nil
}

// chunk reads one chunk, which may hold an error instead of an answer.
func (a *answer) chunk(c *chunk, data []byte) error {
	if err := c.decode(data); err != nil {
		if truncated(err) {
			return errCut
		}
		return &llm.Error{Fault: llm.Server, Message: "not JSON: " + excerpt(data), Err: err}
	}
	if a.label.ID == "" && a.looked < 8 { // Azure's first chunk has none
		a.looked++
		lenient(data, &a.label)
	}
	a.take(c)
	switch {
	case present(c.Error), c.Base != nil && c.Base.Status != 0:
		return a.failed(data)
	case len(c.Choices) == 0 && wire.EventFault(data) != nil: // a flat error
		return a.failed(data)
	case c.Groq != nil && present(c.Groq.Error):
		return a.failed([]byte(`{"error":` + string(c.Groq.Error) + `}`))
	}
	return nil
}

// truncated reports whether JSON ended too early.
func truncated(err error) bool {
	syntax := (*json.SyntaxError)(nil)
	return errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input"
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
		a.out.Send(a.usage)
	}
}

// end finishes the answer. Done says that the server did: some send no reason.
func (a *answer) end(done bool) error {
	reason := reasons[a.finish]
	if reason == "" {
		reason = llm.Other
	}
	switch {
	case a.finish == "" && !(done && a.opened > 0):
		return errCut
	case a.finish == "":
		reason = llm.Stop
	case failures[a.finish] != "" && !(a.said && a.finish == overflown):
		a.report()
		return &llm.Error{Fault: failures[a.finish], Message: "the answer ended with " + a.finish, Code: a.finish}
	}
	if len(a.calls) > 0 && reason == llm.Stop {
		reason = llm.Calls
	}
	if len(a.calls) == 0 && reason == llm.Calls {
		reason = llm.Stop
	}
	a.settle()
	a.report()
	a.out.Send(llm.Finish{Reason: reason, Raw: a.finish, ID: a.label.ID, Model: a.label.Model})
	return nil
}

// settle sends what is known only at the end: ids for calls that have none, and
// the state that has to go back.
func (a *answer) settle() {
	for _, c := range a.calls {
		if c.id == "" {
			c.id = mint()
			a.out.Send(llm.Delta{Block: c.block, Part: llm.Part{Kind: llm.Call, ID: c.id}})
		}
	}
	state := a.details.state()
	if state == nil {
		return
	}
	if a.first == "" {
		a.out.Send(llm.Delta{Block: a.open("b"), Part: llm.Part{Kind: llm.Opaque, State: state}})
		return
	}
	a.out.Send(llm.Delta{Block: a.first, Part: llm.Part{Kind: llm.Thinking, State: state}})
}

// overflown is what GLM says when the window is full.
const overflown = "model_context_window_exceeded"

// reasons translates finish_reason.
var reasons = map[string]llm.Reason{
	"stop": llm.Stop, "eos": llm.Stop, "stop_sequence": llm.Stop, "end_turn": llm.Stop,
	"length": llm.Length, "max_tokens": llm.Length, "model_length": llm.Length, overflown: llm.Length,
	"tool_calls": llm.Calls, "function_call": llm.Calls, "tool_use": llm.Calls,
	"content_filter": llm.Refused, "sensitive": llm.Refused, "refusal": llm.Refused, "safety": llm.Refused,
}

// failures are finish reasons that say the answer is no answer.
var failures = map[string]llm.Fault{
	"error":                        llm.Server, // OpenRouter, Mistral
	"network_error":                llm.Server, // GLM
	"insufficient_system_resource": llm.Server, // DeepSeek
	overflown:                      llm.ContextOverflow,
}

// lastText is the text of the last assistant message of a history.
func lastText(messages []llm.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == llm.RoleAssistant {
			return strings.TrimSpace(messages[i].Text())
		}
	}
	return ""
}
