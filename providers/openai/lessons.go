package openai

import (
	"maps"
	"sync"
)

// Lessons are what a server taught about a model: the request fields that it
// refused, and what to do about them. The zero value holds none. Share them
// among clients of the same model at the same address, of the same wire format.
type Lessons struct {
	mu    sync.Mutex
	cures map[string]string
}

// all is what was learned so far.
func (l *Lessons) all() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := maps.Clone(l.cures)
	if all == nil {
		all = map[string]string{}
	}
	return all
}

// learn remembers r, and returns it as it is to be followed. It is false for
// what was known already, and did not help.
func (l *Lessons) learn(r remedy) (remedy, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, again := l.cures[r.field]; again && known == r.becomes {
		return r, false
	}
	if l.cures == nil {
		l.cures = map[string]string{}
	}
	if other := limits[r.field]; other != "" && l.cures[other] == r.field {
		r.becomes, l.cures[other] = "", "" // it takes neither name
	}
	l.cures[r.field] = r.becomes
	return r, true
}

// forget takes back what was learned of a field.
func (l *Lessons) forget(field string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.cures, field)
}
