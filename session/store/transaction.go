package store

import (
	"database/sql"
	"errors"
	"slices"
	"time"

	"parley/providers/llm"
)

// A transaction holds what one transaction writes of a Log, and what came of it.
type transaction struct {
	db        *DB
	lease     lease
	session   Session
	lastSaved Session
	logContent
	all          bool // nodes are all there are
	onDisk       bool
	listPosition int64
	num          int64 // of the session on disk
	skipIndex    bool  // leave the search index alone: it is damaged
	leaseLost    *LeaseLostError
}

// errAll asks for the job again with all nodes: the session has to be written
// anew.
var errAll = errors.New("the session has to be written again")

// flush writes what changed since the last time.
func (l *Log) flush() error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	j, ok := l.newTransaction(false)
	if !ok {
		return nil
	}
	err := l.db.write(j.run)
	if errors.Is(err, errAll) {
		l.mu.Lock()
		err = l.readOlder()
		l.mu.Unlock()
		if err == nil {
			j, _ = l.newTransaction(true)
			err = l.db.write(j.run)
		}
	}
	if isCorrupt(err) && !j.skipIndex {
		j, _ = l.newTransaction(j.all)
		j.skipIndex = true
		if l.db.write(j.run) == nil {
			err = nil
		}
	}
	return l.finishFlush(j, err)
}

// newTransaction gathers what is not on disk, or everything; false if there is nothing.
func (l *Log) newTransaction(all bool) (*transaction, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.db.now()
	j := &transaction{
		db: l.db, lease: l.lease, session: l.session, lastSaved: l.lastSaved,
		all: all || !l.onDisk, onDisk: l.onDisk, listPosition: l.listPosition,
	}
	if now.Sub(l.lease.heartbeat).Abs() > heartbeatInterval/2 {
		j.lease.heartbeat = now
	}
	j.spent = slices.Clone(l.spent)
	from := l.written
	if j.all {
		from = 0
	}
	for i := from; i < len(l.nodes); i++ {
		if e := &l.nodes[i]; j.all || e.saved != e.gen {
			j.nodes = append(j.nodes, *e)
		}
	}
	for _, e := range l.annotations {
		if j.all || e.saved != e.gen {
			j.annotations = append(j.annotations, e)
		}
	}
	return j, l.hasContent && (all || len(j.nodes)+len(j.annotations)+len(j.spent) > 0 || !l.onDisk || l.session != l.lastSaved)
}

