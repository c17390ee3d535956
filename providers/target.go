package providers

import (
	"context"
	"time"

	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/wire"
)

// A Service is a provider as it can be asked for something else than answers.
type Service struct {
	Name    string // as configured
	Kind    string
	Catalog string // id of the provider in the catalog that it is; "" for one of the user's own
	Missing string // what is missing before it can be asked; "" if nothing
	BaseURL string

	Embeddings []catalog.Embedding // models of a local server that turn texts into vectors, as far as it was asked
}

// Services lists the providers in the order of a picker.
func Services(c Config, getenv func(string) string) (all []Service) {
	for s := range c.services(getenv) {
		all = append(all, s.public())
	}
	return all
}

// ServiceNamed returns the provider of a name, or of another word for it.
func ServiceNamed(c Config, name string, getenv func(string) string) (Service, bool) {
	s, ok := c.service(name, getenv)
	if !ok {
		return Service{}, false
	}
	return s.public(), true
}

// public returns what other packages know of s.
func (s service) public() Service {
	found := Service{s.name, s.kind, s.builtin.ID, s.missing(), s.url, nil}
	for _, m := range s.told {
		if m.embeds {
			found.Embeddings = append(found.Embeddings, catalog.Embedding{ID: m.ID, Price: catalog.Price{Free: true}})
		}
	}
	return found
}

// Target says how a model of a service is asked: where, with which key, by which client, and
// with which further fields of the body, which are those of its own table.
type Target struct {
	adapter.Options
	Secrets []string // that no error may hold
}

// maxSilence bounds how long a server may say nothing before it sends what it made.
const maxSilence = 5 * time.Minute

// Target returns how a model of a provider is asked. A provider without a key is an
// *llm.Error, as is a name that nothing answers to. A command that prints the key runs here;
// nothing is sent.
func (c Config) Target(ctx context.Context, provider, model string, o OpenOptions) (Target, error) {
	o = o.withDefaults()
	s, ok := c.service(provider, o.Getenv)
	if !ok {
		return Target{}, UnknownName("provider", provider, c.providerNames())
	}
	if _, unsent := o.Transport.(*captureTransport); o.Replay != nil || unsent && s.key.hint != "" {
		s.key, s.address.missing = key{name: s.key.name, value: wire.PlaceholderKey}, ""
	}
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
	if t.idleTimeout > 0 { // which is about answers: an image takes minutes of silence
		t.idleTimeout = max(t.idleTimeout, maxSilence)
	}
	t.transport, t.tap = o.transport(s.name, model), o.Tap
	t.log = wire.Log{To: o.Debug, Kind: s.kind, Model: model, Strategy: func() string { return none }}
	return Target{t.withClient(), t.secrets()}, nil
}
