package store

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"parley/providers/llm"
)

// trashRetention is how long a deleted session can be restored.
const trashRetention = 30 * 24 * time.Hour

// updateSession runs f in a transaction with the num of a session, or returns ErrNotFound.
func (db *DB) updateSession(id string, f func(w *writer, num int64) error) error {
	return db.write(func(w *writer) error {
		num, err := numOf(w, id)
		if err != nil {
			return err
		}
		return f(w, num)
	})
}

// numOf returns the num of the session with an ID.
func numOf(q Tx, id string) (num int64, err error) {
	err = q.QueryRow(`SELECT num FROM sessions WHERE id = ?`, id).Scan(&num)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	return num, err
}

// Rename sets the title of a session, as chosen by the user. Like Pin, Trash, Restore and
// Remove it returns ErrNotFound if there is no such session.
func (db *DB) Rename(id, title string) error {
	return db.updateSession(id, func(w *writer, num int64) error {
		if err := w.Exec(`UPDATE sessions SET title = ?, named = 1 WHERE num = ?`, title, num); err != nil {
			return err
		}
		return indexTitle(w, num, title)
	})
}

// Pin sets whether a session stays at the top of lists.
func (db *DB) Pin(id string, on bool) error {
	return db.updateSession(id, func(w *writer, num int64) error {
		return w.Exec(`UPDATE sessions SET pinned = ? WHERE num = ?`, on, num)
	})
}

// Trash deletes a session; for 30 days it can be restored. If it is open, its next message
// restores it.
func (db *DB) Trash(id string) error {
	return db.updateSession(id, func(w *writer, num int64) error {
		return w.Exec(`UPDATE sessions SET deleted = coalesce(deleted, ?) WHERE num = ?`, nanos(db.now()), num)
	})
}

// Restore undoes Trash.
func (db *DB) Restore(id string) error {
	return db.updateSession(id, func(w *writer, num int64) error {
		return w.Exec(`UPDATE sessions SET deleted = NULL WHERE num = ?`, num)
	})
}

// Remove deletes a session for good. Its cost stays in the ledger. The error is a *LockedError if another
// process has it open, or if this process does and keeps its messages on disk because it is long.
// Otherwise a session that this process has open is written again with its next message. A session is open as well as long
// as a fork of it has no message of its own.
func (db *DB) Remove(id string) error {
	if db.isForked(id) {
		return &LockedError{id, lease{Process: db.process}.describe(db.process)}
	}
	return db.updateSession(id, func(w *writer, num int64) error {
		if err := db.checkRemovable(w, num); err != nil {
			return err
		}
		return db.removeSession(w, num)
	})
}

// checkRemovable returns a *LockedError if another process has a session open, or this one reads it in pages.
func (db *database) checkRemovable(w *writer, num int64) error {
	var id string
	var messages int
	var c columns
	err := w.QueryRow(`SELECT id, messages FROM sessions WHERE num = ?`, num).Scan(c.places("id messages", &id, &messages)...)
	if err != nil {
		return err
	}
	held, ok, err := leaseOf(w, id)
	if err == nil && ok && (held.Process != db.process || messages >= minPaged) && !held.isStale(db.process, db.now()) {
		return &LockedError{id, held.describe(db.process)}
	}
	return err
}

func (db *database) removeSession(w *writer, num int64) error {
	defer db.eraseWith(w)()
	if err := w.separate(`origin = ?`, num); err != nil {
		return err
	}
	for _, query := range []string{
		`DELETE FROM words WHERE rowid = -?1`,
		`DELETE FROM words WHERE rowid IN (SELECT num FROM nodes WHERE session = ?1)`,
	} {
		if err := w.Exec(query, num); err != nil && !isCorrupt(err) { // a damaged index is rebuilt by Search
			return err
		}
	}
	for _, query := range []string{
		`DELETE FROM refs WHERE node IN (SELECT num FROM nodes WHERE session = ?1)`,
		`DELETE FROM nodes WHERE session = ?1`,
		`DELETE FROM forks WHERE session = ?1`,
		`DELETE FROM annotations WHERE session = ?1`,
		`DELETE FROM leases WHERE session = (SELECT id FROM sessions WHERE num = ?1)`,
		`DELETE FROM state WHERE key IN (SELECT p.value || s.id FROM sessions s, json_each('["changes of ", "aside of "]') p WHERE s.num = ?1)`,
		`DELETE FROM state WHERE key IN (SELECT 'draft of ' || d.key FROM drafts d, sessions s WHERE s.num = ?1 AND ` + draftsOfSession + `)`,
		`DELETE FROM drafts AS d WHERE EXISTS (SELECT 1 FROM sessions s WHERE s.num = ?1 AND ` + draftsOfSession + `)`,
		`DELETE FROM sessions WHERE num = ?1`,
	} {
		if err := w.Exec(query, num); err != nil {
			return err
		}
	}
	return w.Exec(`DELETE FROM blobs WHERE num NOT IN (SELECT blob FROM refs)`)
}

