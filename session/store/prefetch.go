package store

import (
	"slices"
	"sync"
)

// A prefetch reads the messages of a conversation that are only on disk before they are wanted, the
// last ones first.
type prefetch struct {
	nodes []Node // messages from 1 on; those in front of low are not read yet
	done  chan struct{}

	mu      sync.Mutex // guards what follows
	changed *sync.Cond
	low     int
	ended   bool
}

// Sizes of what a prefetch reads at once, in messages: the first is wanted at once, and for the
// others two transactions read one half each.
const (
	firstPrefetched = 2 * batchSize
	thenPrefetched  = 16 * batchSize
)

// Prefetch begins to read the messages that Older counts, back to the last summary, for Read, beside
// what else happens. It is worth its memory where a request is going to be sent at once.
func (l *Log) Prefetch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.older == 0 || l.closed || l.prefetched != nil {
		return
	}
	p := &prefetch{nodes: make([]Node, l.older), low: l.older + 1, done: make(chan struct{})}
	p.changed = sync.NewCond(&p.mu)
	l.prefetched = p
	go p.run(l.db, l.session.ID)
}

func (p *prefetch) run(db *DB, id string) {
	defer close(p.done)
	defer p.stop()
	size := firstPrefetched
	for to := len(p.nodes); to > 0; size = thenPrefetched {
		from := max(to-size, 0)
		some := p.nodes[from:to]
		if p.hasEnded() || readJoinedHalves(db, id, some, from+1) != nil { // Read reports the same error
			return
		}
		p.mu.Lock()
		p.low, to = from+1, from
		p.changed.Broadcast()
		p.mu.Unlock()
		if slices.ContainsFunc(some, func(n Node) bool { return n.Summary }) {
			return
		}
	}
}

// stop ends reading before the next messages.
func (p *prefetch) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.changed.Broadcast()
}

func (p *prefetch) hasEnded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// take returns the messages from..to once they are read; nil if they are not going to be. A nil p
// has none.
func (p *prefetch) take(from, to int) []Node {
	if p == nil || from < 1 || to > len(p.nodes) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.low > from && !p.ended {
		p.changed.Wait()
	}
	if p.low > from {
		return nil
	}
	return p.nodes[from-1 : to : to]
}
