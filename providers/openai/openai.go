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
	"io"
	"net/http"

	"parley/providers/llm"
)

// Options say whom a model talks to.
type Options struct {
	Provider string            // as configured, for errors
	Model    string            // id on the wire
	BaseURL  string            // without "chat/completions" or "responses"
	Key      string            // never printed; may be empty for servers that want none
	KeyName  string            // where the key comes from, such as "OPENAI_API_KEY"
	Headers  map[string]string // go with every request
	HTTP     *http.Client      // its transport turns what is not an answer into *llm.Error
	Dialect  Dialect           // of chat completions
	NoStream bool              // ask for whole answers
	Body     map[string]any    // extra request fields, as they are; they win
}

// A Chat is a model behind a chat completions endpoint.
type Chat struct{ *endpoint }

// New returns the model that o describes. Nothing is sent before Stream.
func New(o Options) *Chat {
	if o.Body["preserve_thinking"] == true { // Qwen then wants all of it back
		o.Dialect.Echo = EchoAlways
	}
	c := &Chat{}
	c.endpoint = dial(o, "chat/completions", c)
	return c
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
	return c.stream(ctx, req, c.o.Dialect.Clean)
}

func (c *Chat) read(req llm.Request, body io.Reader, out *llm.Out) error {
	a := answer{tally: tally{out: out}, dialect: c.o.Dialect, names: back(req.Tools), before: lastText(req.Messages)}
	return read(body, out, &a)
}
