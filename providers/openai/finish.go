package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"parley/providers/llm"
	"parley/providers/wire"
)

// event reads one chunk of a stream.
func (a *answer) event(name string, data []byte) (last bool, err error) {
	if name == "error" { // LM Studio
		return false, a.failed(data)
	}
	return false, a.chunk(&a.reused, data)
}

func (a *answer) whole(data []byte) error {
	var c chunk
	if err := a.chunk(&c, data); err != nil {
		return err
	}
	if len(c.Choices) == 0 {
		return a.failed(data)
	}
	return a.end(true)
}

// chunk reads one chunk, which may hold an error instead of an answer.
func (a *answer) chunk(c *chunk, data []byte) error {
	if err := c.decode(data); err != nil {
		return wire.DecodeError(data, err)
	}
	if a.label.ID == "" && a.looked < 8 { // Azure's first chunk has none
		a.looked++
		lenient(data, &a.label)
	}
	a.take(c)
	switch {
	case present(c.Error), c.Base != nil && c.Base.Status != 0:
		return a.failed(data)
	case len(c.Choices) == 0 && wire.EventError(data) != nil: // a flat error
		return a.failed(data)
	case c.Groq != nil && present(c.Groq.Error):
		return a.failed([]byte(`{"error":` + string(c.Groq.Error) + `}`))
	}
	return nil
}

// end finishes the answer. Some servers send no reason, only the end.
func (a *answer) end(done bool) error {
	if a.shared != nil && !a.chosen && (done || a.others) {
		return errFewer
	}
	a.release()
	reason := reasons[a.finish]
	if reason == "" {
		reason = llm.Other
	}
	switch {
	case a.finish == "" && !(done && a.opened > 0):
		return wire.ErrInterrupted
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
	if reason == llm.Stop && a.denied && !a.said {
		reason = llm.Refused
	}
	a.settle()
	a.report()
	if reason == llm.Refused {
		a.explain(a.caught, a.native, a.finish)
	}
	a.out.Send(llm.Finish{Reason: reason, Raw: a.finish, ID: a.label.ID, Model: a.label.Model})
	return nil
}

// explain tells why an answer was refused, as far as the service says more than
// that: what its filter found, or the word of the service behind it.
func (t *tally) explain(caught, native, finish string) {
	switch {
	case caught != "":
		t.out.Send(llm.Notice{Text: "refused: the provider's filter found " + caught})
	case native != "" && !strings.EqualFold(native, finish):
		t.out.Send(llm.Notice{Text: "refused: the model's provider says " + wire.Excerpt(native)})
	}
}

// filtered names what Azure's filter found, if there is anything to read: its
// results come with every chunk.
func filtered(raw json.RawMessage) string {
	if !bytes.Contains(raw, []byte("true")) {
		return ""
	}
	return wire.FilteredCategories(raw)
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
