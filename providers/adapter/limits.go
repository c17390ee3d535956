package adapter

import (
	"maps"
	"sync"
	"time"
)

// LearnedAge sets how long it counts what a server refused: servers and models are
// updated, so it is tried again then.
const LearnedAge = 24 * time.Hour

// A Limit is what to do about something that a server refused.
type Limit struct {
	Becomes string    // what is sent in its place, in the words of the wire format; "" is nothing
	At      time.Time // when it was learned
	Lasting bool      // about the server and the model; false: about this conversation
}

// LearnedLimits holds what a server taught about a model: what of a request it
// refused. The zero value holds none. Share them among clients of the same model
// at the same address, of the same wire format.
type LearnedLimits struct {
	// Keep is called with all that lasts when something was learned, one call at a
	// time; nil keeps it in memory only.
	Keep func(map[string]Limit)
	Now  func() time.Time // nil is time.Now

	judging  sync.Mutex
	mu       sync.Mutex
	known    map[string]Limit
	revision int
}

// NewLearnedLimits returns limits that are known from before.
func NewLearnedLimits(known map[string]Limit) *LearnedLimits {
	return &LearnedLimits{known: maps.Clone(known)}
}

func (l *LearnedLimits) now() time.Time {
	if l.Now == nil {
		return time.Now()
	}
	return l.Now()
}

// All returns the limits that still count: names, and what is sent in their place.
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

// Fresh reports whether a limit still counts. One from the future does not: the clock was wrong.
func (l Limit) Fresh(now time.Time) bool {
	age := now.Sub(l.At)
	return age < LearnedAge && age > -time.Hour
}

// Has reports whether the limit name was learned and still counts.
func (l *LearnedLimits) Has(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit, ok := l.known[name]
	return ok && limit.Fresh(l.now())
}

// Revision returns a number that changes whenever something is learned: a request compiled before
// that may be refused for what is known by now.
func (l *LearnedLimits) Revision() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.revision
}

// Judge calls judge about a request that was written at revision and refused, one call
// at a time for all clients. Changed tells that something was learned since: the
// request is to be sent again before anything else is blamed.
func (l *LearnedLimits) Judge(revision int, judge func(changed bool)) {
	l.judging.Lock()
	defer l.judging.Unlock()
	judge(l.Revision() != revision)
}

// Learn stores that name was refused, and what to send in its place. It returns false if that was
// known, and did not help. Lasting is false for what is about this conversation only.
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
