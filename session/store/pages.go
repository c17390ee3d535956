package store

import (
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"

	"parley/providers/llm"
)

// minPaged is the smallest number of messages for which a conversation is read in pages.
const minPaged = 512

// isDense reports whether the messages of a session are numbered from 1 without gaps, so that
// they can be read in pages.
func isDense(q Tx, row sessionRow) bool {
	var n, first, last int
	where, args := messagesOf(q, row.num)
	err := q.QueryRow(`SELECT count(*), min(seq), max(seq) FROM nodes WHERE `+where, args...).Scan(&n, &first, &last)
	return err == nil && n == row.Messages && first == 1 && last == n && row.Head >= 0 && row.Head <= n
}

// readPage reads the messages from..to of a session that isDense. A missing message is a node
// without a role.
func readPage(q Tx, session int64, from, to int, damage *damageReport) ([]Node, error) {
	where, args := messagesOf(q, session)
	rows, err := readRows(q, damage, to-from+1, `nodes WHERE `+where+` AND seq BETWEEN ? AND ?`, append(args, from, to)...)
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
	o := l.pages()
	l.mu.Unlock()
	return o.page(from, to)
}

// pages returns where the messages counted by older are. The Log is locked.
func (l *Log) pages() storedSession {
	if l.source != nil {
		return *l.source
	}
	return storedSession{l.db, l.session.ID}
}

func (o storedSession) page(from, to int) (nodes []Node, err error) {
	err = o.db.View(func(q Tx) error {
		num, err := numOf(q, o.id)
		if err != nil {
			return err
		}
		var damage damageReport
		nodes, err = readPage(q, num, from, to, &damage)
		return damage.err(o.db, err)
	})
	return nodes, err
}

// LinearCount returns how many of the messages counted by Older follow their predecessor
// directly, up to the first that does not.
func (l *Log) LinearCount() (n int) {
	l.mu.Lock()
	o := l.pages()
	n = l.older
	l.mu.Unlock()
	first, err := o.firstBranched()
	if err == nil && first == 0 {
		return n
	}
	return min(n, max(first-1, 0)) // 0 after an error
}

// Paged returns a session and its messages a page at a time, if there are many and each follows the one before it;
// otherwise pages is nil. models are those that answered, in the order of their first answers. Errors are as those of Read.
func (db *DB) Paged(id string) (s Session, models []string, pages iter.Seq2[[]Node, error], err error) {
	s, c, _, err := db.load(id, true)
	if err != nil || c.older == 0 || s.Head != c.older {
		return s, nil, nil, err
	}
	o := storedSession{db, id}
	if branched, err := o.firstBranched(); err != nil || branched > 0 {
		return s, nil, nil, err
	}
	err = db.View(func(q Tx) error {
		num, err := numOf(q, id)
		if err != nil {
			return err
		}
		where, args := messagesOf(q, num)
		return EachRow(q, func(rows *sql.Rows) error {
			models = append(models, "")
			return rows.Scan(&models[len(models)-1])
		}, `SELECT model FROM nodes WHERE role = 'assistant' AND model <> '' AND `+where+` GROUP BY model ORDER BY min(seq)`, args...)
	})
	return s, models, func(yield func([]Node, error) bool) {
		for from := 1; from <= c.older; from += minPaged {
			nodes, err := o.page(from, min(from+minPaged-1, c.older))
			nodes = slices.DeleteFunc(nodes, func(n Node) bool { return n.Role == "" })
			if !yield(nodes, err) {
				return
			}
		}
	}, err
}

// Turns returns how many turns begin in the first messages of those counted by Older, up to the message seq; ok is false if they
// branch or include a summary.
func (l *Log) Turns(seq int) (n int, ok bool) {
	l.mu.Lock()
	o := l.pages()
	l.mu.Unlock()
	straight := 0
	err := o.db.View(func(q Tx) error {
		num, err := numOf(q, o.id)
		if err != nil {
			return err
		}
		where, args := messagesOf(q, num)
		return q.QueryRow(`SELECT count(*) FILTER (WHERE parent = seq - 1 AND NOT instr(rest, '"summary":true')), count(*) FILTER (WHERE role = 'user'
			AND NOT instr(rest, '"steers":true')) FROM nodes WHERE `+where+` AND seq <= ?`, append(args, seq)...).Scan(&straight, &n)
	})
	return n, straight == seq && err == nil
}

// readOlder reads the messages that are only on disk into l.nodes. If the session was removed,
// only later ones are left.
func (l *Log) readOlder() error {
	if l.older == 0 {
		return nil
	}
	nodes, err := l.pages().page(1, l.older)
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