// finishFlush takes over what came of a transaction, and reports it.
func (l *Log) finishFlush(j *transaction, err error) error {
	l.mu.Lock()
	was := l.err
	l.err = err
	if err == nil {
		l.markSaved(j)
	}
	notify := l.onSave
	l.mu.Unlock()
	if err != nil {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
	if notify != nil && (err == nil) != (was == nil) {
		notify(err)
	}
	if err == nil && j.leaseLost != nil {
		if notify != nil {
			notify(j.leaseLost)
		}
		return j.leaseLost
	}
	return err
}

// markSaved takes over what a transaction has written.
func (l *Log) markSaved(j *transaction) {
	for _, e := range j.nodes {
		i, _ := slices.BinarySearchFunc(l.nodes, e.Seq, func(e entry, seq int) int { return e.Seq - seq })
		l.nodes[i].saved = e.gen
		l.nodes[i].copied = e.copied
	}
	for l.written < len(l.nodes) && l.nodes[l.written].saved == l.nodes[l.written].gen {
		l.written++
	}
	for _, e := range j.annotations {
		i, _ := slices.BinarySearchFunc(l.annotations, e.N, byN)
		l.annotations[i].saved = e.gen
	}
	l.spent = l.spent[len(j.spent):]
	// Another process may have renamed or pinned it; what was changed here since
	// the job was made is newer.
	if l.session.Title == j.lastSaved.Title && l.session.Named == j.lastSaved.Named {
		l.session.Title, l.session.Named = j.session.Title, j.session.Named
	}
	if l.session.Pinned == j.lastSaved.Pinned {
		l.session.Pinned = j.session.Pinned
	}
	l.session.ID, l.session.Origin, l.session.Deleted = j.session.ID, j.session.Origin, time.Time{}
	l.lastSaved, l.listPosition, l.lease, l.onDisk = j.session, j.listPosition, j.lease, true
}

func (j *transaction) run(w *writer) error {
	var clock int64
	if err := w.one(`UPDATE meta SET clock = clock + 1 RETURNING clock`).Scan(&clock); err != nil {
		return err
	}
	exists, err := j.claim(w)
	if err != nil {
		return err
	}
	if !exists {
		j.listPosition = clock
		if j.num, err = insertSession(w, j.session, clock); err != nil {
			return err
		}
		err = j.title(w)
	} else {
		if len(j.nodes) > 0 {
			j.listPosition = clock
		}
		err = j.update(w)
	}
	if err != nil {
		return err
	}
	if err := j.saveNodes(w, j.nodes); err != nil {
		return err
	}
	for _, e := range j.annotations {
		if err := w.annotate(j.num, e.Annotation); err != nil {
			return err
		}
	}
	for i := range j.spent {
		j.spent[i].Session = j.session.ID
	}
	return j.db.enter(w, j.spent)
}

// claim sees to it that the session is ours, and reports whether it is on disk.
func (j *transaction) claim(w *writer) (exists bool, err error) {
	var touched int64
	var c columns // what is damaged is written anew
	err = w.one(`SELECT num, touched FROM sessions WHERE id = ?`, j.session.ID).Scan(&j.num, numberOf(&c, "touched", &touched))
	exists = err == nil
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	held, leased, err := leaseOf(w, j.session.ID)
	if err != nil {
		return false, err
	}
	switch {
	case exists && j.onDisk && leased && held.owner == j.lease.owner:
		if held.heartbeat.Equal(j.lease.heartbeat) {
			return true, nil
		}
		return true, w.saveLease(j.session.ID, j.lease)
	case exists && j.onDisk && touched == j.listPosition && (!leased || held.isStale(j.db.process, j.db.now())):
		return true, w.saveLease(j.session.ID, j.lease) // given up by somebody who wrote nothing
	case !exists && !j.onDisk:
		return false, w.saveLease(j.session.ID, j.lease)
	case !j.all:
		return false, errAll
	case exists:
		old := j.session.ID
		j.session.ID, j.session.Origin, j.session.Pinned = newSessionID(j.db.now()), "fork "+old, false
		j.leaseLost = &LeaseLostError{Session: old, Fork: j.session.ID}
	}
	for i := range j.nodes {
		// What was spent stands under the old session.
		j.nodes[i].copied = j.nodes[i].copied || j.nodes[i].saved == j.nodes[i].gen
		j.nodes[i].saved = 0
	}
	return false, w.saveLease(j.session.ID, j.lease)
}

const insertSessionSQL = `INSERT INTO sessions (id, title, named, folder, model, effort, history, pinned, origin, created, updated,
	head, messages, usage, preview, touched) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING num`

func insertSession(w *writer, s Session, touched int64) (num int64, err error) {
	usage, err := encode(s.Usage)
	if err != nil {
		return 0, err
	}
	err = w.one(insertSessionSQL, s.ID, s.Title, s.Named, s.Dir, s.Model, string(s.Effort), string(s.History), s.Pinned, s.Origin,
		nanos(s.Created), nanos(s.Updated), s.Head, s.Messages, string(usage), s.Preview, touched).Scan(&num)
	return num, err
}

// update writes what changed here and reads back what others changed.
func (j *transaction) update(w *writer) error {
	s := &j.session
	usage, err := encode(s.Usage)
	if err != nil {
		return err
	}
	var title, named, pinned any
	var c columns
	if s.Title != j.lastSaved.Title || s.Named != j.lastSaved.Named {
		title, named = s.Title, s.Named
	}
	if s.Pinned != j.lastSaved.Pinned {
		pinned = s.Pinned
	}
	err = w.one(`UPDATE sessions SET title = coalesce(?, title), named = coalesce(?, named), pinned = coalesce(?, pinned),
		folder = ?, model = ?, effort = ?, history = ?, updated = ?, head = ?, messages = ?, usage = ?, preview = ?,
		touched = ?, deleted = iif(?, NULL, deleted) WHERE num = ? RETURNING title, named, pinned`,
		title, named, pinned, s.Dir, s.Model, string(s.Effort), string(s.History), nanos(s.Updated), s.Head, s.Messages, string(usage),
		s.Preview, j.listPosition, len(j.nodes) > 0, j.num).
		Scan(textOf(&c, "title", &s.Title), flagOf(&c, "named", &s.Named), flagOf(&c, "pinned", &s.Pinned))
	if err != nil || title == nil {
		return err
	}
	return j.title(w)
}

func (j *transaction) title(w *writer) error {
	if j.skipIndex {
		return nil
	}
	return indexTitle(w, j.num, j.session.Title)
}

func indexTitle(w *writer, num int64, title string) error {
	return w.exec(`INSERT OR REPLACE INTO words (rowid, text) VALUES (?, ?)`, -num, spaceOut(title))
}

const nodeSQL = `INSERT INTO nodes (session, seq, parent, at, role, origin, model, indexed, rest, parts)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (session, seq) DO UPDATE SET parent = excluded.parent, at = excluded.at, role = excluded.role,
	origin = excluded.origin, model = excluded.model, indexed = excluded.indexed, rest = excluded.rest, parts = excluded.parts
	RETURNING num`

// saveNodes writes nodes with their blobs and places in the ledger, then the words of all: SQLite
// writes out what its index gathered before each statement that may have to be undone. What is
// still arriving is indexed when it is complete, or by the next search.
func (j *transaction) saveNodes(w *writer, nodes []entry) error {
	nums := make([]int64, len(nodes)) // 0: not to be indexed
	for i := range nodes {
		index := !nodes[i].Partial && !j.skipIndex
		num, err := j.saveNode(w, &nodes[i], index)
		if err != nil {
			return err
		}
		if index {
			nums[i] = num
		}
	}
	for i, num := range nums {
		if num == 0 {
			continue
		}
		if err := indexNode(w, num, nodes[i].Node); err != nil {
			return err
		}
	}
	return nil
}

// saveNode writes one node without its words, and returns its num; indexed says that they follow.
func (j *transaction) saveNode(w *writer, e *entry, indexed bool) (int64, error) {
	blobs := map[string]any{}
	parts, err := encodeParts(e.Parts, blobs)
	if err != nil {
		return 0, err
	}
	rest, err := encode(extraOf(e.Node))
	if err != nil {
		return 0, err
	}
	var num int64
	err = w.one(nodeSQL, j.num, e.Seq, e.Parent, nanos(e.At), string(e.Role), e.Origin, e.Model, indexed, string(rest), string(parts)).
		Scan(&num)
	if err != nil {
		return 0, err
	}
	if err := w.saveBlobs(num, blobs, e.saved > 0); err != nil {
		return 0, err
	}
	if e.Role == llm.RoleAssistant && !e.copied {
		err = j.db.enter(w, []LedgerEntry{entryOf(j.session, e.Node)})
	}
	return num, err
}

// saveBlobs keeps blobs once each and notes which node holds them.
func (w *writer) saveBlobs(node int64, blobs map[string]any, replaced bool) error {
	if replaced {
		if err := w.exec(`DELETE FROM refs WHERE node = ?`, node); err != nil {
			return err
		}
	}
	for sha, data := range blobs {
		var num int64
		err := w.one(`SELECT num FROM blobs WHERE sha = ?`, sha).Scan(&num)
		if errors.Is(err, sql.ErrNoRows) {
			if text, ok := data.(string); ok {
				data = []byte(text)
			}
			err = w.one(`INSERT INTO blobs (sha, data) VALUES (?, ?) RETURNING num`, sha, data).Scan(&num)
		}
		if err != nil {
			return err
		}
		if err := w.exec(`INSERT OR IGNORE INTO refs (node, blob) VALUES (?, ?)`, node, num); err != nil {
			return err
		}
	}
	return nil
}
