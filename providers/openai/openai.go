// Package openai speaks OpenAI's two wire formats: chat completions, which most other services
// support too, and Responses.
//
//	llm.Request ──► body ──► POST chat/completions ──► chunk ──► answer ──┐
//	            └─► body ──► POST responses ─────────► event ──► output ──┴► llm.Events
//
// Differences between services on chat completions are data: a Dialect combines a row of services
// and a row of families. Decoding is lenient: every known spelling of thinking, calls and usage is
// accepted from all services. Responses keeps no state on the server: its items, including signed
// and encrypted ones, are stored whole and go back unchanged. If a server refuses an optional
// field, the request is sent again without it, and later requests omit it. Errors are *llm.Error.
package openai

import (
	"context"
	"errors"
	"io"
	"strings"

	"parley/providers/adapter"
	"parley/providers/filter"
	"parley/providers/llm"
	"parley/providers/llm/share"
	"parley/providers/schema"
	"parley/providers/wire"
)

// Family is chat completions, in the dialects of many services.
var Family = adapter.Family{Kinds: Kinds, New: newModel, Traits: traitsOf, CheckDialect: checkDialect}

// newModel returns the model that o describes.
func newModel(o Options) llm.Model {
	d := DialectOf(o)
	if d.WebByResponses {
		return NewGrok(o, d)
	}
	return New(o, d)
}

// traitsOf returns the traits of the model that o describes.
func traitsOf(o Options) adapter.Traits {
	d := DialectOf(o)
	return adapter.Traits{
		Origin: d.origin(o.Model), Files: filesOf(chatEncoder(d, "")), SearchesWeb: d.searchesWeb(o.Model),
		HasSchema: d.SupportsSchema(), Guided: d.guidedFormats() != nil, Candidates: d.MultipleChoices,
	}
}

// Options describe a model and its service. BaseURL has no "chat/completions" or "responses" at the
// end. Of Body, objects are merged into those of the request, lists are appended, and other values
// replace them.
type Options = adapter.Options

// A Chat is a model at a chat completions endpoint.
type Chat struct {
	*endpoint
	dialect   Dialect
	histories adapter.Histories[*history]
}

// New returns the model that o describes, in the dialect d. It sends nothing.
func New(o Options, d Dialect) *Chat {
	if keepsReasoning(o, d) {
		d.Echo = EchoAlways
	}
	d.Schema = schema.OfModel(o.Model, d.Schema)
	c := &Chat{dialect: d}
	c.endpoint = newEndpoint(o, "chat/completions", c)
	c.multipleChoices = d.MultipleChoices
	return c
}

// keepsReasoning reports whether the service keeps thinking over turns and so wants all of it back:
// Qwen and GLM if configured, and GLM at some addresses.
func keepsReasoning(o Options, d Dialect) bool {
	clears, _ := adapter.Field(o.Body, "thinking.clear_thinking")
	return o.Body["preserve_thinking"] == true || clears == false ||
		d.KeepsReasoningURL != "" && d.Echo == EchoCalls && strings.Contains(o.BaseURL, d.KeepsReasoningURL)
}

// Origin names the wire format, the dialect and, if state from the model is valid for no other, the
// model.
func (c *Chat) Origin() string { return c.dialect.origin(c.o.Model) }

func (d Dialect) origin(model string) string {
	origin := "chat/" + d.Name
	if d.PerModel {
		origin += "/" + model
	}
	return origin
}

// Stream implements llm.Model.
func (c *Chat) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return c.stream(ctx, req, c.dialect.CleanText)
}

func (c *Chat) read(req llm.Request, body io.Reader, out *llm.Out) (bool, error) {
	shared, _ := body.(*share.Body)
	a := answer{answerState: answerState{out: out, shared: shared}, dialect: c.dialect, names: adapter.NamesOf(req.Tools, adapter.WireName)}
	err := adapter.Read(body, out, &a)
	a.release() // buffered thinking of an interrupted answer
	return a.blocks > 0, err
}

// salvage reads failed_generation, which Groq sends with the error. It contains a call in another
// syntax, which is parsed like one in the text, or an answer that is not quite JSON.
func (c *Chat) salvage(fault *llm.Error, req llm.Request, out *llm.Out) bool {
	text := failedGeneration(fault)
	call := len(req.Tools) > 0 && hasCalls(text, req)
	if text == "" || c.dialect.CleanText || !call && (req.AnswerSchema == nil || len(req.Tools) > 0) {
		return false
	}
	out.Send(llm.Delta{Block: "b1", Part: llm.Part{Kind: llm.Text, Text: text}})
	out.Send(llm.Finish{Reason: llm.Stop, Raw: fault.Code, ID: fault.ID})
	return true
}

// failedGeneration returns the model's output that the server could not parse; "" for none.
func failedGeneration(fault *llm.Error) string {
	var sent *wire.Answer
	if !errors.As(fault, &sent) {
		return ""
	}
	var body struct {
		Error struct {
			Text string `json:"failed_generation"`
		} `json:"error"`
	}
	_ = adapter.DecodeLenient(sent.Body, &body)
	return body.Error.Text
}

// hasCalls reports whether text contains a call of a tool of req.
func hasCalls(text string, req llm.Request) bool {
	found := false
	s := func(yield func(llm.Event, error) bool) {
		_ = yield(llm.Delta{Block: "b", Part: llm.Part{Kind: llm.Text, Text: text}}, nil) && yield(llm.Finish{Reason: llm.Stop}, nil)
	}
	for e := range filter.Calls(req)(filter.Harmony("")(s)) {
		d, ok := e.(llm.Delta)
		found = found || ok && d.Kind == llm.Call
	}
	return found
}
