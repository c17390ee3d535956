// Package openai speaks chat completions, OpenAI's and everybody else's.
//
//	llm.Request ──► body (messages, fields of the dialect) ──► POST chat/completions
//	server-sent events, or one JSON body ──► chunk ──► answer ──► llm.Events
//
// What services do differently is data: a Dialect, put together from a row of
// services and a row of families. What comes in is read generously instead:
// every known spelling of thinking, calls and usage is understood from
// everybody. A server that refuses an optional field gets the request once more
// without it, and never again with it. Errors are *llm.Error.
package openai

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"sync"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"parley/providers/filter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// Options say whom a Chat talks to.
type Options struct {
	Provider string            // as configured, for errors
	Model    string            // id on the wire
	BaseURL  string            // without "chat/completions"
	Key      string            // never printed; may be empty for servers that want none
	KeyName  string            // where the key comes from, such as "OPENAI_API_KEY"
	Headers  map[string]string // go with every request
	HTTP     *http.Client      // its transport turns what is not an answer into *llm.Error
	Dialect  Dialect
	NoStream bool           // ask for whole answers
	Body     map[string]any // extra request fields, as they are; they win
}

// A Chat is a model behind a chat completions endpoint.
type Chat struct {
	o      Options
	client sdk.Client

	mu    sync.Mutex
	cures map[string]string // request fields this server refused; see heal
	told  map[string]bool   // notices the user has seen
}

// New returns the model that o describes. Nothing is sent before Stream.
func New(o Options) *Chat {
	if o.Body["preserve_thinking"] == true { // Qwen then wants all of it back
		o.Dialect.Echo = EchoAlways
	}
	if o.HTTP == nil {
		o.HTTP = wire.Client(wire.Options{Provider: o.Provider, URL: o.BaseURL, Key: o.KeyName, Secrets: []string{o.Key}})
	}
	key := o.Key
	if key == "" {
		key = "none" // the SDK sends no request without one
	}
	// The literal keeps out what sdk.NewClient reads from the environment: a
	// base URL, keys and headers that are OpenAI's, not this server's.
	opts := []option.RequestOption{
		option.WithBaseURL(o.BaseURL),
		option.WithAPIKey(key),
		option.WithMaxRetries(0),
		option.WithHTTPClient(o.HTTP),
	}
	if official(o.BaseURL) {
		if id := os.Getenv("OPENAI_ORG_ID"); id != "" {
			opts = append(opts, option.WithOrganization(id))
		}
		if id := os.Getenv("OPENAI_PROJECT_ID"); id != "" {
			opts = append(opts, option.WithProject(id))
		}
	}
	for name, value := range o.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	return &Chat{
		o:      o,
		client: sdk.Client{Options: opts},
		cures:  map[string]string{},
		told:   map[string]bool{},
	}
}

// official reports whether a base URL is OpenAI's own.
func official(base string) bool {
	u, err := url.Parse(base)
	return err == nil && u.Hostname() == "api.openai.com"
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

// Body returns exactly what Stream would send for req.
func (c *Chat) Body(req llm.Request) ([]byte, error) {
	body, _ := c.compile(req)
	return marshal(body)
}

// Stream implements llm.Model.
func (c *Chat) Stream(ctx context.Context, req llm.Request) llm.Stream {
	s := llm.Produce(ctx, func(ctx context.Context, out *llm.Out) error {
		err := c.ask(ctx, req, out)
		if err == nil || ctx.Err() != nil {
			return err
		}
		return c.named(err)
	})
	if c.o.Dialect.Clean {
		return s
	}
	return filter.Calls(req.Tools)(filter.Think(filter.ThinkOptions{})(s))
}

// attempts bounds how often a request is sent that the server keeps refusing,
// each time without something else.
const attempts = 4

// ask sends req, again where the server can be humoured, and reads the answer.
func (c *Chat) ask(ctx context.Context, req llm.Request, out *llm.Out) error {
	for attempt := 1; !out.Stopped(); attempt++ {
		body, notices := c.compile(req)
		c.tell(out, notices)
		res, err := c.post(ctx, body)
		if err == nil {
			defer res.Body.Close()
			a := answer{out: out, dialect: c.o.Dialect, names: back(req.Tools), before: lastText(req.Messages)}
			return a.read(res.Body)
		}
		if ctx.Err() != nil {
			return err
		}
		fault := c.named(err)
		if fault.Code == "tool_use_failed" && attempt == 1 {
			continue // Groq: the model misspelled a call, which it mostly does once
		}
		notice, ok := c.heal(fault, body)
		if !ok || attempt == attempts {
			tooled(fault, body)
			return fault
		}
		c.tell(out, []string{notice})
	}
	return nil
}

// post sends body. The caller closes the response's.
func (c *Chat) post(ctx context.Context, body map[string]any) (*http.Response, error) {
	data, err := marshal(body)
	if err != nil {
		return nil, &llm.Error{Fault: llm.InvalidRequest, Message: err.Error()}
	}
	var res *http.Response
	err = c.client.Post(ctx, "chat/completions", data, &res)
	return res, err
}

// tell sends notices that the user has not seen yet.
func (c *Chat) tell(out *llm.Out, notices []string) {
	for _, text := range notices {
		c.mu.Lock()
		told := c.told[text]
		c.told[text] = true
		c.mu.Unlock()
		if !told {
			out.Send(llm.Notice{Text: text})
		}
	}
}

// named fills in who failed. Errors of no known kind come from the connection.
func (c *Chat) named(err error) *llm.Error {
	fault := &llm.Error{Fault: llm.Network, Err: err}
	if found := (*llm.Error)(nil); errors.As(err, &found) {
		same := *found
		fault = &same
	}
	fault.Provider, fault.Key, fault.URL = c.o.Provider, c.o.KeyName, public(c.o.BaseURL)
	return fault
}

// public is a base URL without what may be secret in it.
func public(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
