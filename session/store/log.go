package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"parley/providers/llm"
)

// A Log is one conversation open for writing. It is safe for concurrent use.
//
// A change that cannot be written, because the disk is full, the file read-only or locked,
// stays in memory in its order and is tried again every two seconds and with each
// Put. If the lease was lost, as happens to a process that was suspended for a long
// time, everything is written anew as a fork, under another ID: Put returns a
// *LeaseLostError once, and Session has the new ID. A session that was deleted
// meanwhile is written anew under its own ID.
type Log struct {
	db *DB

	flushing sync.Mutex // held while something is written; locked before mu

	mu        sync.Mutex // guards what follows
	session   Session
	lastSaved Session // as last written or read
	logContent
	hasContent   bool // there was a Put, or the session is on disk: changes must be written
	onDisk       bool
	listPosition int64          // its position in lists, as this Log wrote it
	source       *storedSession // nil: it is no fork, or on disk
	lease        lease
	err          error // of the last attempt to write
	onSave       func(error)
	closed       bool

	wake chan struct{} // a write failed: try again soon
	stop chan struct{}
	done chan struct{}
}

// A nodeEntry is a node with the version that is on disk.
type nodeEntry struct {
	Node
	gen, saved uint64 // number of the version, from 1; number of the version on disk, 0 if none
	copied     bool   // its usage is in the ledger under another session, or was paid elsewhere
}

// retryEvery is how often a failed write is tried again.
const retryEvery = 2 * time.Second

// newLog returns a Log whose heartbeats and retries run until it is closed.
func (db *DB) newLog(s Session, c logContent) *Log {
	l := &Log{
		db: db, lease: lease{owner: rand.Text(), Process: db.process}, session: s, lastSaved: s, logContent: c,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	db.logsMu.Lock()
	db.logs[l] = true
	db.logsMu.Unlock()
	go l.run()
	return l
}

// Create begins a conversation with the settings of s. It sets the ID and the time of
// creation if they are zero. Nothing is on disk before its first Put.
func (db *DB) Create(s Session) *Log {
	if s.ID == "" {
		s.ID = newSessionID(db.now())
	}
	if s.Created.IsZero() {
		s.Created = db.now()
	}
	s.Head, s.Messages, s.Usage, s.Preview, s.LockedBy, s.Deleted = 0, 0, llm.Usage{}, "", "", time.Time{}
	return db.newLog(s, logContent{})
}

// Resume opens a session for writing. The error is a *LockedError if another process has it open,
// ErrNotFound if it does not exist. A *DamagedError comes with a Log of the readable data.
func (db *DB) Resume(id string) (*Log, error) {
	owner := lease{owner: rand.Text(), Process: db.process, heartbeat: db.now()}
	err := db.write(func(w *writer) error {
		if err := (sessionReader{db, w}).checkUnlocked(id); err != nil {
			return err
		}
		return w.saveLease(id, owner)
	})
	var held *LockedError
	if errors.As(err, &held) || errors.Is(err, ErrNotFound) {
		return nil, err
	}
	// If the lease cannot be written now, the first write takes it.
	s, c, touched, err := db.load(id, true)
	var damaged *DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return nil, err
	}
	s.LockedBy = ""
	all := logContent{nodes: make([]nodeEntry, len(c.nodes)), annotations: make([]annotationEntry, len(c.annotations)), older: c.older}
	if c.older > 0 {
		all.olderUsage = s.Usage
	}
	for i, n := range c.nodes {
		all.nodes[i] = nodeEntry{Node: n, gen: 1, saved: 1}
	}
	for i, a := range c.annotations {
		all.annotations[i] = annotationEntry{a, 1, 1}
	}
	l := db.newLog(s, all)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lease, l.listPosition, l.hasContent, l.onDisk, l.written = owner, touched, true, true, len(all.nodes)
	if l.older == 0 {
		l.findSideUsage()
	}
	return l, err
}

