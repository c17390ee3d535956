package providers

import (
	"cmp"
	"context"
	"sync"
	"time"

	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/retry"
	"parley/providers/wire"
)

// defaultRetries is how often a request is retried after a temporary fault.
const defaultRetries = 3

// Open returns the model called name: "provider/model", a provider alone for its default model, or
// a model alone that one of the providers has. The error for an unknown name is an *llm.Error with
// similar names; so is the error for a provider without a key. Open sends no request and runs no
// command; the first request to the model does.
func Open(c Config, name string, o OpenOptions) (llm.Endpoint, error) {
	o = o.withDefaults()
	s, typed, err := c.findModel(name, o.Getenv)
	if err != nil {
		return llm.Endpoint{}, err
	}
	s.exactNames = o.ExactNames
	s.replaceKey(o)
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
		window = s.modelTable(typed).Context // the other facts are guesses
	}
	own, network := o, o.networkTo(s)
	if network != nil {
		own.Transport = network
	}
	tools.Model = &annotated{
		lazy:  &lazy{build: s.build(typed, own, tools.Strategy)},
		price: facts.Price, window: window, service: s, id: model, options: o,
	}
	tuned := &configured{Model: contentTimeout{tools, s.conf.IdleTimeout, o.Attended}, renameNotice: s.renameNotice(typed), retirement: facts.Retirement(model, o.Memory.time()), settings: s.settings(typed), id: tools.name, facts: facts, noWeb: noWeb(s, typed), known: known && !s.closestBuiltin().Local && !s.row.noLevel}
	retries := defaultRetries
	if s.conf.MaxRetries != nil {
		retries = *s.conf.MaxRetries
	}
	e := endpointFacts(s, typed, facts, known, tools)
	e.Model = endpoint{retry.Wrap(tuned, retry.Options{MaxRetries: retries}), tools, network, s.url}
	return e, nil
}

// endpointFacts returns the facts known about a model before the first request; its Model is nil.
func endpointFacts(s service, typed string, facts catalog.Model, known bool, tools *toolStrategy) llm.Endpoint {
	traits := s.traits(typed)
	return llm.Endpoint{
		Name:       s.name + "/" + tools.name,
		Origin:     traits.Origin,
		Strategy:   tools.Strategy(),
		Known:      known,
		Context:    facts.Context,
		Widen:      s.row.widen,
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

// toolStrategyOf returns the tool strategy of a model; its Model is nil.
func toolStrategyOf(s service, typed string, facts catalog.Model, known bool, memory *Memory) *toolStrategy {
	model := s.modelID(typed)
	calls := facts.Tools || !known && s.advertised(model, memory).Tools == nil
	traits := s.traits(typed)
	return &toolStrategy{
		name: s.shownID(model), strategy: s.strategy(typed, calls), isProgram: s.isProgram(),
		memory: memory, served: s.servedModel(model), supportsSchema: traits.HasSchema && !s.row.isDemo, prefersGuided: traits.Guided,
	}
}

// promptCache returns how a service caches prompts. For a user's service, row is zero: its cache is
// unknown.
func promptCache(row catalog.Provider) llm.Cache {
	return llm.Cache{Lifetime: time.Duration(row.CacheMinutes) * time.Minute, MinTokens: row.CacheLeast, KeepsToolChoice: row.CacheChoice}
}

// An endpoint reports the tool strategy through all decorators of the model, since a server's
// refusal may change it.
type endpoint struct {
	llm.Model
	tools   *toolStrategy
	network *wire.Network // nil if there is no server to connect to
	url     string
}

// Connect connects to the server, unless a connection is open. It sends no request, looks up no key, drops errors,
// and returns at once. See [wire.Network.Connect].
func (m endpoint) Connect() {
	if m.network != nil {
		m.network.Connect(m.url)
	}
}

// Strategy returns the tool strategy of the next request: "native", "prompt", "guided" or "none".
func (m endpoint) Strategy() string { return m.tools.Strategy() }

// facts merges the known facts about a model of s, from lowest to highest precedence: the catalog,
// the stored list, the server, the configuration. For a gateway or a local server it drops
// catalog.Guess's price, and for a local server also its context window: those servers decide them.
func (s service) facts(model string, memory *Memory) (catalog.Model, bool) {
	m, known := catalog.FindExact(s.builtin.ID, s.modelID(model))
	if !known {
		m, known = catalog.Guess(model)
		if m.Provider != s.builtin.ID {
			m.Price = catalog.Price{}
		}
	}
	if s.url != s.builtin.BaseURL {
		m.Retires = "" // a date for the service's own servers
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

// storedFacts returns the facts about a model in the stored list of s, and whether they are newer
// than the catalog. Nothing is stored for a server on this machine, since its models change.
func storedFacts(s service, model string) (f catalog.Facts, newer, ok bool) {
	if s.factsFile == nil || s.closestBuiltin().Local {
		return catalog.Facts{}, false, false
	}
	return s.factsFile.Find(s.name, wire.Public(s.url), s.modelID(model))
}

// strategy returns how a model gets its tools. Calls means that the model has function calling, or
// is not known to lack it. Programs have their own tools and accept no others, unless configured
// to.
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

// A lazy model builds its client on the first request. After a failed build, the next request tries
// again: the user may have set a key meanwhile.
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

// get returns the model, building it if necessary.
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

// reset makes the next request build the model again.
func (l *lazy) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.model = nil
}

// build returns a function that builds the adapter for the model named typed, once the key is
// known.
func (s service) build(typed string, o OpenOptions, strategy func() string) func(ctx context.Context) (llm.Model, error) {
	return func(ctx context.Context) (llm.Model, error) {
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
		t.tap, t.replay = o.Tap, o.Replay
		var m llm.Model
		if s.isProgram() {
			m = openProgram(s.family.Programs, t)
		} else {
			m = s.family.New(t.withClient())
		}
		return wire.MaskErrors(m, t.secrets(), t.token), nil
	}
}

// keyHeader returns the header for the key or token: the configured one, else the catalog's, which
// is only for keys; "" for the default of the kind, or Authorization.
func keyHeader(s service) string {
	if s.conf.KeyHeader != "" || s.key.token != nil {
		return s.conf.KeyHeader
	}
	return s.builtin.KeyHeader
}

// target returns the options of the adapter. It looks up the key, which may run a command.
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
