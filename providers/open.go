package providers

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/retry"
	"parley/providers/wire"
)

// defaultRetries sets how often a model is asked again after a passing fault.
const defaultRetries = 3

// Open returns the model called name: "provider/model", a provider alone for
// its default model, or a model alone that one of the providers has. A name
// that nothing answers to is an *llm.Error with nearby names; so is a provider
// without a key. No request is sent, and no command is run, before the model
// is asked.
func Open(c Config, name string, o OpenOptions) (llm.Endpoint, error) {
	o = o.withDefaults()
	s, typed, err := c.findModel(name, o.Getenv)
	if err != nil {
		return llm.Endpoint{}, err
	}
	s.exactNames = o.ExactNames
	if o.Replay != nil {
		name := cmp.Or(s.key.name, strings.TrimPrefix(s.key.hint, "set ")) // errors name it as they did
		s.key, s.address.missing = key{name: name, value: wire.PlaceholderKey}, ""
	}
	if err := notReady(s); err != nil {
		return llm.Endpoint{}, err
	}
	facts, known := s.facts(typed, o.Memory)
	if s.row.isDemo && !known {
		return llm.Endpoint{}, UnknownName("model", typed, s.modelIDs())
	}
	model, tools := s.modelID(typed), toolStrategyOf(s, typed, facts, known, o.Memory)
	window := facts.Context
	if !known && s.advertised(model, o.Memory).Context == 0 {
		window = s.modelTable(typed).Context // what else there is, is guessed
	}
	opened := &lazy{build: s.build(typed, o, tools.Strategy)}
	tools.Model = &annotated{
		lazy:  opened,
		price: facts.Price, window: window, service: s, id: model, options: o,
	}
	tuned := &configured{Model: contentTimeout{tools, s.conf.IdleTimeout, o.Attended}, renameNotice: s.renameNotice(typed), retirement: facts.Retirement(model, o.Memory.time()), settings: s.settings(typed), id: tools.name, facts: facts, noWeb: noWeb(s, typed), known: known && !s.closestBuiltin().Local && !s.row.noLevel}
	retries := defaultRetries
	if s.conf.MaxRetries != nil {
		retries = *s.conf.MaxRetries
	}
	e := endpointFacts(s, typed, facts, known, tools)
	e.Model = endpoint{retry.Wrap(tuned, retry.Options{MaxRetries: retries}), tools, opened}
	return e, nil
}

// endpointFacts returns what is known of a model before it is asked, without the model.
func endpointFacts(s service, typed string, facts catalog.Model, known bool, tools *toolStrategy) llm.Endpoint {
	traits := s.traits(typed)
	return llm.Endpoint{
		Name:       s.name + "/" + tools.name,
		Origin:     traits.Origin,
		Strategy:   tools.Strategy(),
		Known:      known,
		Context:    facts.Context,
		Vision:     facts.Vision,
		Blind:      !facts.Vision && s.advertised(s.modelID(typed), tools.memory).Vision != nil,
		Efforts:    supportedEfforts(facts),
		Candidates: traits.Candidates && !tools.memory.limits(tools.served, s.kind).Has(adapter.LimitCandidates),
		Files:      traits.Files,
		Cost:       facts.Price.Cost,
		Web:        traits.SearchesWeb,
		Cache:      promptCache(s.builtin),
	}
}

// toolStrategyOf returns how a model gets its tools, without the model.
func toolStrategyOf(s service, typed string, facts catalog.Model, known bool, memory *Memory) *toolStrategy {
	model := s.modelID(typed)
	calls := facts.Tools || !known && s.advertised(model, memory).Tools == nil
	traits := s.traits(typed)
	return &toolStrategy{
		name: s.shownID(model), strategy: s.strategy(typed, calls), isProgram: s.isProgram(),
		memory: memory, served: s.servedModel(model), supportsSchema: traits.HasSchema && !s.row.isDemo, prefersGuided: traits.Guided,
	}
}

// promptCache returns how a service caches prompts. One with a name of the user's that
// speaks like it, whose row is the zero one, is not known to cache like it.
func promptCache(row catalog.Provider) llm.Cache {
	return llm.Cache{Lifetime: time.Duration(row.CacheMinutes) * time.Minute, MinTokens: row.CacheLeast}
}

// An endpoint model tells through all its decorators how it gets tools: servers
// may make it change its mind.
type endpoint struct {
	llm.Model
	tools *toolStrategy
	lazy  *lazy
}

// Warm connects to the server, if nothing was asked of it yet, for a request that is about to
// come. Nothing is sent before that but what TLS needs. What fails is told by the request.
func (m endpoint) Warm(ctx context.Context) {
	m.lazy.get(ctx, true)
}

// Strategy returns that of the next request: "native", "prompt", "guided" or "none".
func (m endpoint) Strategy() string { return m.tools.Strategy() }