// checkUnlocked returns a *LockedError if another process has the session open, and ErrNotFound
// if it does not exist.
func (q sessionReader) checkUnlocked(id string) error {
	_, err := q.row(id)
	if err != nil && !isPartial(err) {
		return err
	}
	held, ok, err := leaseOf(q, id)
	if err == nil && ok && !held.isStale(q.db.process, q.db.now()) {
		return &LockedError{id, held.describe(q.db.process)}
	}
	return err
}

// Session returns the session of the conversation, as it is in memory.
func (l *Log) Session() Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

// Nodes returns its messages in the order of their Seq. Their parts are shared and must not
// be changed.
func (l *Log) Nodes() []Node {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.readOlder() // unreadable messages are left out
	nodes := make([]Node, len(l.nodes))
	for i := range l.nodes {
		nodes[i] = l.nodes[i].Node
	}
	return nodes
}

// Put inserts n, which becomes the head, or replaces the node of the same Seq.
// n must not be changed afterwards. It is on disk when Put returns nil; after an
// error it is kept in memory and written later, unless its Seq or Parent is
// invalid or the Log closed. A *LeaseLostError means that n was written.
func (l *Log) Put(n Node) error {
	if n.Seq < 1 || n.Parent < 0 || n.Parent >= n.Seq {
		return fmt.Errorf("message %d cannot follow message %d", n.Seq, n.Parent)
	}
	return l.change(func() error {
		if n.Seq <= l.older {
			if err := l.readOlder(); err != nil {
				return err
			}
		}
		l.hasContent = true
		l.add(n)
		return nil
	})
}

var errClosed = errors.New("the conversation is closed")

// change calls f with the Log locked, and then writes the changes. If f fails nothing is written; a
// closed Log is not changed.
func (l *Log) change(f func() error) error {
	l.mu.Lock()
	err := errClosed
	if !l.closed {
		err = f()
	}
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return l.flush()
}

// index returns the index of the message seq in l.nodes, or its insertion
// point.
func (l *Log) index(seq int) (i int, found bool) {
	return slices.BinarySearchFunc(l.nodes, seq, func(e nodeEntry, seq int) int { return e.Seq - seq })
}

// add inserts or replaces n and updates the session.
func (l *Log) add(n Node) {
	if n.At.IsZero() {
		n.At = l.db.now()
	}
	i, found := l.index(n.Seq)
	if found {
		e := &l.nodes[i]
		// The ledger has only the beginning of a partial response.
		e.copied = e.copied && !e.Partial
		usage := e.Usage
		e.Node = n
		e.gen++
		l.written = min(l.written, i)
		if usage != nil || n.Usage != nil {
			l.recount()
		}
	} else {
		l.nodes = slices.Insert(l.nodes, i, nodeEntry{Node: n, gen: 1})
		l.written = min(l.written, i)
		l.session.Messages++
		switch {
		case n.Usage == nil:
		case n.Summary: // Spend counted its requests
			l.side = besides(l.side, *n.Usage)
			l.recount()
		default:
			l.session.Usage = l.session.Usage.Add(*n.Usage)
		}
		l.session.Head = n.Seq
	}
	l.session.Updated = n.At
	if n.Role != llm.RoleUser || n.Seq < l.session.Head {
		return
	}
	if line := oneLine(TitleText(n.Message)); line != "" && !n.Summary {
		l.session.Preview = line
		if l.session.Title == "" {
			l.session.Title = line
		}
	}
}

// typedText returns the text of m that the user typed, without attached files, whose parts
// have names.
func typedText(m llm.Message) string {
	typed := llm.Message{Parts: slices.DeleteFunc(slices.Clone(m.Parts), func(p llm.Part) bool { return p.Name != "" })}
	return typed.Text()
}

// TitleText returns the text that represents m in lists: typedText without piped input after it.
func TitleText(m llm.Message) string {
	words, _, _ := strings.Cut(typedText(m), "\n\n<stdin>\n")
	return words
}

