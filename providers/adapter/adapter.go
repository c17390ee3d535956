// Package adapter holds what the adapters of the wire formats share.
//
//	Options ──► Sender (compile, send, leave out what is refused) ──► Client ──► Read ──► decoder
//
// A wire format decides what a request and an answer look like; everything both
// need whatever they look like stands here: who is asked and how errors name it,
// resending without a refused field and what was learned from that, the JSON of
// conversations that were sent before, the small client of Anthropic and Gemini,
// reading a body that may be a stream or one answer, and names, ids, files and JSON as services take and send them.
package adapter

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"parley/providers/llm"
	"parley/providers/wire"
)

// Options say whom a model talks to.
type Options struct {
	Provider  string            // as configured, for errors
	Kind      string            // of the service, as in the configuration
	Model     string            // id on the wire
	BaseURL   string            // of the service; each format says what it adds to it
	Key       string            // never printed; may be empty for servers that want none
	KeyName   string            // where the key comes from, such as "OPENAI_API_KEY"
	KeyStored bool              // the key is one that parley stores
	KeyHeader string            // header that has the key in place of the format's own; "Authorization" has it after Bearer
	Headers   map[string]string // go with every request
	HTTP      *http.Client      // its transport turns what is not an answer into *llm.Error
	NoStream  bool              // ask for whole answers
	Body      map[string]any    // extra request fields of the user, which win; each format says how they are merged
	Learned   *LearnedLimits    // what the server taught so far; nil is the model's own
	Templates bool              // the server renders chat templates itself, as those on the user's machine do
	Dialects  []map[string]any  // tables of the configuration, each over those before; see Family.CheckDialect
}

// IsHost reports whether the base URL is of a host.
func (o Options) IsHost(name string) bool {
	u, err := url.Parse(o.BaseURL)
	return err == nil && u.Hostname() == name
}

// WithDefaults returns o with a client and limits of its own where it has none.
func (o Options) WithDefaults() Options {
	if o.HTTP == nil {
		w := o.wire()
		w.Secrets = []string{o.Key}
		o.HTTP = wire.Client(w)
	}
	if o.Learned == nil {
		o.Learned = &LearnedLimits{}
	}
	return o
}

// RequestHeaders returns the headers of every request: the key in each header that own names, and Headers, which
// replace others of their name. An empty name is Authorization; KeyHeader, if set, replaces them all.
func (o Options) RequestHeaders(own ...string) map[string]string {
	headers := map[string]string{}
	for _, name := range own {
		name = http.CanonicalHeaderKey(cmp.Or(o.KeyHeader, name, "Authorization"))
		switch {
		case o.Key == "":
		case name == "Authorization":
			headers[name] = "Bearer " + o.Key
		default:
			headers[name] = o.Key
		}
	}
	for name, value := range o.Headers {
		headers[http.CanonicalHeaderKey(name)] = value
	}
	return headers
}

// WithProvider returns err as an error that names the service. What is no
// *llm.Error yet comes from the connection.
func (o Options) WithProvider(err error) *llm.Error { return wire.WithProvider(err, o.wire()) }

func (o Options) wire() wire.Options {
	return wire.Options{Provider: o.Provider, URL: o.BaseURL, Key: o.KeyName, KeyStored: o.KeyStored}
}

// Produce returns what produce sends as a stream whose error names the service.
func (o Options) Produce(ctx context.Context, produce func(context.Context, *llm.Out) error) llm.Stream {
	return llm.Produce(ctx, func(ctx context.Context, out *llm.Out) error {
		err := produce(ctx, out)
		if err == nil || ctx.Err() != nil {
			return err
		}
		return o.WithProvider(err)
	})
}
