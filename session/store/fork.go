package store

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"
)

// A storedSession is a session in a store.
type storedSession struct {
	db *DB
	id string
}

// ForkInto begins a conversation in a store, which may be db or another one, such as one in memory, with a copy
// of the branch of session id that ends in head; 0 means the session's own head. It is on disk after its first
// Put; db must stay open. seqs[i] is the original's Seq of message i+1. A *DamagedError comes with a Log of the
// readable data.
func (db *DB) ForkInto(to *DB, id string, head int) (l *Log, seqs []int, err error) {
	s, c, _, err := db.load(id, true)
	if c.older > 0 {
		branched, e := storedSession{db, id}.firstBranched()
		if e != nil || branched > 0 || s.Head != c.older || head != 0 && head != c.older || to != db && to.attach(db) != nil {
			s, c, _, err = db.load(id, false)
		}
	}
	var damaged *DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return nil, nil, err
	}
	if head == 0 {
		head = s.Head
	}
	all := logContent{older: c.older}
	var shown []Annotation
	if c.older > 0 {
		all.olderUsage, shown = s.Usage, c.linearAnnotations()
		for seq := range c.older {
			seqs = append(seqs, seq+1)
		}
	} else {
		if _, found := findSeq(c.nodes, head); head != 0 && !found {
			return nil, nil, fmt.Errorf("session %s has no message %d", id, head)
		}
		var branch []Node
		branch, seqs, shown = c.branch(head)
		for _, n := range branch {
			all.nodes = append(all.nodes, nodeEntry{Node: n, gen: 1, copied: true})
		}
	}
	for _, a := range shown {
		all.annotations = append(all.annotations, annotationEntry{a, 1, 0})
	}
	s.Origin, s.ID, s.Created = s.forkOrigin(), newSessionID(to.now()), to.now()
	s.Head, s.Pinned, s.LockedBy, s.Deleted = len(seqs), false, "", time.Time{}
	l = to.newLog(s, all)
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.older > 0 {
		l.source = &storedSession{db, id}
	}
	l.recount()
	return l, seqs, err
}

// linearAnnotations returns the annotations of branch for messages that are in the file, each after the one before.
func (s storedContent) linearAnnotations() (shown []Annotation) {
	for _, a := range s.annotations {
		if a.Next != a.After+1 || a.Next > s.older {
			a.Part = 0
		}
		if a.Kind != KindAbandoned && a.After >= 0 && a.After <= s.older {
			shown = append(shown, a)
		}
	}
	sort.SliceStable(shown, func(i, j int) bool {
		return cmp.Or(cmp.Compare(shown[i].After, shown[j].After), cmp.Compare(shown[i].Part, shown[j].Part)) < 0
	})
	for i := range shown {
		shown[i].N, shown[i].Next = i+1, shown[i].After+1
	}
	return withSettings(shown, s.annotations, s.older)
}

// isForked reports whether a Log needs the messages of session id for a fork that is not on disk yet.
func (db *DB) isForked(id string) bool {
	db.logsMu.Lock()
	defer db.logsMu.Unlock()
	for l := range db.logs {
		l.mu.Lock()
		needed := l.source != nil && l.source.id == id
		l.mu.Unlock()
		if needed {
			return true
		}
	}
	return false
}

// firstBranched returns the first message that does not follow its predecessor directly; 0: none.
func (o storedSession) firstBranched() (seq int, err error) {
	err = o.db.View(func(q Tx) error {
		num, err := numOf(q, o.id)
		if err != nil {
			return err
		}
		where, args := messagesOf(q, num)
		return q.QueryRow(`SELECT coalesce(min(seq), 0) FROM nodes WHERE parent <> seq - 1 AND `+where, args...).Scan(&seq)
	})
	return seq, err
}

// attach makes the file of from readable to the writer of db, which is in memory, as the schema original.
func (db *DB) attach(from *DB) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if from.readers.Load() == nil {
		return errors.New("there is no file")
	}
	if err := db.writable(); err != nil {
		return err
	}
	return db.writer.Exec("ATTACH ? AS original", uri(from.path, "mode=ro"))
}

// forksTable holds forks of long conversations: their messages 1 to upto are not copied, but those of the session
// origin, which is no such fork itself. They are copied before origin changes one of them or is removed.
const forksTable = `CREATE TABLE forks (session INTEGER PRIMARY KEY, origin INTEGER NOT NULL, upto INTEGER NOT NULL);
CREATE INDEX forks_origin ON forks (origin);`

