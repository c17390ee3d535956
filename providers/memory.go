package providers

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"parley/providers/adapter"
	"parley/providers/catalog"
)

// A Memory remembers what servers refused and reported for models, so that a model opened again
// does not meet the same refusal. The zero value is ready to use and lasts as long as the process;
// OpenMemory returns a stored one. Share one Memory among all calls.
type Memory struct {
	file *learnedFile // nil if limits are not stored
	now  func() time.Time

	mu      sync.Mutex
	facts   map[servedModel]learnedFacts
	learned map[limitsKey]*adapter.LearnedLimits
}

// A servedModel is a model at the address of its server.
type servedModel struct{ url, model string }

// limitsKey identifies the limits of a model at an address for one wire format; kind is "" for
// limits of every format.
type limitsKey struct {
	servedModel
	kind string
}

// learnedTools is the limit of a model without function calling, or without it in this wire format.
const learnedTools = "tools"

// learnedFacts holds the remembered facts about a model, other than limits.
type learnedFacts struct {
	guided     bool // it wrote an invalid call: its replies follow a schema
	advertised catalog.Facts
	path       string // the server's path for a model that is a file; "" for others
}

// OpenMemory returns a Memory stored in the file at path. It saves with replace, which writes the
// content of a file and makes its directory; if replace is nil, the file is only read. Without a
// path, or if the file cannot be read or written, the Memory lasts as long as the process.
func OpenMemory(path string, replace func(path string, content []byte) error) *Memory {
	m := &Memory{now: time.Now}
	if path != "" {
		m.file = &learnedFile{path: path, replace: replace}
	}
	return m
}

// time returns the current time by the clock of m.
func (m *Memory) time() time.Time {
	if m == nil || m.now == nil {
		return time.Now()
	}
	return m.now()
}

// limits returns the limits learned for a model; none if m is nil.
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

// load returns the facts remembered about a model; none if m is nil.
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

// recordListing stores the facts of a server's list.
func (m *Memory) recordListing(s service, offers []listedModel) {
	for _, o := range offers {
		m.update(s.servedModel(o.ID), func(l *learnedFacts) { l.advertised = o.Facts })
		m.update(s.servedModel(strings.TrimSuffix(o.ID, ":latest")), func(l *learnedFacts) { l.advertised = o.Facts })
		if name := FileName(o.ID); name != o.ID {
			m.update(servedModel{s.url, name}, func(l *learnedFacts) { l.advertised, l.path = o.Facts, o.ID })
		}
	}
}

// servedModel returns the address of s and the model's id. Programs have no address, so their name
// stands for it.
func (s service) servedModel(model string) servedModel {
	return servedModel{cmp.Or(s.url, s.name), s.modelID(model)}
}
