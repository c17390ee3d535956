package store

import (
	"cmp"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"parley/providers/llm"
)

// A transaction writes the changes of a Log, and holds the result.
type transaction struct {
	db        *DB
	lease     lease
	session   Session
	lastSaved Session
	logContent
	source       *storedSession // of the first older messages, which are not on disk; nil: they are
	complete     bool           // nodes are all nodes of the Log
	onDisk       bool
	listPosition int64
	num          int64 // of the session on disk
	skipIndex    bool  // leave the search index alone: it is damaged, or IndexOwed completes it later
	leaseLost    *LeaseLostError
}

// errRewrite reports that the transaction must be repeated with all nodes, because the session
// has to be written completely.
var errRewrite = errors.New("the session has to be written again")

// flush writes the changes since the last flush.
func (l *Log) flush() error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	tx, ok := l.newTransaction(false)
	if !ok {
		return nil
	}
	err := l.db.write(tx.run)
	if errors.Is(err, errRewrite) {
		l.mu.Lock()
		err = l.readOlder()
		l.mu.Unlock()
		if err == nil {
			tx, _ = l.newTransaction(true)
			err = l.db.write(tx.run)
		}
	}
	if isCorrupt(err) && !tx.skipIndex {
		tx, _ = l.newTransaction(tx.complete)
		tx.skipIndex = true
		if l.db.write(tx.run) == nil {
			err = nil
		}
	}
	return l.finishFlush(tx, err)
}

// newTransaction returns a transaction for all changes not on disk, or for everything;
// false if there is nothing to write.
func (l *Log) newTransaction(complete bool) (*transaction, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.db.now()
	tx := &transaction{
		db: l.db, lease: l.lease, session: l.session, lastSaved: l.lastSaved,
		complete: complete || !l.onDisk, onDisk: l.onDisk, listPosition: l.listPosition,
	}
	if now.Sub(l.lease.heartbeat).Abs() > heartbeatInterval/2 {
		tx.lease.heartbeat = now
	}
	tx.spent, tx.source, tx.older = slices.Clone(l.spent), l.source, l.older
	from := l.written
	if tx.complete {
		from = 0
	}
	for i := from; i < len(l.nodes); i++ {
		if e := &l.nodes[i]; tx.complete || e.saved != e.gen {
			tx.nodes = append(tx.nodes, *e)
		}
	}
	for _, e := range l.annotations {
		if tx.complete || e.saved != e.gen {
			tx.annotations = append(tx.annotations, e)
		}
	}
	return tx, l.hasContent && (complete || len(tx.nodes)+len(tx.annotations)+len(tx.spent) > 0 || !l.onDisk || l.session != l.lastSaved)
}