// purgeTrash removes sessions that were deleted more than trashRetention ago.
func (db *database) purgeTrash() error {
	var old []int64
	err := EachRow(db.writer, func(rows *sql.Rows) error {
		var num int64
		err := rows.Scan(&num)
		old = append(old, num)
		return err
	}, `SELECT num FROM sessions WHERE deleted < ?`, nanos(db.now().Add(-trashRetention)))
	if err != nil || len(old) == 0 {
		return err
	}
	return db.write(func(w *writer) error {
		for _, num := range old {
			err := db.checkRemovable(w, num)
			if locked := new(LockedError); errors.As(err, &locked) {
				continue
			}
			if err == nil {
				err = db.removeSession(w, num)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Import stores a whole conversation or nothing, and returns its ID. A conversation that is
// already stored stays unchanged; if the stored one has other messages, the new one gets another
// ID. Its cost is not entered in the ledger, because it was paid elsewhere; annotations are
// renumbered. Its position in lists is that of its last message.
func (db *DB) Import(s Session, nodes []Node, shown ...Annotation) (id string, err error) {
	done, err := ImportFrom(db, ImportSource{}, s, nodes, shown...)
	return done.ID, err
}

// An Imported is the result of ImportFrom.
type Imported struct {
	ID       string
	New      bool // it was not stored before
	Added    int  // messages added to a stored conversation, or replaced because they have grown
	Branched bool // the added messages are not on the current branch, because the conversation was continued here
	Deleted  bool // it is in the trash, and nothing was added
}

// ImportFrom is Import with a report. A conversation imported before from the same source is compared
// message by message: new messages are added after their parents, messages that have grown are
// replaced, and nothing is removed. The head becomes that of the source, unless the conversation was
// continued here. If anything is new and the session is open, the error is a *LockedError. A
// conversation from elsewhere is not changed, whatever its ID. An export does not change
// conversations that begin with another message.
func ImportFrom(db *DB, from ImportSource, s Session, nodes []Node, shown ...Annotation) (done Imported, err error) {
	nodes, err = checkedImport(s, nodes)
	if err != nil {
		return done, err
	}
	db.completeImport(&s, nodes)
	err = db.write(func(w *writer) error {
		there := s.ID // ID in the source program
		var owned bool
		s.ID, owned, err = from.find(w, there)
		if err != nil {
			return err
		}
		done = Imported{ID: s.ID}
		same, err := isImported(w, s.ID, nodes)
		if err != nil || same {
			return errors.Join(err, from.keep(w, there, s.ID, owned))
		}
		old, err := scanSession(db, w.QueryRow(`SELECT `+sessionColumns+`WHERE s.id = ?`, s.ID))
		switch {
		case err == nil && from.Key != "" && old.Origin == s.Origin:
			if owned && from.Exports {
				m, err := startMerge(w, old, nodes)
				if err != nil {
					return err
				}
				owned = m.hasBeginning()
			}
			if owned {
				return errors.Join(mergeImport(db, w, old, s, nodes, &done), from.keep(w, there, s.ID, true))
			}
			if m, err := startMerge(w, old, nodes); err == nil && m.added == 0 {
				return nil
			}
			s.ID = newSessionID(db.now())
		case err == nil, isPartial(err):
			s.ID = newSessionID(db.now())
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		done.ID, done.New = s.ID, true
		return errors.Join(insertImport(db, w, s, nodes, shown), from.keep(w, there, s.ID, true))
	})
	return done, err
}

// checkedImport returns nodes by rising Seq, none of them partial, or an error if they do not form a tree.
func checkedImport(s Session, nodes []Node) ([]Node, error) {
	nodes = slices.Clone(nodes)
	sort.Slice(nodes, func(i, j int) bool { return nodes[i].Seq < nodes[j].Seq })
	known := map[int]bool{}
	for i, n := range nodes {
		if n.Seq < 1 || known[n.Seq] || n.Parent != 0 && !known[n.Parent] {
			return nil, fmt.Errorf("import of %q: message %d cannot follow message %d", s.ID, n.Seq, n.Parent)
		}
		known[n.Seq] = true
		nodes[i].Partial = false
	}
	if n := len(nodes); n > 0 && nodes[n-1].Seq > 2*n+maxGaps {
		return nil, fmt.Errorf("import of %q: there are %d messages, and none can be message %d", s.ID, n, nodes[n-1].Seq)
	}
	if s.Head != 0 && !known[s.Head] {
		return nil, fmt.Errorf("import of %q: no message %d to continue from", s.ID, s.Head)
	}
	return nodes, nil
}

func insertImport(db *DB, w *writer, s Session, nodes []Node, shown []Annotation) error {
	position, err := listPositionAt(w, s.Updated)
	if err != nil {
		return err
	}
	num, err := insertSession(w, s, position)
	if err != nil {
		return err
	}
	tx := &transaction{db: db, session: s, num: num, skipIndex: true}
	entries := make([]nodeEntry, len(nodes))
	for i, n := range nodes {
		entries[i] = nodeEntry{Node: n, copied: true}
	}
	if err := tx.saveNodes(w, entries); err != nil {
		return err
	}
	for i, a := range shown {
		a.N = i + 1
		if err := w.annotate(num, a); err != nil {
			return err
		}
	}
	if len(nodes) > 0 { // its title is indexed with the first one
		return nil
	}
	return indexTitle(w, num, s.Title)
}

// listPositionAt returns the position in lists of a session that was updated at a time.
func listPositionAt(w *writer, updated time.Time) (position int64, err error) {
	err = w.QueryRow(`SELECT ifnull((SELECT touched FROM sessions WHERE updated <= ? ORDER BY updated DESC, touched DESC LIMIT 1), 0)`, nanos(updated)).Scan(&position)
	return position, err
}

// startMerge compares the session old with nodes, which may have more messages.
func startMerge(w *writer, old sessionRow, nodes []Node) (*importMerge, error) {
	var damage damageReport
	have, err := readNodes(w, old.num, &damage, `nodes`)
	if err != nil || damage.rows > 0 {
		return nil, errors.Join(fmt.Errorf("import of %q: the conversation is damaged here, and left as it is", old.ID), err)
	}
	m := newMerge(have)
	l := Log{session: old.Session}
	for _, n := range have {
		l.nodes = append(l.nodes, nodeEntry{Node: n})
	}
	l.findSideUsage()
	m.side = l.side
	for _, n := range nodes {
		m.add(n)
	}
	return m, nil
}

// mergeImport adds new data from s, the same session in its source program, to the
// session old.
func mergeImport(db *DB, w *writer, old sessionRow, s Session, nodes []Node, done *Imported) error {
	m, err := startMerge(w, old, nodes)
	if err != nil {
		return err
	}
	if done.Deleted = !old.Deleted.IsZero(); done.Deleted {
		return nil
	}
	head := m.seqs[s.Head]
	apart := m.hasOwn() && !m.leadsTo(old.Head, head)
	if apart {
		head = old.Head
	}
	if len(m.changed) == 0 && head == old.Head {
		return nil
	}
	if err := db.checkUnlocked(w, s.ID); err != nil {
		return err
	}
	done.Added, done.Branched = m.added, apart
	l := Log{db: db}
	for _, n := range m.nodes {
		l.add(n)
	}
	usage, err := encode(plus(l.session.Usage, m.side))
	if err != nil {
		return err
	}
	position, err := listPositionAt(w, s.Updated)
	if err != nil {
		return err
	}
	if s.Updated.Before(old.Updated) {
		s.Updated = old.Updated
	}
	if old.Named || s.Title == "" {
		s.Title = old.Title
	}
	if err := w.Exec(`UPDATE sessions SET title = ?, head = ?, messages = ?, usage = ?, preview = ?, updated = ?, touched = max(touched, ?)
		WHERE num = ?`, s.Title, head, len(m.nodes), string(usage), l.session.Preview, nanos(s.Updated), position, old.num); err != nil {
		return err
	}
	tx := &transaction{db: db, session: s, num: old.num, skipIndex: true}
	if err := tx.saveNodes(w, m.changed); err != nil || s.Title == old.Title {
		return err
	}
	return indexTitle(w, old.num, s.Title)
}

// completeImport fills in the fields of an imported session that are missing or computed.
func (db *DB) completeImport(s *Session, nodes []Node) {
	now := db.now()
	if s.ID == "" {
		s.ID = newSessionID(now)
	}
	l := Log{db: db}
	for _, n := range nodes {
		l.add(n)
	}
	side := besides(s.Usage.Clamped(), l.session.Usage)
	s.Messages, s.Usage, s.Preview = l.session.Messages, plus(l.session.Usage, side), l.session.Preview
	s.LockedBy, s.Deleted = "", time.Time{}
	if s.Title == "" {
		s.Title = l.session.Title
	}
	if s.Head == 0 {
		s.Head = l.session.Head
	}
	if s.Created.IsZero() {
		s.Created = now
	}
	if s.Updated.IsZero() {
		s.Updated = l.session.Updated
	}
}

// isImported reports whether a session with this ID holds the same messages.
func isImported(q Tx, id string, nodes []Node) (bool, error) {
	var num int64
	err := q.QueryRow(`SELECT num FROM sessions WHERE id = ?`, id).Scan(&num)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var damage damageReport
	have, err := readNodes(q, num, &damage, `nodes`)
	if err != nil || damage.rows > 0 || len(have) != len(nodes) {
		return false, err
	}
	return slices.EqualFunc(have, nodes, sameNode), nil
}

// sameNode reports whether two nodes are the same message with the same Seq and Parent.
func sameNode(a, b Node) bool { return a.Seq == b.Seq && a.Parent == b.Parent && sameMessage(a, b) }

// sameMessage reports whether two nodes have the same role, model and parts.
func sameMessage(a, b Node) bool {
	return a.Role == b.Role && a.Model == b.Model && slices.EqualFunc(a.Parts, b.Parts, samePart)
}

func samePart(p, q llm.Part) bool {
	return p.Kind == q.Kind && p.Text == q.Text && p.ID == q.ID && p.Name == q.Name && p.Input == q.Input &&
		p.URL == q.URL && p.Width == q.Width && p.Height == q.Height && p.Made == q.Made && bytes.Equal(p.Data, q.Data) && bytes.Equal(p.State, q.State)
}
