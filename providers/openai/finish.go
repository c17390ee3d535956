package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// OnEvent reads one chunk of a stream.
func (a *answer) OnEvent(name string, data []byte) (last bool, err error) {
	if name == "error" { // LM Studio
		return false, a.bodyError(data)
	}
	c, err := a.shape.Decode(data, decodeChunk, chunkDeltas)
	if err != nil {
		return false, wire.DecodeError(data, err)
	}
	return false, a.onChunk(c, data)
}

func (a *answer) OnBody(data []byte) error {
	var c chunk
	if err := decodeChunk(data, &c); err != nil {
		return wire.DecodeError(data, err)
	}
	if err := a.onChunk(&c, data); err != nil {
		return err
	}
	if len(c.Choices) == 0 {
		return a.bodyError(data)
	}
	return a.OnEnd(true)
}

// onChunk adds one chunk, which may hold an error instead of an answer.
func (a *answer) onChunk(c *chunk, data []byte) error {
	if a.label.ID == "" && a.labelChecks < 8 { // Azure's first chunk has none
		a.labelChecks++
		adapter.DecodeLenient(data, &a.label)
	}
	a.addChunk(c)
	switch {
	case wire.HasError(c.Error), c.Base != nil && c.Base.Status != 0:
		return a.bodyError(data)
	case len(c.Choices) == 0 && wire.EventError(data) != nil: // a flat error object
		return a.bodyError(data)
	case c.Groq != nil && wire.HasError(c.Groq.Error):
		return a.bodyError([]byte(`{"error":` + string(c.Groq.Error) + `}`))
	}
	for i := range c.Choices {
		if told := c.Choices[i].Error; wire.HasError(told) && a.isOwn(&c.Choices[i]) {
			return a.bodyError([]byte(`{"error":` + string(told) + `}`))
		}
	}
	return nil
}

// OnEnd finishes the answer. Some servers end the stream without a finish reason.
func (a *answer) OnEnd(done bool) error {
	if a.shared != nil && !a.gotChoice && (done || a.othersEnded) {
		return errFewer
	}
	a.release()
	switch {
	case a.finish == "" && !(done && a.blocks > 0):
		return wire.ErrInterrupted
	case finishFaults[a.finish] != "" && !(a.hasText && a.finish == finishOverflow):
		a.sendUsage()
		return &llm.Error{Fault: finishFaults[a.finish], Message: "the answer ended with " + a.finish, Code: a.finish}
	}
	reason := adapter.FinishReason(a.finish, len(a.calls) > 0)
	if reason == llm.Stop && a.hasRefusal && !a.hasText {
		reason = llm.Refused
	}
	a.finishBlocks()
	for _, c := range slices.Concat(a.found, a.annotated) {
		a.cite(c)
	}
	a.sendUsage()
	if reason == llm.Refused {
		a.explainRefusal(a.filterFound, a.nativeFinish, a.finish)
	}
	a.out.Send(llm.Finish{Reason: reason, Raw: a.finish, ID: a.label.ID, Model: a.label.Model})
	return nil
}

// explainRefusal adds the details that the service gives about a refusal: the result of its filter,
// or the upstream's finish reason.
func (t *answerState) explainRefusal(caught, native, finish string) {
	switch {
	case caught != "":
		t.out.Send(llm.Notice{Text: "refused: the provider's filter found " + caught})
	case native != "" && !strings.EqualFold(native, finish):
		t.out.Send(llm.Notice{Text: "refused: the model's provider says " + wire.Excerpt(native)})
	}
}

// filteredBy returns the categories that Azure's filter reports as filtered. Every chunk has filter
// results.
func filteredBy(raw json.RawMessage) string {
	if !bytes.Contains(raw, []byte("true")) {
		return ""
	}
	return wire.FilteredCategories(raw)
}

// finishBlocks sends the parts known only at the end: ids for calls without one, and the state that
// has to go back.
func (a *answer) finishBlocks() {
	for _, c := range a.calls {
		if c.id == "" {
			c.id, _ = a.ids.Claim("", idPrefix)
			a.out.Send(llm.Delta{Block: c.block, Part: llm.Part{Kind: llm.Call, ID: c.id}})
		}
	}
	state := a.details.state()
	if state == nil {
		return
	}
	if a.first == "" {
		a.out.Send(llm.Delta{Block: a.blocks.New("b"), Part: llm.Part{Kind: llm.Opaque, State: state}})
		return
	}
	a.out.Send(llm.Delta{Block: a.first, Part: llm.Part{Kind: llm.Thinking, State: state}})
}

// finishOverflow is GLM's finish reason for a full context window.
const finishOverflow = "model_context_window_exceeded"

// finishFaults maps finish reasons that report a failure.
var finishFaults = map[string]llm.Fault{
	"error":                        llm.Server, // OpenRouter, Mistral
	"network_error":                llm.Server, // GLM
	"insufficient_system_resource": llm.Server, // DeepSeek
	finishOverflow:                 llm.ContextOverflow,
}
