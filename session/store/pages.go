package store

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"parley/providers/llm"
)

// minPaged is the smallest number of messages for which a conversation is read in pages.
const minPaged = 512

// isDense reports whether the messages of a session are numbered from 1 without gaps, so that
// they can be read in pages.
func isDense(q querier, row sessionRow) bool {
	var n, first, last int
	err := q.QueryRow(`SELECT count(*), min(seq), max(seq) FROM nodes WHERE session = ?`, row.num).Scan(&n, &first, &last)
	return err == nil && n == row.Messages && first == 1 && last == n && row.Head >= 0 && row.Head <= n
}

// readPage reads the messages from..to of a session that isDense. A missing message is a node
// without a role.
func readPage(q querier, session int64, from, to int, damage *damageReport) ([]Node, error) {
	rows, err := readRows(q, damage, to-from+1, `nodes WHERE session = ? AND seq BETWEEN ? AND ?`, session, from, to)
	nodes := make([]Node, to-from+1)
	for i := range nodes {
		nodes[i].Seq = from + i
	}
	before := from - 1
	for r := range rows.all {
		if r.Seq < from || r.Seq > to {
			damage.add(fmt.Errorf("message %d is out of sequence: read as message %d", r.Seq, before+1))
			r.Seq = before + 1
		}
		if r.err != nil {
			damage.add(fmt.Errorf("message %d: %w", r.Seq, r.err))
		}
		if r.Parent < 0 || r.Parent >= r.Seq {
			damage.add(fmt.Errorf("message %d follows message %d: taken to follow message %d", r.Seq, r.Parent, r.Seq-1))
			r.Parent = r.Seq - 1
		}
		before = min(r.Seq, to-1)
		nodes[r.Seq-from] = r.Node
	}
	if lack := len(nodes) - rows.count(); lack > 0 {
		damage.add(fmt.Errorf("missing messages: %d", lack))
	}
	return nodes, readBlobs(q, rows.refs(), damage, err)
}

// Older returns how many of the first messages are only on disk and can be read with Read; 0:
// none. Nodes reads them all.
func (l *Log) Older() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.older
}

// Read returns the messages from..to (from 1) of those counted by Older. A *DamagedError comes
// with the readable data: a missing message is a node without a role.
func (l *Log) Read(from, to int) ([]Node, error) {
	l.mu.Lock()
	db, id := l.pages()
	ahead := l.prefetched
	if l.older == 0 { // some may have changed since
		ahead = nil
	}
	l.mu.Unlock()
	if nodes := ahead.take(from, to); nodes != nil {
		return nodes, nil
	}
	nodes := make([]Node, to-from+1)
	if readJoinedHalves(db, id, nodes, from) == nil {
		return nodes, nil
	}
	return pageOf(db, id, from, to)
}

// pages returns where the messages counted by older are. The Log is locked.
func (l *Log) pages() (db *DB, id string) {
	if l.source != nil {
		return l.source.db, l.source.id
	}
	return l.db, l.session.ID
}

// readJoinedHalves is readJoinedPage; it reads many messages in two concurrent transactions.
func readJoinedHalves(db *DB, id string, nodes []Node, from int) error {
	half := len(nodes) / 2
	if half < minHalf {
		return readJoinedPage(db, id, nodes, from)
	}
	var other error
	var reading sync.WaitGroup
	reading.Go(func() { other = readJoinedPage(db, id, nodes[:half], from) })
	err := readJoinedPage(db, id, nodes[half:], from+half)
	reading.Wait()
	return cmp.Or(err, other)
}

// minHalf is the smallest number of messages that two transactions share.
const minHalf = 2 * batchSize

// readJoinedPage reads messages from the number from on into nodes, joined. After an error they must
// be read with pageOf.
func readJoinedPage(db *DB, id string, nodes []Node, from int) error {
	return db.read(func(q querier) error {
		var session int64
		if err := q.QueryRow(`SELECT num FROM sessions WHERE id = ?`, id).Scan(&session); err != nil {
			return err
		}
		refs, err := readJoined(q, session, nodes, from)
		if err != nil {
			return err
		}
		var damage damageReport
		err = readBlobs(q, refs, &damage, nil)
		return damage.err(db, err)
	})
}

