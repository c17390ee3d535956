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

// target holds the options of an adapter for one service.
type target struct {
	adapter.Options
	token           *token.Source       // supplies tokens instead of a key; nil for none
	emptyBadRequest llm.Fault           // see kind
	command         process.CommandLine // program to run, for kinds that run one
	idleTimeout     time.Duration       // longest silence; 0 is the client's own limit
	transport       http.RoundTripper
	log             wire.Log
	tap             *wire.Tap
	replay          wire.Replay // for programs; servers are replayed by transport
}

// Kinds with special cases.
const (
	kindDemo      = "demo"
	kindChat      = "openai"
	kindResponses = "openai-responses"
)

// families lists the adapters that parley is built with.
var families = []adapter.Family{
	openai.Family, openai.ResponsesFamily,
	gemini.Family,
	anthropic.Family,
	agentcli.Family,
}

// parts holds optional features; a field is nil in a build without the feature.
var parts = struct {
	toolsByPrompt func(m llm.Model, guided, constrained bool, notices *llm.Notices, unfit func()) llm.Model
	localServers  func(ctx context.Context, kind string, hosts []string) []catalog.Server
	demoServer    func(instant bool, keyed []catalog.Provider) http.RoundTripper
}{
	localServers:  discover.Servers,
	toolsByPrompt: prompted.Wrap,
	demoServer:    demo.Transport,
}

// describe returns the options that determine the traits of a model.
func (s service) describe(model string) adapter.Options {
	return adapter.Options{
		Kind: s.kind, BaseURL: s.url, Model: s.modelID(model), Templates: s.isServer(),
		Dialects: []map[string]any{s.row.dialect, s.conf.Dialect, s.modelTable(model).Dialect},
	}
}

// traits returns the capabilities of a model that are known before the first request.
func (s service) traits(model string) adapter.Traits { return s.family.Traits(s.describe(model)) }

// serveInside returns the demo's built-in server, unless the requests are carried elsewhere: the demo shows
// the real adapter at work. The server is given the providers that need nothing but a key.
func serveInside(instant bool, elsewhere http.RoundTripper) http.RoundTripper {
	if elsewhere != nil {
		return elsewhere
	}
	return parts.demoServer(instant, slices.DeleteFunc(catalog.Heads(), func(p catalog.Provider) bool {
		return p.Local || len(p.KeyEnv) == 0 || len(p.Variables) > 0 || p.BaseURL == "" // a program
	}))
}

// withClient returns the options of t with the client that carries its requests.
func (t target) withClient() adapter.Options {
	t.HTTP = wire.Client(wire.Options{
		Provider: t.Provider, URL: t.BaseURL, Key: t.KeyName, KeyStored: t.KeyStored, Secrets: t.secrets(), Transport: t.transport, IdleTimeout: t.idleTimeout, Log: t.log, Tap: t.tap,
		EmptyBadRequest: t.emptyBadRequest, Token: t.token, TokenHeader: t.KeyHeader,
	})
	return t.Options
}

// secrets returns texts that must not appear in errors: the key and the values of secret headers.
// Addresses hold no secrets.
func (t target) secrets() []string { return append(headerSecrets(t.Headers), t.Key) }

// Kinds lists the valid kinds of a provider.
func Kinds() (kinds []string) {
	for _, f := range families {
		kinds = append(kinds, f.Kinds...)
	}
	if parts.demoServer != nil {
		kinds = append(kinds, kindDemo)
	}
	return kinds
}

// familyOf returns the family of a kind. The demo's server speaks chat completions.
func familyOf(kind string) (adapter.Family, bool) {
	if kind == kindDemo && parts.demoServer != nil {
		kind = kindChat
	}
	for _, f := range families {
		if slices.Contains(f.Kinds, kind) {
			return f, true
		}
	}
	return adapter.Family{}, false
}
