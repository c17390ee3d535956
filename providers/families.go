package providers

import (
	"context"
	"net/http"
	"slices"
	"time"

	"parley/providers/adapter"
	"parley/providers/agentcli"
	"parley/providers/anthropic"
	"parley/providers/catalog"
	"parley/providers/demo"
	"parley/providers/discover"
	"parley/providers/gemini"
	"parley/providers/llm"
	"parley/providers/openai"
	"parley/providers/prompted"
	"parley/providers/token"
	"parley/providers/wire"
	"parley/tools/process"
)

// A family speaks one wire format, under one or more kinds.
type family struct {
	adapter.Family
	open func(t target) llm.Model // chat completions; nil: New and Programs open its models
}

// target is everything an adapter has to know about the service it speaks to.
type target struct {
	adapter.Options
	kind            string
	token           *token.Source       // has tokens in the place of a key; nil: there are none
	dialect         openai.Dialect      // of chat completions
	emptyBadRequest llm.Fault           // see kind
	command         process.CommandLine // program to run, for those that are one
	idleTimeout     time.Duration       // longest silence; 0 is the client's own limit
	transport       http.RoundTripper
	instant         bool
	connectEarly    bool // connect to the host before the first request
	log             wire.Log
	tap             *wire.Tap
	replay          *wire.Replay // for programs; servers have transport
}

// Kinds that are treated apart.
const (
	kindDemo = "demo"
	kindChat = "openai"
)

// families lists what parley can speak, one line each.
var families = []family{
	{adapter.Family{Kinds: openai.Kinds, Origin: chatOrigin}, openChat},
	{openai.ResponsesFamily, nil},
	{gemini.Family, nil},
	{anthropic.Family, nil},
	{agentcli.Family, nil},
	{adapter.Family{Kinds: []string{kindDemo}, Origin: chatOrigin}, openInside(demo.Transport)},
}

// parts holds what providers can do without: a field is nil without its line.
var parts = struct {
	toolsByPrompt func(m llm.Model, guided, constrained bool, notices *llm.Notices) llm.Model
	localServers  func(ctx context.Context, kind string, hosts []string) []catalog.Server
}{
	localServers:  discover.Servers,
	toolsByPrompt: prompted.Wrap,
}

// openModel returns the model that t describes.
func (f family) openModel(t target) llm.Model {
	switch {
	case f.open != nil:
		return f.open(t)
	case f.Programs != nil:
		return openProgram(f.Programs, t)
	}
	return f.New(t.withClient())
}

// speaksChat reports whether s speaks chat completions, in a dialect.
func (s service) speaksChat() bool { return slices.Contains(openai.Kinds, s.kind) }

// searchesWeb reports whether s searches the web for a model.
func (s service) searchesWeb(model string) bool {
	if searches := s.family.SearchesWeb; searches != nil {
		return searches(s.url, s.modelID(model))
	}
	return s.dialect(model).SearchesWeb(s.modelID(model))
}

// files lists what a model takes beside text and images; see llm.Endpoint.Files.
func (s service) files(model string) []string {
	if files := s.family.Files; files != nil {
		return files(s.url, s.modelID(model))
	}
	return s.dialect(model).Files()
}

// openChat speaks chat completions, in the dialect of the kind.
func openChat(t target) llm.Model {
	if t.dialect.WebByResponses {
		return openai.NewGrok(t.withClient(), t.dialect)
	}
	return openai.New(t.withClient(), t.dialect)
}

// openInside returns openChat with a server inside the program, unless the requests
// are carried elsewhere: the demo shows the real adapter at work. The server is told the providers
// that a key is all that is needed for.
func openInside(server func(instant bool, keyed []catalog.Provider) http.RoundTripper) func(t target) llm.Model {
	return func(t target) llm.Model {
		t.BaseURL = "http://demo.invalid/v1"
		if t.transport == nil {
			t.transport = server(t.instant, slices.DeleteFunc(catalog.Heads(), func(p catalog.Provider) bool {
				return p.Local || len(p.KeyEnv) == 0 || len(p.Variables) > 0 || p.BaseURL == "" // a program
			}))
		}
		return openChat(t)
	}
}

func chatOrigin(kind, _, model string) string {
	return openai.New(openai.Options{Model: model}, dialectOf(kind, model)).Origin()
}

func dialectOf(kind, model string) openai.Dialect {
	if d := kinds[kind].dialect; d != nil {
		return *d
	}
	d, _ := openai.DialectFor(kind, model)
	return d
}

// withClient returns the options of t with the client that carries its requests.
func (t target) withClient() adapter.Options {
	t.HTTP = wire.Client(wire.Options{
		Provider: t.Provider, URL: t.BaseURL, Key: t.KeyName, KeyStored: t.KeyStored, Secrets: t.secrets(), Transport: t.transport, IdleTimeout: t.idleTimeout, Log: t.log, Tap: t.tap, ConnectEarly: t.connectEarly,
		EmptyBadRequest: t.emptyBadRequest, Token: t.token, TokenHeader: t.KeyHeader,
	})
	return t.Options
}

// secrets returns what no error may hold: the key, and headers that are secret by their names.
// Addresses have none.
func (t target) secrets() []string {
	secrets := headerSecrets(t.Headers)
	if t.Key != "" {
		secrets = append(secrets, t.Key)
	}
	return secrets
}

// Kinds lists what the kind of a provider can be.
func Kinds() []string {
	var kinds []string
	for _, f := range families {
		kinds = append(kinds, f.Kinds...)
	}
	return kinds
}

func familyOf(kind string) (family, bool) {
	i := slices.IndexFunc(families, func(f family) bool { return slices.Contains(f.Kinds, kind) })
	if i < 0 {
		return family{}, false
	}
	return families[i], true
}
