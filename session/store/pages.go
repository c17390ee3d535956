package store

import (
	"errors"
	"fmt"

	"parley/providers/llm"
)

// minPaged is the number of messages from which on a conversation is read in pages.
const minPaged = 512

// isDense reports whether the messages of a session are numbered from 1 without gaps, so that
// they can be read in pages.
func isDense(q querier, row sessionRow) bool {
	var n, first, last int
	err := q.QueryRow(`SELECT count(*), min(seq), max(seq) FROM nodes WHERE session = ?`, row.num).Scan(&n, &first, &last)
	return err == nil && n == row.Messages && first == 1 && last == n && row.Head >= 0 && row.Head <= n
}

// readPage reads the messages from..to of a session that isDense. One that is missing is a node
// without a role.
func readPage(q querier, session int64, from, to int, damage *damageReport) ([]Node, error) {
	if to-from >= batchSize {
		defer useSmallCache(q)()
	}
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

// Older returns how many of the first messages are only on disk, to be read with Read; 0: none.
// Nodes reads them all.
func (l *Log) Older() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.older
}

// Read returns the messages from..to (from 1) of those that Older counts. With a *DamagedError
// comes what could be read: a message that is missing is a node without a role.
func (l *Log) Read(from, to int) ([]Node, error) {
	return pageOf(l.db, l.Session().ID, from, to)
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

// LinearCount returns how many of the messages that Older counts follow the one before, up to
// the first that does not.
func (l *Log) LinearCount() (n int) {
	id, n := l.Session().ID, l.Older()
	_ = l.db.read(func(q querier) error { // an error means 0
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
// only those since it was opened are left.
func (l *Log) readOlder() error {
	if l.older == 0 {
		return nil
	}
	nodes, err := pageOf(l.db, l.session.ID, 1, l.older)
	var damaged *DamagedError
	if err != nil && !errors.As(err, &damaged) && !errors.Is(err, ErrNotFound) {
		return err
	}
	var all []nodeEntry
	for _, n := range nodes {
		if n.Role != "" {
			all = append(all, nodeEntry{Node: n, gen: 1, saved: 1})
		}
	}
	l.written += len(all)
	l.nodes = append(all, l.nodes...)
	if l.older, l.olderUsage = 0, (llm.Usage{}); err == nil {
		l.findSideUsage()
	}
	l.recount()
	return nil
}
