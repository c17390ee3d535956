package adapter

import (
	"maps"
	"sync"
	"time"
)

// learnedAge is how long a refusal counts. Servers and models are updated, so the field is tried
// again afterwards.
const learnedAge = 24 * time.Hour

// A Limit is the reaction to a server's refusal.
type Limit struct {
	Becomes string    // replacement to send, as defined by the wire format; "" for none
	At      time.Time // when it was learned
	Lasting bool      // it concerns the server and the model, not only this conversation
}

// LearnedLimits holds the parts of requests that a server refused for a model. The zero value is
// empty. Share it among clients of the same model at the same address with the same wire format.
type LearnedLimits struct {
	// Keep is called with all lasting limits after a new one was learned, one call at a time; nil
	// keeps them in memory only.
	Keep func(map[string]Limit)
	Now  func() time.Time // nil for time.Now

	judging  sync.Mutex
	mu       sync.Mutex
	known    map[string]Limit
	revision int
}

// NewLearnedLimits returns limits that start with known.
func NewLearnedLimits(known map[string]Limit) *LearnedLimits {
	return &LearnedLimits{known: maps.Clone(known)}
}

func (l *LearnedLimits) now() time.Time {
	if l.Now == nil {
		return time.Now()
	}
	return l.Now()
}

// All returns the current limits: their names and replacements.
func (l *LearnedLimits) All() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]string{}
	for name, limit := range l.known {
		if limit.Fresh(l.now()) {
			all[name] = limit.Becomes
		}
	}
	return all
}

// Fresh reports whether a limit still applies. A limit from the future does not: the clock was
// wrong.
func (l Limit) Fresh(now time.Time) bool {
	age := now.Sub(l.At)
	return age < learnedAge && age > -time.Hour
}

// Has reports whether a current limit is called name.
func (l *LearnedLimits) Has(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit, ok := l.known[name]
	return ok && limit.Fresh(l.now())
}

// Revision returns a number that changes whenever a limit is learned: an older request may be
// refused for reasons that are now known.
func (l *LearnedLimits) Revision() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.revision
}

// Judge calls judge about a refused request that was encoded at revision, one call at a time for
// all clients. Changed means that a limit was learned since: the request must be sent again before
// anything else is blamed.
func (l *LearnedLimits) Judge(revision int, judge func(changed bool)) {
	l.judging.Lock()
	defer l.judging.Unlock()
	judge(l.Revision() != revision)
}

// Learn stores that name was refused, and its replacement. It returns false if the limit was
// already known and did not help. Lasting is false for limits of this conversation only.
func (l *LearnedLimits) Learn(name, becomes string, lasting bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old, known := l.known[name]; known && old.Becomes == becomes && old.Fresh(l.now()) {
		return false
	}
	if l.known == nil {
		l.known = map[string]Limit{}
	}
	l.known[name] = Limit{Becomes: becomes, At: l.now(), Lasting: lasting}
	l.revision++
	if l.Keep != nil && lasting {
		kept := map[string]Limit{}
		for name, limit := range l.known {
			if limit.Lasting {
				kept[name] = limit
			}
		}
		l.Keep(kept)
	}
	return true
}

// Forget removes a limit.
func (l *LearnedLimits) Forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, name)
}