// messagesOf returns the condition for the rows of nodes with the messages of a session, as SQL with its arguments.
func messagesOf(q Tx, session int64) (where string, args []any) {
	var origin, upto int64
	if q.QueryRow(`SELECT origin, upto FROM forks WHERE session = ?`, session).Scan(&origin, &upto) != nil { // no fork, or an older schema
		return `session = ?`, []any{session}
	}
	return `session IN (?1, ?2) AND (session = ?1 OR seq <= ?3)`, []any{session, origin, upto}
}

// hasForks reports whether messages of a session may belong to another one as well.
func hasForks(q Tx) (has bool) {
	err := q.QueryRow(`SELECT EXISTS (SELECT 1 FROM forks)`).Scan(&has)
	return err == nil && has
}

// copy makes the messages 1 to n those of the session num in the store of w: in the same store, it only copies those
// that are not in forks.
func (o storedSession) copy(db *DB, w *writer, num int64, n int) error {
	schema := "original."
	if db == o.db {
		schema = "main."
	}
	var from, origin int64
	var upto int
	err := w.QueryRow(strings.ReplaceAll(`SELECT s.num, coalesce(f.origin, s.num), coalesce(f.upto, iif(?2, ?3, 0))
		FROM @sessions s LEFT JOIN @forks f ON f.session = s.num WHERE id = ?1`, "@", schema), o.id, db == o.db, n).Scan(&from, &origin, &upto)
	if err != nil {
		return fmt.Errorf("copy the messages of %s: %w", o.id, err)
	}
	if db == o.db {
		err = w.Exec(`INSERT INTO forks (session, origin, upto) VALUES (?, ?, ?)`, num, origin, upto)
	} else {
		err = w.copyMessages(schema, num, origin, 0, upto)
	}
	if err == nil {
		err = w.copyMessages(schema, num, from, upto, n)
	}
	return err
}

// copyMessages copies the messages after+1 to upto of the session from, in a schema, to the session num, with their blobs.
func (w *writer) copyMessages(schema string, num, from int64, after, upto int) error {
	for _, query := range []string{
		`INSERT INTO nodes (session, seq, parent, at, role, origin, model, indexed, rest, parts)
			SELECT ?1, seq, parent, at, role, origin, model, 0, rest, parts FROM @nodes WHERE session = ?2 AND seq > ?3 AND seq <= ?4 ORDER BY seq`,
		`INSERT INTO blobs (sha, data) SELECT b.sha, b.data FROM @blobs b WHERE b.sha NOT IN (SELECT sha FROM blobs)
			AND b.num IN (SELECT r.blob FROM @refs r CROSS JOIN @nodes o ON o.num = r.node WHERE o.session = ?2 AND o.seq > ?3 AND o.seq <= ?4 AND ?1)`,
		`INSERT OR IGNORE INTO refs (node, blob) SELECT n.num, b.num FROM @refs r CROSS JOIN @nodes o ON o.num = r.node CROSS JOIN @blobs x ON x.num = r.blob
			CROSS JOIN blobs b ON b.sha = x.sha CROSS JOIN nodes n ON n.session = ?1 AND n.seq = o.seq WHERE o.session = ?2 AND o.seq > ?3 AND o.seq <= ?4`,
	} {
		if after == upto {
			return nil
		}
		if err := w.Exec(strings.ReplaceAll(query, "@", schema), num, from, after, upto); err != nil {
			return err
		}
	}
	var copied int
	err := w.QueryRow(`SELECT count(*) FROM nodes WHERE session = ? AND seq > ? AND seq <= ?`, num, after, upto).Scan(&copied)
	if err == nil && copied != upto-after {
		err = fmt.Errorf("copy messages: only %d of %d were copied", copied, upto-after)
	}
	return err
}

// separate copies to the forks f that match where the messages that they have of other sessions.
func (w *writer) separate(where string, args ...any) error {
	if !hasForks(w) {
		return nil
	}
	var forks [][3]int64
	err := EachRow(w, func(rows *sql.Rows) error {
		var f [3]int64
		err := rows.Scan(&f[0], &f[1], &f[2])
		forks = append(forks, f)
		return err
	}, `SELECT session, origin, upto FROM forks WHERE `+where, args...)
	for _, f := range forks {
		err = cmp.Or(err, w.copyMessages("main.", f[0], f[1], 0, int(f[2])), w.Exec(`DELETE FROM forks WHERE session = ?`, f[0]))
	}
	return err
}