// recount computes the session's messages and usage.
func (l *Log) recount() {
	l.session.Messages, l.session.Usage = l.older+len(l.nodes), plus(plus(l.olderUsage, usageOf(l.nodes)), l.side)
}

// oneLine returns the beginning of text on one line, at most 200 bytes of it and "…".
func oneLine(text string) string {
	const limit = 200
	if len(text) > 4*limit {
		text = text[:4*limit]
	}
	line := strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(line) <= limit {
		return line
	}
	cut := limit
	for !utf8.RuneStart(line[cut]) {
		cut--
	}
	return line[:cut] + "…"
}

// SetHead switches to the branch that ends in seq; 0 is an empty branch. New nodes are written with it, as by Put:
// either all of it is on disk or nothing.
func (l *Log) SetHead(seq int, added ...Node) error {
	return l.change(func() error {
		preview := l.session.Preview
		for _, n := range added {
			l.hasContent = true
			l.add(n)
		}
		if _, found := l.index(seq); !found && (seq < 0 || seq > l.older) {
			return fmt.Errorf("no message %d to continue from", seq)
		}
		if n := len(added); n > 0 && added[n-1].Seq != seq { // a branch that is not continued
			l.session.Preview = preview
		}
		l.session.Head = seq
		return nil
	})
}

// Update sets Title, Named, Dir, Model, Effort, History and Pinned as changed by change;
// other changes are ignored. Before the first Put they stay in memory.
func (l *Log) Update(change func(*Session)) error {
	return l.change(func() error {
		l.describe(change)
		return nil
	})
}

// Describe is Update without waiting for the disk: the next Put, Flush or Close writes the changes. A closed Log
// ignores them.
func (l *Log) Describe(change func(*Session)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.describe(change)
	}
}

func (l *Log) describe(change func(*Session)) {
	s := l.session
	change(&s)
	l.session.Title, l.session.Named, l.session.Dir, l.session.Pinned = s.Title, s.Named, s.Dir, s.Pinned
	l.session.Model, l.session.Effort, l.session.History = s.Model, s.Effort, s.History
}

// OnSave makes the Log call f, from any goroutine: with the error when writing begins to fail,
// with nil once everything is on disk again, and with a *LeaseLostError. f must not call the Log.
func (l *Log) OnSave(f func(error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onSave = f
}

// Close writes pending changes and gives up the lease. It returns an error if some could
// not be written; these are lost.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.mu.Unlock()
	close(l.stop)
	<-l.done
	l.db.mu.Lock()
	l.db.setBusyTimeout(nil) // the last write waits as long as the first one
	l.db.mu.Unlock()
	err := l.flush()
	l.db.logsMu.Lock()
	delete(l.db.logs, l)
	l.db.logsMu.Unlock()
	if l.onDisk && l.db.ReadOnly() == nil { // run has ended: no lock is needed
		_ = l.db.exec(`DELETE FROM leases WHERE session = ? AND owner = ?`, l.session.ID, l.lease.owner) // a lease that stays is stale once the process has ended
	}
	return err
}

// run tries failed writes again, and updates the heartbeat of the lease, until Close.
func (l *Log) run() {
	defer close(l.done)
	timer := time.NewTimer(heartbeatInterval)
	defer timer.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-l.wake:
			timer.Reset(retryEvery)
			continue
		case <-timer.C:
		}
		wait := heartbeatInterval
		l.mu.Lock()
		failing, id, born, owner := l.err != nil, l.session.ID, l.onDisk, l.lease.owner
		l.mu.Unlock()
		switch {
		case failing:
			if l.flush() != nil {
				wait = retryEvery
			}
		case born:
			_ = l.db.exec(`UPDATE leases SET beat = ? WHERE session = ? AND owner = ?`, nanos(l.db.now()), id, owner) // the next Put reports an error
		}
		timer.Reset(wait)
	}
}
