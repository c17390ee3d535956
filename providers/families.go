package providers

import (
	"net/http"
	"slices"
	"time"

	"parley/providers/adapter"
	"parley/providers/agentcli"
	"parley/providers/anthropic"
	"parley/providers/catalog"
	"parley/providers/demo"
	"parley/providers/gemini"
	"parley/providers/llm"
	"parley/providers/openai"
	"parley/providers/wire"
)

// A family speaks one wire format, under one or more kinds.
type family struct {
	kinds []string
	open  func(t target) llm.Model
	// origin is stamped on the messages of a kind; see llm.Message.Origin.
	origin func(kind, base, model string) string
	// files lists what a model takes beside text and images; see llm.Endpoint.Files.
	files func(s service, model string) []string
	// web reports whether the service searches the web for a model; nil: none does.
	web func(s service, model string) bool
}

// target is everything an adapter has to know about the service it speaks to.
type target struct {
	adapter.Options
	kind            string
	token           *wire.TokenSource    // has tokens in the place of a key; nil: there are none
	dialect         openai.Dialect       // of chat completions
	emptyBadRequest llm.Fault            // see kind
	command         agentcli.CommandLine // program to run, for those that are one
	idleTimeout     time.Duration        // longest silence; 0 is the client's own limit
	transport       http.RoundTripper
	instant         bool
	connectEarly    bool // connect to the host before the first request
	log             wire.Log
	tap             *wire.Tap
	replay          *wire.Replay // for programs; servers have transport
}

// Kinds that are treated apart.
const (
	kindDemo   = "demo"
	kindChat   = "openai"
	kindGemini = "gemini-cli"
)

// families lists what parley can speak, one line each.
var families = []family{
	{openai.Kinds, openChat, chatOrigin, func(s service, model string) []string { return s.dialect(model).Files() },
		func(s service, model string) bool { return s.dialect(model).SearchesWeb(s.modelID(model)) }},
	{[]string{openai.KindResponses}, openResponses, responsesOrigin, func(s service, model string) []string { return openai.ResponsesFiles(s.modelID(model)) },
		func(service, string) bool { return true }},
	{[]string{gemini.Kind}, openGemini, func(_, base, model string) string { return gemini.Origin(base, model) }, func(service, string) []string { return gemini.Files },
		func(s service, model string) bool { return gemini.SearchesWeb(s.modelID(model)) }},
	{[]string{anthropic.Kind}, openAnthropic, func(_, _, model string) string { return anthropic.Origin(model) }, func(s service, model string) []string {
		return anthropic.Files(s.url, s.modelID(model))
	}, func(s service, model string) bool { return anthropic.SearchesWeb(s.url, s.modelID(model)) }},
	{agentcli.Kinds, openAgentCLI, func(kind, _, _ string) string { return agentcli.New(agentcli.Options{Kind: kind}).Origin() }, func(service, string) []string { return agentcli.Files }, nil},
	{[]string{kindDemo}, openDemo, chatOrigin, func(s service, model string) []string { return s.dialect(model).Files() }, nil},
}

// searchesWeb reports whether s searches the web for a model.
func searchesWeb(s service, model string) bool {
	f, _ := familyOf(s.kind)
	return f.web != nil && f.web(s, model)
}

// openChat speaks chat completions, in the dialect of the kind.
func openChat(t target) llm.Model {
	if t.dialect.WebByResponses {
		return openai.NewGrok(t.withClient(), t.dialect)
	}
	return openai.New(t.withClient(), t.dialect)
}

func openResponses(t target) llm.Model { return openai.NewResponses(t.withClient()) }

func openGemini(t target) llm.Model { return gemini.New(t.withClient()) }

func openAnthropic(t target) llm.Model { return anthropic.New(t.withClient()) }

func responsesOrigin(_, _, model string) string {
	return openai.NewResponses(openai.Options{Model: model}).Origin()
}

// openDemo returns openChat with a server inside the program, unless the requests
// are carried elsewhere: the demo shows the real adapter at work.
func openDemo(t target) llm.Model {
	t.BaseURL = "http://demo.invalid/v1"
	if t.transport == nil {
		t.transport = demo.Transport(demo.Options{Instant: t.instant, Keys: demoKeys()})
	}
	return openChat(t)
}

// demoKeys lists the providers that a key is all that is needed for.
func demoKeys() (keys []demo.Key) {
	for _, p := range catalog.Heads() {
		if !p.Local && len(p.KeyEnv) > 0 && len(p.Variables) == 0 && !slices.Contains(agentcli.Kinds, p.Kind) {
			keys = append(keys, demo.Key{Provider: p.Name, Env: p.KeyEnv})
		}
	}
	return keys
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
		kinds = append(kinds, f.kinds...)
	}
	return kinds
}

func familyOf(kind string) (family, bool) {
	i := slices.IndexFunc(families, func(f family) bool { return slices.Contains(f.kinds, kind) })
	if i < 0 {
		return family{}, false
	}
	return families[i], true
}
