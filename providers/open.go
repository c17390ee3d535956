package providers

import (
	"cmp"
	"context"
	"os"
	"slices"
	"sync"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/retry"
)

// defaultRetries is how often a model is asked again after a passing fault.
const defaultRetries = 3

// Open returns the model called name: "provider/model", a provider alone for
// its default model, or a model alone that one of the providers has. A name
// that nothing answers to is an *llm.Error with nearby names; so is a provider
// without a key. No request is sent, and no command is run, before the model
// is asked.
func Open(c Config, name string, o OpenOptions) (llm.Endpoint, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	s, typed, err := c.find(name, o.Getenv)
	if err != nil {
		return llm.Endpoint{}, err
	}
	if s.key.missing != "" {
		return llm.Endpoint{}, s.noKey()
	}
	facts, known := s.facts(typed)
	if s.kind == kindDemo && !known {
		return llm.Endpoint{}, notThere("model", typed, s.models())
	}
	model := typed
	if current, ok := s.head.Aliases[typed]; ok {
		model = current
	}
	f, _ := familyOf(s.kind)
	named, _ := catalog.Row(s.head.ID, typed)
	m := &informed{
		Model:  &lazy{build: s.build(model, o)},
		price:  facts.Price,
		effort: llm.Effort(named.Effort),
		near:   func() []string { return catalog.Near(model, s.models(), 3) },
	}
	retries := defaultRetries
	if s.conf.MaxRetries != nil {
		retries = *s.conf.MaxRetries
	}
	return llm.Endpoint{
		Model:    retry.Wrap(m, retry.Options{Max: retries}),
		Name:     s.name + "/" + model,
		Origin:   f.origin(s.kind, model),
		Strategy: s.strategy(facts, known),
		Known:    known,
		Context:  facts.Context,
		Vision:   facts.Vision,
		Efforts:  efforts(facts),
	}, nil
}

// facts returns what is known about a model of s. What Guess says of a model
// at a gateway or a local server leaves out what those decide: the price, and
// on a local server the window.
func (s service) facts(model string) (catalog.Model, bool) {
	m, known := catalog.Find(s.head.ID, model)
	if !known {
		m, known = catalog.Guess(model)
		if m.Provider != s.head.ID {
			m.Price = catalog.Price{}
		}
	}
	if s.like().Local && s.kind != kindDemo {
		m.Context, m.MaxInput, m.MaxOutput = 0, 0, 0
		m.Price = catalog.Price{Free: true}
	}
	return m, known
}

// strategy says how the model gets tools.
func (s service) strategy(facts catalog.Model, known bool) string {
	if s.program() && s.conf.Strategy != "prompt" {
		return "none" // it has tools of its own and takes no others
	}
	if set := cmp.Or(s.conf.Strategy, "auto"); set != "auto" {
		return set
	}
	if known && !facts.Tools {
		return "none"
	}
	return "native"
}

// efforts are the words that make a difference to a model. Levels that have no
// word of their own among ours share the nearest one.
func efforts(m catalog.Model) []llm.Effort {
	if !m.Thinks {
		return nil
	}
	has := func(level string) bool { return slices.Contains(m.Levels, level) }
	top := has("xhigh") || has("max")
	offered := map[llm.Effort]bool{
		llm.EffortOff:     m.CanDisable,
		llm.EffortMinimal: has("minimal"),
		llm.EffortLow:     has("low"),
		llm.EffortMedium:  has("medium") || has("default"),
		llm.EffortHigh:    has("high") || has("xhigh"),
		llm.EffortMax:     has("max") || top && has("high"),
	}
	switch {
	case m.Levels != nil:
	case m.Thinking == "budget":
		for _, e := range []llm.Effort{llm.EffortMinimal, llm.EffortLow, llm.EffortMedium, llm.EffortHigh, llm.EffortMax} {
			offered[e] = true
		}
	case m.CanDisable: // on or off
		offered[llm.EffortHigh] = true
	}
	var list []llm.Effort
	for _, e := range llm.Efforts {
		if offered[e] {
			list = append(list, e)
		}
	}
	return list
}

// lazy is a model whose client is built when it is first asked. A build that
// fails is tried again the next time: a key may have come in between.
type lazy struct {
	build func(ctx context.Context) (llm.Model, error)
	mu    sync.Mutex
	model llm.Model
}

func (l *lazy) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		m, err := l.get(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		m.Stream(ctx, req)(yield)
	}
}

func (l *lazy) get(ctx context.Context) (llm.Model, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.model != nil {
		return l.model, nil
	}
	m, err := l.build(ctx)
	if err != nil {
		return nil, err
	}
	l.model = m
	return m, nil
}

// build makes the adapter, once the key is at hand.
func (s service) build(model string, o OpenOptions) func(ctx context.Context) (llm.Model, error) {
	return func(ctx context.Context) (llm.Model, error) {
		t, err := s.target(ctx)
		if err != nil {
			return nil, err
		}
		t.model, t.base, t.instant = model, o.Base, o.Instant
		f, _ := familyOf(s.kind)
		return f.open(t), nil
	}
}

// target looks the key up, which may run a command.
func (s service) target(ctx context.Context) (target, error) {
	key, err := s.lookUp(ctx)
	if err != nil {
		return target{}, err
	}
	return target{
		provider: s.name, kind: s.kind, url: s.url, key: key, keyName: s.key.name,
		headers: s.conf.Headers, body: s.conf.Options, command: s.conf.Command,
		whole: s.conf.Stream != nil && !*s.conf.Stream, idle: s.conf.IdleTimeout,
	}, nil
}
