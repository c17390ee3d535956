// Package openai speaks OpenAI's two wire formats: chat completions, which
// everybody else speaks as well, and Responses.
//
//	llm.Request ──► body ──► POST chat/completions ──► chunk ──► answer ──┐
//	            └─► body ──► POST responses ─────────► event ──► output ──┴► llm.Events
//
// What services do differently on chat completions is data: a Dialect, put
// together from a row of services and a row of families. What comes in is read
// generously instead: every known spelling of thinking, calls and usage is
// understood from everybody. Responses runs without state on the server: its
// items, signed and encrypted ones too, are kept whole and go back as they came.
// A server that refuses an optional field gets the request once more without it,
// and never again with it. Errors are *llm.Error.
package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"parley/providers/filter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// Options say whom a model talks to.
type Options struct {
	Provider string              // as configured, for errors
	Model    string              // id on the wire
	BaseURL  string              // without "chat/completions" or "responses"
	Key      string              // never printed; may be empty for servers that want none
	KeyName  string              // where the key comes from, such as "OPENAI_API_KEY"
	Headers  map[string]string   // go with every request
	HTTP     *http.Client        // its transport turns what is not an answer into *llm.Error
	Dialect  Dialect             // of chat completions
	NoStream bool                // ask for whole answers
	Body     map[string]any      // extra request fields: objects are merged into those of the request, lists added to them, the rest wins
	Learned  *wire.LearnedLimits // what the server taught so far; nil is the model's own
}

// A Chat is a model behind a chat completions endpoint.
type Chat struct{ *endpoint }

// New returns the model that o describes. Nothing is sent before Stream.
func New(o Options) *Chat {
	if keepsReasoning(o) {
		o.Dialect.Echo = EchoAlways
	}
	c := &Chat{}
	c.endpoint = newEndpoint(o, "chat/completions", c)
	return c
}

// keepsReasoning reports whether the service keeps thinking over turns, so that it wants
// all of it back: Qwen if it is told so, GLM as well, or at some of its addresses.
func keepsReasoning(o Options) bool {
	clears, _ := lookupField(o.Body, "thinking.clear_thinking")
	return o.Body["preserve_thinking"] == true || clears == false ||
		o.Dialect.KeepsReasoningURL != "" && o.Dialect.Echo == EchoCalls && strings.Contains(o.BaseURL, o.Dialect.KeepsReasoningURL)
}

// Origin names the wire format, the dialect, and the model where what it sends
// back is good for no other.
func (c *Chat) Origin() string {
	origin := "chat/" + c.o.Dialect.Name
	if c.o.Dialect.PerModel {
		origin += "/" + c.o.Model
	}
	return origin
}

// Stream implements llm.Model.
func (c *Chat) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return c.stream(ctx, req, c.o.Dialect.CleanText)
}

func (c *Chat) read(req llm.Request, body io.Reader, out *llm.Out) (bool, error) {
	shared, _ := body.(*llm.SharedBody)
	a := answer{answerState: answerState{out: out, shared: shared}, dialect: c.o.Dialect, names: originalNames(req.Tools)}
	err := readBody(body, out, &a)
	a.release() // of an answer that was cut
	return a.blocks > 0, err
}

// salvage takes failed_generation, which Groq sends with the error: a call that
// stands in it in another form, which is read as one that leaked into the text,
// or an answer that is not quite JSON.
func (c *Chat) salvage(fault *llm.Error, req llm.Request, out *llm.Out) bool {
	text := failedGeneration(fault)
	call := len(req.Tools) > 0 && hasCalls(text, req)
	if text == "" || c.o.Dialect.CleanText || !call && (req.AnswerSchema == nil || len(req.Tools) > 0) {
		return false
	}
	out.Send(llm.Delta{Block: "b1", Part: llm.Part{Kind: llm.Text, Text: text}})
	out.Send(llm.Finish{Reason: llm.Stop, Raw: fault.Code, ID: fault.ID})
	return true
}

// failedGeneration is what the model wrote that the server made nothing of.
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
	decodeLenient(sent.Body, &body)
	return body.Error.Text
}

// hasCalls reports whether text holds a call that the answer to req may hold.
func hasCalls(text string, req llm.Request) bool {
	found := false
	s := func(yield func(llm.Event, error) bool) {
		_ = yield(llm.Delta{Block: "b", Part: llm.Part{Kind: llm.Text, Text: text}}, nil) && yield(llm.Finish{Reason: llm.Stop}, nil)
	}
	for e := range filter.Calls(req)(s) {
		d, ok := e.(llm.Delta)
		found = found || ok && d.Kind == llm.Call
	}
	return found
}
