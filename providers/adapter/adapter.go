// Package adapter contains the parts that the adapters of the wire formats share.
//
//	Options ──► Sender (compile, send, drop refused fields) ──► Client ──► Read ──► decoder
//
// A wire format defines the form of requests and answers. This package has the parts that do not depend on it:
// addressing a service and naming it in errors, resending without refused fields and remembering them, encoding
// conversations incrementally, the small client of Anthropic and Gemini, reading a body that is a stream or one
// answer, and converting names, ids, files and JSON for services.
package adapter

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"os"

	"parley/providers/llm"
	"parley/providers/wire"
)

// Options describe a model and its service.
type Options struct {
	Provider  string            // as configured; for errors
	Kind      string            // kind of the service in the configuration
	Model     string            // id on the wire
	BaseURL   string            // base URL of the service; each format defines the path that it appends
	Key       string            // never printed; may be empty for servers without keys
	KeyName   string            // source of the key, such as "OPENAI_API_KEY"
	KeyStored bool              // parley stores the key
	KeyHeader string            // header for the key instead of the format's own; "Authorization" adds Bearer
	Headers   map[string]string // sent with every request
	HTTP      *http.Client      // its transport turns failed responses into *llm.Error
	NoStream  bool              // request whole answers
	Body      map[string]any    // extra request fields of the user, which take precedence; each format defines how they are merged
	Learned   *LearnedLimits    // limits learned from the server; nil for new ones
	Templates bool              // the server renders chat templates itself, as local servers do
	Dialects  []map[string]any  // tables of the configuration, each merged over the previous ones; see Family.CheckDialect
}

// OpenAI is OpenAI's own host.
const OpenAI = "api.openai.com"

// IsHost reports whether the base URL has this host.
func (o Options) IsHost(name string) bool {
	u, err := url.Parse(o.BaseURL)
	return err == nil && u.Hostname() == name
}

// WithDefaults returns o with a new client and new limits where they are missing.
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

// RequestHeaders returns the headers of every request: the key in each header of own, and Headers, which
// override them. An empty name is Authorization; KeyHeader, if set, replaces all of own. OpenAI gets
// the organization and the project that the environment names.
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
	if o.IsHost(OpenAI) {
		for name, variable := range map[string]string{"Openai-Organization": "OPENAI_ORG_ID", "Openai-Project": "OPENAI_PROJECT_ID"} {
			if id := os.Getenv(variable); id != "" {
				headers[name] = id
			}
		}
	}
	for name, value := range o.Headers {
		headers[http.CanonicalHeaderKey(name)] = value
	}
	return headers
}

// WithProvider returns err as an error that names the service. An err without an *llm.Error comes
// from the connection.
func (o Options) WithProvider(err error) *llm.Error { return wire.WithProvider(err, o.wire()) }

func (o Options) wire() wire.Options {
	return wire.Options{Provider: o.Provider, URL: o.BaseURL, Key: o.KeyName, KeyStored: o.KeyStored}
}

// Produce returns a stream of the events that produce sends; its error names the service.
func (o Options) Produce(ctx context.Context, produce func(context.Context, *llm.Out) error) llm.Stream {
	return llm.Produce(ctx, func(ctx context.Context, out *llm.Out) error {
		err := produce(ctx, out)
		if err == nil || ctx.Err() != nil {
			return err
		}
		return o.WithProvider(err)
	})
}
