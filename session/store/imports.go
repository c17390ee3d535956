package store

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"
)

// An ImportSource is the place where another program keeps conversations. The zero value is an
// unknown place: nothing is merged.
type ImportSource struct {
	Key     string // equal for places that may add to each other's conversations: "codex", "crush /p/.crush/crush.db"
	Adopts  bool   // conversations of its program from an unknown place count as from this one
	Exports bool   // its files may lie anywhere and come from anyone: each adds only to conversations with the same first message
}

// key returns the state key for the ID here of the source's conversation there.
func (from ImportSource) key(there string) string { return "imported " + from.Key + " " + there }

// find returns the ID here of the source's conversation there, which is the same if it was not
// imported, and whether from may add to it.
func (from ImportSource) find(q Tx, there string) (id string, owned bool, err error) {
	if from.Key == "" {
		return there, false, nil
	}
	err = q.QueryRow(`SELECT value FROM state WHERE key = ?`, from.key(there)).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, true, err
	}
	others := false // only a stored conversation can be from another place: looking through all places takes long
	err = q.QueryRow(`SELECT iif(EXISTS (SELECT 1 FROM sessions WHERE id = ?1),
		EXISTS (SELECT 1 FROM state WHERE key > 'imported ' AND key < 'imported!' AND value = ?1), 0)`, there).Scan(&others)
	return there, from.Adopts && !others, err
}

// keep stores the ID here of the source's conversation there, if owned.
func (from ImportSource) keep(w *writer, there, id string, owned bool) error {
	if from.Key == "" || !owned {
		return nil
	}
	return w.setState(from.key(there), id)
}

// Imports are the imported conversations of a source.
type Imports struct {
	db   *DB
	from ImportSource
}

// Imports returns the conversations imported from a source.
func (db *DB) Imports(from ImportSource) Imports { return Imports{db, from} }

// ID returns the ID here of the source's conversation there, which is the same if it was not
// imported.
func (i Imports) ID(there string) (id string, err error) {
	err = i.db.View(func(q Tx) error {
		id, _, err = i.from.find(q, there)
		return err
	})
	return id, err
}

// Claim records that the conversations with these IDs were imported from the source.
func (i Imports) Claim(ids ...string) error {
	return i.db.write(func(w *writer) error {
		for _, id := range ids {
			if err := i.from.keep(w, id, id, true); err != nil {
				return err
			}
		}
		return nil
	})
}

// An Imported is the result of Imports.Add.
type Imported struct {
	ID       string
	New      bool // it was not stored before
	Added    int  // messages added to a stored conversation, or replaced because they have grown
	Branched bool // the added messages are not on the current branch, because the conversation was continued here
	Deleted  bool // it is in the trash, and nothing was added
}

// Add is DB.Import with a report. A conversation imported before from the source is compared
// message by message: new messages are added after their parents, messages that have grown are
// replaced, and nothing is removed. The head becomes that of the source, unless the conversation was
// continued here. If anything is new and the session is open, the error is a *LockedError. A
// conversation from elsewhere is not changed, whatever its ID. An export does not change
// conversations that begin with another message.
func (i Imports) Add(s Session, nodes []Node, shown ...Annotation) (done Imported, err error) {
	nodes, err = checkedImport(s, nodes)
	if err != nil {
		return done, err
	}
	i.complete(&s, nodes)
	err = i.db.write(func(w *writer) error {
		there := s.ID // ID in the source program
		var owned bool
		s.ID, owned, err = i.from.find(w, there)
		if err != nil {
			return err
		}
		done = Imported{ID: s.ID}
		same, err := isImported(w, s.ID, nodes)
		if err != nil || same {
			return errors.Join(err, i.from.keep(w, there, s.ID, owned))
		}
		old, err := sessionReader{i.db, w}.scan(w.QueryRow(`SELECT `+sessionColumns+`WHERE s.id = ?`, s.ID))
		switch {
		case err == nil && i.from.Key != "" && old.Origin == s.Origin:
			if owned && i.from.Exports {
				m, err := startMerge(w, old, nodes)
				if err != nil {
					return err
				}
				owned = m.hasBeginning()
			}
			if owned {
				return errors.Join(i.merge(w, old, s, nodes, &done), i.from.keep(w, there, s.ID, true))
			}
			if m, err := startMerge(w, old, nodes); err == nil && m.added == 0 {
				return nil
			}
			s.ID = newSessionID(i.db.now())
		case err == nil, isPartial(err):
			s.ID = newSessionID(i.db.now())
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		done.ID, done.New = s.ID, true
		return errors.Join(i.insert(w, s, nodes, shown), i.from.keep(w, there, s.ID, true))
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

func (i Imports) insert(w *writer, s Session, nodes []Node, shown []Annotation) error {
	position, err := listPositionAt(w, s.Updated)
	if err != nil {
		return err
	}
	num, err := insertSession(w, s, position)
	if err != nil {
		return err
	}
	tx := &transaction{db: i.db, session: s, num: num, skipIndex: true}
	entries := make([]nodeEntry, len(nodes))
	for at, n := range nodes {
		entries[at] = nodeEntry{Node: n, copied: true}
	}
	if err := tx.saveNodes(w, entries); err != nil {
		return err
	}
	for at, a := range shown {
		a.N = at + 1
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

// merge adds new data from s, the same session in its source program, to the
// session old.
func (i Imports) merge(w *writer, old sessionRow, s Session, nodes []Node, done *Imported) error {
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
	if err := (sessionReader{i.db, w}).checkUnlocked(s.ID); err != nil {
		return err
	}
	done.Added, done.Branched = m.added, apart
	l := Log{db: i.db}
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
	tx := &transaction{db: i.db, session: s, num: old.num, skipIndex: true}
	if err := tx.saveNodes(w, m.changed); err != nil || s.Title == old.Title {
		return err
	}
	return indexTitle(w, old.num, s.Title)
}

// complete fills in the fields of an imported session that are missing or computed.
func (i Imports) complete(s *Session, nodes []Node) {
	now := i.db.now()
	if s.ID == "" {
		s.ID = newSessionID(now)
	}
	l := Log{db: i.db}
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