// finishFlush stores the result of a transaction in the Log, and reports it to onSave.
func (l *Log) finishFlush(tx *transaction, err error) error {
	l.mu.Lock()
	was := l.err
	l.err = err
	if err == nil {
		l.markSaved(tx)
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
	if err == nil && tx.leaseLost != nil {
		if notify != nil {
			notify(tx.leaseLost)
		}
		return tx.leaseLost
	}
	return err
}

// markSaved marks the versions that a transaction has written as saved.
func (l *Log) markSaved(tx *transaction) {
	for _, e := range tx.nodes {
		i, _ := l.index(e.Seq)
		l.nodes[i].saved = e.gen
		l.nodes[i].copied = e.copied
	}
	for l.written < len(l.nodes) && l.nodes[l.written].saved == l.nodes[l.written].gen {
		l.written++
	}
	for _, e := range tx.annotations {
		i, _ := slices.BinarySearchFunc(l.annotations, e.N, byN)
		l.annotations[i].saved = e.gen
	}
	l.spent = l.spent[len(tx.spent):]
	// Another process may have renamed or pinned the session; local changes
	// since the transaction began are newer.
	if l.session.Title == tx.lastSaved.Title && l.session.Named == tx.lastSaved.Named {
		l.session.Title, l.session.Named = tx.session.Title, tx.session.Named
	}
	if l.session.Pinned == tx.lastSaved.Pinned {
		l.session.Pinned = tx.session.Pinned
	}
	l.session.ID, l.session.Origin, l.session.Deleted = tx.session.ID, tx.session.Origin, time.Time{}
	l.lastSaved, l.listPosition, l.lease, l.onDisk, l.source = tx.session, tx.listPosition, tx.lease, true, nil
}

func (tx *transaction) run(w *writer) error {
	var clock int64
	if err := w.QueryRow(`UPDATE meta SET clock = clock + 1 RETURNING clock`).Scan(&clock); err != nil {
		return err
	}
	exists, err := tx.claim(w)
	if err != nil {
		return err
	}
	if !exists {
		tx.listPosition = clock
		if tx.num, err = insertSession(w, tx.session, clock); err != nil {
			return err
		}
		if tx.source != nil {
			err = tx.source.copy(tx.db, w, tx.num, tx.older)
			if err == nil && !tx.skipIndex {
				err = indexTitle(w, tx.num, tx.session.Title)
			}
		}
	} else {
		if len(tx.nodes) > 0 {
			tx.listPosition = clock
		}
		err = tx.update(w)
	}
	if err != nil {
		return err
	}
	if err := tx.saveNodes(w, tx.nodes); err != nil {
		return err
	}
	for _, e := range tx.annotations {
		if err := w.annotate(tx.num, e.Annotation); err != nil {
			return err
		}
	}
	for i := range tx.spent {
		tx.spent[i].Session = tx.session.ID
	}
	return tx.db.Ledger().enter(w, tx.spent)
}

// claim ensures that this Log has the lease of the session, and reports whether the session is
// on disk. If another process has taken over, the session becomes a fork.
func (tx *transaction) claim(w *writer) (exists bool, err error) {
	var touched int64
	var c columns // damage is overwritten
	err = w.QueryRow(`SELECT num, touched FROM sessions WHERE id = ?`, tx.session.ID).Scan(c.places("num touched", &tx.num, &touched)...)
	exists = err == nil
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	held, leased, err := leaseOf(w, tx.session.ID)
	if err != nil {
		return false, err
	}
	switch {
	case exists && tx.onDisk && leased && held.owner == tx.lease.owner:
		if held.heartbeat.Equal(tx.lease.heartbeat) {
			return true, nil
		}
		return true, w.saveLease(tx.session.ID, tx.lease)
	case exists && tx.onDisk && touched == tx.listPosition && (!leased || held.isStale(tx.db.process, tx.db.now())):
		return true, w.saveLease(tx.session.ID, tx.lease) // another process had the lease but wrote nothing
	case !exists && !tx.onDisk:
		return false, w.saveLease(tx.session.ID, tx.lease)
	case !tx.complete:
		return false, errRewrite
	case exists:
		old := tx.session.ID
		tx.session.Origin, tx.session.ID, tx.session.Pinned = tx.session.forkOrigin(), newSessionID(tx.db.now()), false
		tx.leaseLost = &LeaseLostError{Session: old, Fork: tx.session.ID}
	}
	for i := range tx.nodes {
		// The ledger has it under the old session.
		tx.nodes[i].copied = tx.nodes[i].copied || tx.nodes[i].saved == tx.nodes[i].gen
		tx.nodes[i].saved = 0
	}
	return false, w.saveLease(tx.session.ID, tx.lease)
}

const insertSessionSQL = `INSERT INTO sessions (id, title, named, folder, model, effort, history, pinned, origin, created, updated,
	head, messages, usage, preview, touched) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING num`

func insertSession(w *writer, s Session, touched int64) (num int64, err error) {
	usage, err := encode(s.Usage)
	if err != nil {
		return 0, err
	}
	err = w.QueryRow(insertSessionSQL, s.ID, s.Title, s.Named, s.Dir, s.Model, string(s.Effort), string(s.History), s.Pinned, s.Origin,
		nanos(s.Created), nanos(s.Updated), s.Head, s.Messages, string(usage), s.Preview, touched).Scan(&num)
	return num, err
}

// update writes the session, and reads its title and pin if they did not change here,
// because another process may have changed them.
func (tx *transaction) update(w *writer) error {
	s := &tx.session
	usage, err := encode(s.Usage)
	if err != nil {
		return err
	}
	var title, named, pinned any
	var c columns
	if s.Title != tx.lastSaved.Title || s.Named != tx.lastSaved.Named {
		title, named = s.Title, s.Named
	}
	if s.Pinned != tx.lastSaved.Pinned {
		pinned = s.Pinned
	}
	err = w.QueryRow(`UPDATE sessions SET title = coalesce(?, title), named = coalesce(?, named), pinned = coalesce(?, pinned),
		folder = ?, model = ?, effort = ?, history = ?, updated = ?, head = ?, messages = ?, usage = ?, preview = ?,
		touched = ?, deleted = iif(?, NULL, deleted) WHERE num = ? RETURNING title, named, pinned`,
		title, named, pinned, s.Dir, s.Model, string(s.Effort), string(s.History), nanos(s.Updated), s.Head, s.Messages, string(usage),
		s.Preview, tx.listPosition, len(tx.nodes) > 0, tx.num).
		Scan(c.places("title named pinned", &s.Title, &s.Named, &s.Pinned)...)
	if err != nil || title == nil || tx.skipIndex {
		return err
	}
	return indexTitle(w, tx.num, tx.session.Title)
}

func indexTitle(w *writer, num int64, title string) error {
	return w.Exec(`INSERT OR REPLACE INTO words (rowid, text) VALUES (?, ?)`, -num, spaceOut(title))
}

const nodeSQL = `INSERT INTO nodes (session, seq, parent, at, role, origin, model, indexed, rest, parts)
	VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?)
	ON CONFLICT (session, seq) DO UPDATE SET parent = excluded.parent, at = excluded.at, role = excluded.role,
	origin = excluded.origin, model = excluded.model, indexed = excluded.indexed, rest = excluded.rest, parts = excluded.parts`

// saveNodes writes nodes with their blobs and ledger entries. A complete answer is indexed, with messages
// whose words are owed; other messages are owed to the next answer, search or start, because a request
// waits for them. Indexing comes last: SQLite flushes its index before each statement that may have to be
// undone.
func (tx *transaction) saveNodes(w *writer, nodes []nodeEntry) error {
	answered, first := false, math.MaxInt
	for i := range nodes {
		first = min(first, nodes[i].Seq)
	}
	if err := w.separate(`(session = ?1 OR origin = ?1) AND upto >= ?2`, tx.num, first); err != nil {
		return err
	}
	for i := range nodes {
		if err := tx.saveNode(w, &nodes[i]); err != nil {
			return err
		}
		n := &nodes[i]
		answered = answered || n.Role == llm.RoleAssistant && !n.Partial && len(n.Calls()) == 0
	}
	if !answered || tx.skipIndex {
		return nil
	}
	_, _, err := w.indexOwed(0, indexedAtOnce)
	return err
}

func (tx *transaction) saveNode(w *writer, e *nodeEntry) error {
	blobs := map[string]any{}
	parts, err := encodeParts(e.Parts, blobs)
	if err != nil {
		return err
	}
	rest, err := encode(nodeExtra{Node: &e.Node})
	if err != nil {
		return err
	}
	err = w.Exec(nodeSQL, tx.num, e.Seq, e.Parent, nanos(e.At), string(e.Role), e.Origin, e.Model, string(rest), string(parts))
	if err == nil && (len(blobs) > 0 || e.saved > 0) {
		var num int64
		err = w.QueryRow(`SELECT num FROM nodes WHERE session = ? AND seq = ?`, tx.num, e.Seq).Scan(&num)
		err = cmp.Or(err, w.saveBlobs(num, blobs, e.saved > 0))
	}
	if err != nil {
		return err
	}
	if e.Role == llm.RoleAssistant && !e.copied {
		err = tx.db.Ledger().enter(w, []LedgerEntry{ledgerEntryOf(tx.session, e.Node)})
	}
	return err
}

// saveBlobs stores new blobs, and the references of a node to them; replaced reports
// that the node may have earlier references.
func (w *writer) saveBlobs(node int64, blobs map[string]any, replaced bool) error {
	if replaced {
		if err := w.Exec(`DELETE FROM refs WHERE node = ?`, node); err != nil {
			return err
		}
	}
	for sha, data := range blobs {
		var num int64
		err := w.QueryRow(`SELECT num FROM blobs WHERE sha = ?`, sha).Scan(&num)
		if errors.Is(err, sql.ErrNoRows) {
			if text, ok := data.(string); ok {
				data = []byte(text)
			}
			err = w.QueryRow(`INSERT INTO blobs (sha, data) VALUES (?, ?) RETURNING num`, sha, data).Scan(&num)
		}
		if err != nil {
			return err
		}
		if err := w.Exec(`INSERT OR IGNORE INTO refs (node, blob) VALUES (?, ?)`, node, num); err != nil {
			return err
		}
	}
	return nil
}