func pageOf(db *DB, id string, from, to int) (nodes []Node, err error) {
	err = db.read(func(q querier) error {
		row, err := db.row(q, id)
		if err != nil && !isPartial(err) {
			return err
		}
		var damage damageReport
		nodes, err = readPage(q, row.num, from, to, &damage)
		return damage.err(db, err)
	})
	return nodes, err
}

// LinearCount returns how many of the messages counted by Older follow their predecessor
// directly, up to the first that does not.
func (l *Log) LinearCount() (n int) {
	l.mu.Lock()
	db, id := l.pages()
	n = l.older
	l.mu.Unlock()
	_ = db.read(func(q querier) error { // an error means 0
		var first int
		err := q.QueryRow(`SELECT coalesce(min(seq), 0) FROM nodes WHERE parent <> seq - 1 AND session = (SELECT num FROM sessions WHERE id = ?)`, id).Scan(&first)
		if err != nil || first > 0 {
			n = min(n, max(first-1, 0))
		}
		return err
	})
	return n
}

// readOlder reads the messages that are only on disk into l.nodes. If the session was removed,
// only later ones are left.
func (l *Log) readOlder() error {
	if l.older == 0 {
		return nil
	}
	db, id := l.pages()
	nodes, err := pageOf(db, id, 1, l.older)
	var damaged *DamagedError
	if err != nil && !errors.As(err, &damaged) && !errors.Is(err, ErrNotFound) {
		return err
	}
	var all []nodeEntry
	for _, n := range nodes {
		if n.Role != "" {
			e := nodeEntry{Node: n, gen: 1, saved: 1}
			if l.source != nil {
				e.saved, e.copied = 0, true
			}
			all = append(all, e)
		}
	}
	if l.source == nil {
		l.written += len(all)
	}
	l.source = nil
	l.nodes = append(all, l.nodes...)
	if l.older, l.olderUsage = 0, (llm.Usage{}); err == nil {
		l.findSideUsage()
	}
	l.recount()
	return nil
}

// A prefetch reads messages of a branch from disk before they are requested, last ones first.
type prefetch struct {
	nodes []Node // messages from 1 on; those before low have not been read
	done  chan struct{}

	mu      sync.Mutex // guards what follows
	changed *sync.Cond
	low     int
	ended   bool
}

// Number of messages that a prefetch reads at once: the first batch is needed immediately;
// later ones are read in two halves by two transactions.
const (
	firstPrefetched = 2 * batchSize
	thenPrefetched  = 16 * batchSize
)

// Prefetch begins to read, in the background, the messages of the current branch counted by Older,
// for later calls of Read: back to the last summary, or to where the branch begins. It is worth its
// memory if a request is about to be sent.
func (l *Log) Prefetch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	head := min(l.session.Head, l.older)
	if head == 0 || l.closed || l.prefetched != nil {
		return
	}
	p := &prefetch{nodes: make([]Node, head), low: head + 1, done: make(chan struct{})}
	p.changed = sync.NewCond(&p.mu)
	l.prefetched = p
	db, id := l.pages()
	go p.run(db, id)
}

func (p *prefetch) run(db *DB, id string) {
	defer close(p.done)
	defer p.stop()
	size, next := firstPrefetched, len(p.nodes) // next is the next message of the branch
	for to := next; to > 0 && next == to; size = thenPrefetched {
		from := max(to-size, 0)
		if p.hasEnded() || readJoinedHalves(db, id, p.nodes[from:to], from+1) != nil { // Read reports the same error
			return
		}
		summarized := false
		for next > from && !summarized { // before the messages are shared: the receiver may change them
			n := &p.nodes[next-1]
			next, summarized = n.Parent, n.Summary
		}
		p.mu.Lock()
		p.low, to = from+1, from
		p.changed.Broadcast()
		p.mu.Unlock()
		if summarized {
			return
		}
	}
}

// stop stops reading before the next batch.
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

// take returns the messages from..to once they are read; nil if they will not be read, or not soon. A
// nil p has none.
func (p *prefetch) take(from, to int) []Node {
	if p == nil || from < 1 || to > len(p.nodes) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.low > from && p.low-from <= thenPrefetched && !p.ended {
		p.changed.Wait()
	}
	if p.low > from {
		return nil
	}
	return p.nodes[from-1 : to : to]
}