// facts returns what is known about a model of s: by the catalog, over it by the list that is
// kept and by the server, and over all by the configuration. What Guess says of a model at a
// gateway or a local server leaves out what those decide: the price, and on a
// local server the window.
func (s service) facts(model string, memory *Memory) (catalog.Model, bool) {
	m, known := catalog.FindExact(s.builtin.ID, s.modelID(model))
	if !known {
		m, known = catalog.Guess(model)
		if m.Provider != s.builtin.ID {
			m.Price = catalog.Price{}
		}
	}
	if s.url != s.builtin.BaseURL {
		m.Retires = "" // on the service's own servers
	}
	if s.isServer() {
		m.Context, m.MaxInput, m.MaxOutput = 0, 0, 0
		m.Price = catalog.Price{Free: true}
	}
	if f, newer, ok := storedFacts(s, model); ok && known && !m.Inferred && m.Provider == s.builtin.ID {
		m = f.ApplyTo(m, newer)
	}
	if s.row.noLevel {
		m.Thinking, m.Levels, m.CanDisable = "", nil, false
	}
	m = asAdvertised(m, s.advertised(model, memory))
	own := s.modelTable(model)
	m.Context = cmp.Or(own.Context, m.Context)
	switch {
	case own.Price != nil:
		m.Price = *own.Price
		m.Price.Configured = true
	case s.conf.Price != nil && !m.Price.Known():
		m.Price = *s.conf.Price
		m.Price.Configured = true
	}
	m.Price.Search = cmp.Or(m.Price.Search, s.builtin.SearchPrice)
	return m, known && !m.Inferred
}

// storedFacts returns what the list of s that is kept says of a model, and whether that is newer
// than the catalog. What a server on this machine runs with changes: nothing is kept of it.
func storedFacts(s service, model string) (f catalog.Facts, newer, ok bool) {
	if s.factsFile == nil || s.closestBuiltin().Local {
		return catalog.Facts{}, false, false
	}
	return s.factsFile.Find(s.name, wire.Public(s.url), s.modelID(model))
}

// strategy returns how a model gets its tools. Calls says whether it is known, or at
// least not known not, to call functions. Programs have tools of their own and
// take no others, unless told to.
func (s service) strategy(model string, calls bool) string {
	set := cmp.Or(s.modelTable(model).Strategy, s.conf.Strategy, auto)
	switch {
	case s.isProgram() && set != prompt && set != guided:
		return none
	case set == auto && !calls:
		return prompt
	}
	return set
}

// A lazy model builds its client when it is first asked. A failed build is repeated the next time:
// the user may have set a key meanwhile.
type lazy struct {
	build    func(ctx context.Context, ahead bool) (llm.Model, error)
	mu       sync.Mutex
	model    llm.Model
	earlyErr error // why it could not be built before the first request; nil: it was not tried, or the error was returned
}

func (l *lazy) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		m, err := l.get(ctx, false)
		if err != nil {
			yield(nil, err)
			return
		}
		m.Stream(ctx, req)(yield)
	}
}

// get returns the model. With early its client, if it is built now, connects at once.
func (l *lazy) get(ctx context.Context, ahead bool) (llm.Model, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.model != nil {
		return l.model, nil
	}
	if err := l.earlyErr; err != nil && !ahead { // the command that prints the key is not run twice
		l.earlyErr = nil
		return nil, err
	}
	m, err := l.build(ctx, ahead)
	if l.earlyErr = nil; err != nil {
		if ahead && ctx.Err() == nil {
			l.earlyErr = err
		}
		return nil, err
	}
	l.model = m
	return m, nil
}

// reset has the model built again for the next request.
func (l *lazy) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.model = nil
}

// build makes the adapter, once the key is at hand, of the model that the user
// named so.
func (s service) build(typed string, o OpenOptions, strategy func() string) func(ctx context.Context, ahead bool) (llm.Model, error) {
	return func(ctx context.Context, ahead bool) (llm.Model, error) {
		told := s.describe(typed)
		model := told.Model
		if !s.exactNames {
			model = cmp.Or(o.Memory.load(s.servedModel(typed)).path, model)
		}
		t, err := s.target(ctx)
		if err != nil {
			return nil, err
		}
		t.Model, t.Body, t.Learned = model, s.options(typed), o.Memory.limits(s.servedModel(model), s.kind)
		t.Templates, t.Dialects = told.Templates, told.Dialects
		t.transport = o.transport(s.name, model)
		if s.row.isDemo {
			t.BaseURL, t.transport = "http://demo.invalid/v1", serveInside(o.Instant, t.transport)
		}
		t.log = wire.Log{To: o.Debug, Kind: s.kind, Model: model, Strategy: strategy}
		t.tap, t.replay, t.connectEarly = o.Tap, o.Replay, ahead
		var m llm.Model
		if s.isProgram() {
			m = openProgram(s.family.Programs, t)
		} else {
			m = s.family.New(t.withClient())
		}
		return wire.MaskErrors(m, t.secrets(), t.token), nil
	}
}

// keyHeader returns the header that has the key or the token, as the configuration has it, else
// the catalog, which speaks of keys; "" is that of the kind, or Authorization.
func keyHeader(s service) string {
	if s.conf.KeyHeader != "" || s.key.token != nil {
		return s.conf.KeyHeader
	}
	return s.builtin.KeyHeader
}

// target looks the key up, which may run a command.
func (s service) target(ctx context.Context) (target, error) {
	if err := addressError(s); err != nil {
		return target{}, err
	}
	if err := checkTokenAddress(s); err != nil {
		return target{}, err
	}
	key, err := s.resolveKey(ctx)
	if err != nil {
		return target{}, err
	}
	return target{
		Options: adapter.Options{
			Provider: s.name, Kind: s.kind, BaseURL: s.url, Key: key, KeyName: s.key.name, KeyStored: s.key.stored != nil, Headers: s.conf.Headers, KeyHeader: keyHeader(s),
			NoStream: s.conf.Stream != nil && !*s.conf.Stream,
		},
		emptyBadRequest: cmp.Or(hostAt(s.url).emptyBadRequest, s.row.emptyBadRequest), token: s.key.token, command: s.conf.Command, idleTimeout: s.conf.IdleTimeout,
	}, nil
}
