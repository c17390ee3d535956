package providers

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"parley/providers/adapter"
	"parley/providers/catalog"
)

// A Memory remembers what servers refused and said of models, so that a model opened again does not
// meet the same refusal. The zero value is ready and lasts as long as the process; that of
// OpenMemory is stored. Share one among all calls.
type Memory struct {
	file *learnedFile // nil: nothing outlives the program
	now  func() time.Time

	mu      sync.Mutex
	facts   map[servedModel]learnedFacts
	learned map[limitsKey]*adapter.LearnedLimits
}

// A servedModel is where a model is served.
type servedModel struct{ url, model string }

// limitsKey holds what limits are about: a place, and how it is spoken to, "" for what
// does not depend on that.
type limitsKey struct {
	servedModel
	kind string
}

// learnedTools is the limit of a model that takes no tools, or not this way.
const learnedTools = "tools"

// learnedFacts is what is remembered of a model besides limits.
type learnedFacts struct {
	guided     bool // it wrote a call that cannot run: its replies follow a form
	advertised catalog.Facts
	path       string // what its server calls a file; "" for others
}

// OpenMemory returns what is remembered in the file at path, and keeps there what is learned by
// replace, which puts content in the place of a file and makes its folder; nil: it is only read.
// Without a path, and where the file cannot be read or written, nothing outlives the program.
func OpenMemory(path string, replace func(path string, content []byte) error) *Memory {
	m := &Memory{now: time.Now}
	if path != "" {
		m.file = &learnedFile{path: path, replace: replace}
	}
	return m
}

// time returns the time by the clock of m.
func (m *Memory) time() time.Time {
	if m == nil || m.now == nil {
		return time.Now()
	}
	return m.now()
}

// limits returns what a server refused of requests about a model; nothing, of a nil Memory.
func (m *Memory) limits(at servedModel, kind string) *adapter.LearnedLimits {
	if m == nil {
		return &adapter.LearnedLimits{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	of := limitsKey{at, kind}
	if m.learned == nil {
		m.learned = map[limitsKey]*adapter.LearnedLimits{}
	}
	if m.learned[of] == nil {
		l := &adapter.LearnedLimits{}
		if m.file != nil {
			key := learnedKey(kind, at)
			l = adapter.NewLearnedLimits(m.file.read(m.now())[key])
			l.Keep = func(all map[string]adapter.Limit) { m.file.write(key, all, m.now()) }
		}
		l.Now = m.now
		m.learned[of] = l
	}
	return m.learned[of]
}

// load returns what is remembered of a place; nothing, of a nil Memory.
func (m *Memory) load(at servedModel) learnedFacts {
	if m == nil {
		return learnedFacts{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.facts[at]
}

func (m *Memory) update(at servedModel, change func(*learnedFacts)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.facts == nil {
		m.facts = map[servedModel]learnedFacts{}
	}
	l := m.facts[at]
	change(&l)
	m.facts[at] = l
}

// recordListing keeps what a server told of its models.
func (m *Memory) recordListing(s service, offers []listedModel) {
	for _, o := range offers {
		m.update(s.servedModel(o.ID), func(l *learnedFacts) { l.advertised = o.Facts })
		m.update(s.servedModel(strings.TrimSuffix(o.ID, ":latest")), func(l *learnedFacts) { l.advertised = o.Facts })
		if name := FileName(o.ID); name != o.ID {
			m.update(servedModel{s.url, name}, func(l *learnedFacts) { l.advertised, l.path = o.Facts, o.ID })
		}
	}
}

// servedModel returns where s serves a model. Programs have no address, but a name.
func (s service) servedModel(model string) servedModel {
	return servedModel{cmp.Or(s.url, s.name), s.modelID(model)}
}
