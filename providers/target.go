package providers

import (
	"context"
	"time"

	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/wire"
)

// A Service is a provider as seen by packages that request embeddings, images and the like.
type Service struct {
	Name    string // as configured
	Kind    string
	Catalog string // id of its catalog entry; "" for a user's own service
	Missing string // why it is not ready; "" if it is
	BaseURL string

	Embeddings []catalog.Embedding // listed embedding models of a local server
}

// Services lists the providers in picker order.
func Services(c Config, getenv func(string) string) (all []Service) {
	for s := range c.services(getenv) {
		all = append(all, s.public())
	}
	return all
}

// ServiceNamed returns the provider of a name or alias.
func ServiceNamed(c Config, name string, getenv func(string) string) (Service, bool) {
	s, ok := c.service(name, getenv)
	if !ok {
		return Service{}, false
	}
	return s.public(), true
}

// public returns the exported form of s.
func (s service) public() Service {
	found := Service{s.name, s.kind, s.builtin.ID, s.missing(), s.url, nil}
	for _, m := range s.told {
		if m.embeds {
			found.Embeddings = append(found.Embeddings, catalog.Embedding{ID: m.ID, Price: catalog.Price{Free: true}})
		}
	}
	return found
}

// A Target is how a model of a service is requested: address, key, client, and the extra body
// fields of the model's table.
type Target struct {
	adapter.Options
	Secrets []string // must not appear in errors
}

// maxSilence bounds how long a server may send nothing before its result.
const maxSilence = 5 * time.Minute

// Target returns how a model of a provider is requested. The error for an unknown name, or for a
// provider without a key, is an *llm.Error. Target runs the command that prints the key, but sends
// nothing.
func (c Config) Target(ctx context.Context, provider, model string, o OpenOptions) (Target, error) {
	o = o.withDefaults()
	s, ok := c.service(provider, o.Getenv)
	if !ok {
		return Target{}, UnknownName("provider", provider, c.providerNames())
	}
	s.replaceKey(o)
	if err := notReady(s); err != nil {
		return Target{}, err
	} else if why := s.missing(); why != "" {
		return Target{}, notFoundError("%s cannot be used yet: %s", s.name, why)
	}
	t, err := s.target(ctx)
	if err != nil {
		return Target{}, err
	}
	if version := s.family.BaseURL; version != nil {
		t.BaseURL = version(t.BaseURL)
	}
	if t.Model = model; s.closestBuiltin().Local {
		t.Model = s.modelID(model)
	}
	t.Body = s.modelTable(model).Options
	if t.idleTimeout > 0 { // idle_timeout is for chat answers: images take minutes without a byte
		t.idleTimeout = max(t.idleTimeout, maxSilence)
	}
	t.transport, t.tap = o.transport(s.name, model), o.Tap
	t.log = wire.Log{To: o.Debug, Kind: s.kind, Model: model, Strategy: func() string { return none }}
	return Target{t.withClient(), t.secrets()}, nil
}
