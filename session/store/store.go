// Package store keeps conversations in one SQLite file. Nothing a user typed
// or a model wrote may be lost: to a crash, a full disk, a second window or an
// update.
//
//	Put ──► Log (memory) ──► one transaction: lease, node, session, ledger, index ──► parley.db
//	                 ▲ on an error: kept in order, tried again until it works
//
// A DB is the file, a Log is one conversation open for writing. A node is on
// disk when Put returns nil. Order is by sequence numbers, never by clocks. Each
// open conversation has a lease, so that two processes never write the same one;
// a process that loses it continues in a fork. Of a file with a newer schema, in a
// read-only directory or damaged, all is read that can be; a file of another
// program is never changed.
package store

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"parley/session/store/holder"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A database is the SQLite file with its connections: several that read, and one
// that writes, which is reopened after errors.
type database struct {
	path    string // "memory" if there is no file
	schema  []string
	now     func() time.Time
	process holder.Process

	readers atomic.Pointer[sql.DB] // nil: the writer also reads

	mu          sync.Mutex // guards the following fields, and is held during writes
	pool        *sql.DB    // of the only writing connection; nil if nothing can be written
	writer      *writer
	readOnlyErr error // why nothing can be written; nil if writing works
	closed      bool
	removed     bool // sessions were removed, and not all of their data is erased
	shortWait   bool // another process kept the file locked: do not wait long again

	queueMu    sync.Mutex // guards queue and flushLater; locked after mu
	queue      []*queuedWrite
	flushLater *time.Timer // flushes the queue; nil before the first change
}

// A DB is the file of conversations, or a store without any file. It is safe for
// concurrent use.
type DB struct {
	database

	logsMu sync.Mutex // guards logs
	logs   map[*Log]bool
}

// A LockedError reports that another process has the session open.
type LockedError struct {
	Session string // its ID
	By      string // description of that process for a user
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("conversation %s is open in %s: close it there first", e.Session, e.By)
}

// A LeaseLostError reports that another process took over the session while this one was
// suspended, and that the Log continues in a fork of it. Everything is on disk.
type LeaseLostError struct {
	Session string // ID of the session that was lost
	Fork    string // ID of the fork
}

func (e *LeaseLostError) Error() string {
	return fmt.Sprintf("session %s was taken over by another process: this conversation continues as %s", e.Session, e.Fork)
}

// A DamagedError reports that some data could not be read. The data returned with it
// can be used.
type DamagedError struct {
	Path string
	Rows int // number of incomplete or missing messages or sessions; 0 if unknown
	Err  error
}

func (e *DamagedError) Error() string {
	if e.Rows > 0 {
		return fmt.Sprintf("%s: damaged, entries that cannot be read whole: %d: %v; nothing of it is deleted, keep a copy", e.Path, e.Rows, e.Err)
	}
	return fmt.Sprintf("%s: damaged: %v; nothing of it is deleted: keep a copy, then move it away or restore a backup", e.Path, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// ErrNotFound matches errors about a session that does not exist.
var ErrNotFound = errors.New("no such conversation")

// settings are those of every connection. Temporary tables in memory keep
// conversations out of /tmp.
const settings = "_pragma=temp_store(memory)&_pragma=busy_timeout(5000)"

// Open opens the file at path, or creates it, and upgrades it to the current schema. A file that
// can only be read, such as one too damaged to be upgraded, is opened as well, and ReadOnly
// returns the reason. A file of another program is an error and stays unchanged.
func Open(path string) (*DB, error) { return open(path, schema, time.Now) }

func open(path string, schema []string, now func() time.Time) (*DB, error) {
	// POSIX locks are dropped whenever any descriptor of the file is closed, also
	// by a tool that searches the directory. This does nothing once a file is open, and
	// where it is not available.
	_, _ = sqlite.OFDLocking(true)
	path, err := prepareFile(path)
	if err != nil {
		return nil, fmt.Errorf("open the store of conversations: %w", err)
	}
	db := newDB(path, schema, now)
	err = db.connect()
	// SQLite does not wait if several processes create the file at once.
	for end := time.Now().Add(busyTimeout * time.Millisecond); code(err) == sqlite3.SQLITE_BUSY && time.Now().Before(end); {
		_ = db.disconnect()
		time.Sleep(10 * time.Millisecond)
		err = db.connect()
	}
	if err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("open the store of conversations: %w", db.explain(err))
	}
	return db, nil
}

// OpenMemory returns a store in memory, which is lost with the process.
func OpenMemory() (*DB, error) {
	db := newDB("memory", schema, time.Now)
	err := db.openWriter("file::memory:?"+settings, 0)
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

func newDB(path string, schema []string, now func() time.Time) *DB {
	return &DB{database: database{path: path, schema: schema, now: now, process: holder.Current()}, logs: map[*Log]bool{}}
}

// connect opens the file for reading, checks its version and log, and opens it for
// writing if that is safe.
func (db *database) connect() error {
	own := db.identityWithoutWAL()
	version, err := db.openReaders("mode=ro")
	if code(err) != 0 && !isCorrupt(err) {
		// Without write access the index of the log cannot be created: read the file alone.
		var alone error
		if version, alone = db.openReaders("mode=ro&immutable=1"); alone == nil {
			db.readOnlyErr = db.walMissingErr(err)
			return nil
		}
	}
	if err != nil {
		return err
	}
	if version > len(db.schema) {
		db.readOnlyErr = &versionError{db.path, version, len(db.schema)}
		return nil
	}
	if err := db.checkWALOwner(own); err != nil {
		return err
	}
	err = db.openWriter(uri(db.path, settings+"&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=secure_delete(fast)"), version)
	switch older := version < len(db.schema); {
	case err == nil:
		return nil
	case older && version > 0 && isCorrupt(err), // it cannot be upgraded: show the readable data
		!older && !isCorrupt(err) && code(err) != sqlite3.SQLITE_BUSY: // and each write tries again
		db.readOnlyErr = db.explain(err)
		return nil
	}
	return err
}

// openReaders opens the file for reading and returns its schema version.
func (db *database) openReaders(mode string) (int, error) {
	if old := db.readers.Swap(nil); old != nil {
		_ = old.Close()
	}
	readers, err := sql.Open("sqlite", uri(db.path, mode+"&"+settings))
	if err != nil {
		return 0, err
	}
	readers.SetMaxOpenConns(4)
	db.readers.Store(readers)
	var version int
	err = db.View(func(q Tx) (err error) {
		version, err = identify(q, db.path)
		return err
	})
	return version, err
}

// walMissingErr explains that the file is read without its log, because of err.
func (db *database) walMissingErr(err error) error {
	if info, e := os.Stat(db.path + "-wal"); e == nil && info.Size() > 0 {
		return fmt.Errorf("%w: the newest messages, in %s-wal, are not shown", db.explain(err), db.path)
	}
	return db.explain(err)
}

// checkWALOwner returns an error if the log belongs to another file, such as after files
// were copied one by one: reading would mix the two, writing would destroy this file. own
// is the identity in the file without its log.
func (db *database) checkWALOwner(own string) error {
	if own == "" {
		return nil
	}
	var mixed string
	err := db.value(&mixed, "SELECT identity FROM meta")
	if err == nil && mixed == own {
		return nil
	}
	return fmt.Errorf("%s-wal belongs to another database: move it away (with %s-shm) and start again", db.path, db.path)
}

// identityWithoutWAL returns meta.identity of the file without its log; "" if there is no log,
// or all of the file is still in it.
func (db *database) identityWithoutWAL() (own string) {
	if info, err := os.Stat(db.path + "-wal"); err != nil || info.Size() == 0 {
		return ""
	}
	file := &database{path: db.path, schema: db.schema}
	if _, err := file.openReaders("mode=ro&immutable=1"); err == nil {
		_ = file.value(&own, "SELECT identity FROM meta")
	}
	_ = file.disconnect()
	return own
}

// openWriter opens the writing connection, and upgrades the schema.
func (db *database) openWriter(dsn string, version int) error {
	pool, err := sql.Open("sqlite", dsn)
	if err != nil {
		return err
	}
	pool.SetMaxOpenConns(1)
	db.pool = pool
	if db.writer, err = newWriter(pool); err != nil {
		return err
	}
	err = db.writer.writable()
	if err == nil {
		err = db.migrate(version)
	}
	if err != nil {
		db.closeWriter()
		return err
	}
	_ = db.purgeTrash() // after an error the next start tries again
	return nil
}

// closeWriter closes the writing connection.
func (db *database) closeWriter() {
	_ = db.writer.close()
	_ = db.pool.Close()
	db.writer, db.pool = nil, nil
}

// ReadOnly returns why the file cannot be written; nil if it can.
func (db *database) ReadOnly() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.readOnlyErr
}

// Close closes every Log that is open, and the file. It returns the errors of both.
func (db *DB) Close() error {
	_ = db.Flush()
	db.logsMu.Lock()
	var logs []*Log
	for l := range db.logs {
		logs = append(logs, l)
	}
	db.logsMu.Unlock()
	var errs []error
	for _, l := range logs {
		errs = append(errs, l.Close())
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return nil
	}
	db.closed = true
	db.eraseRemoved()
	return errors.Join(append(errs, db.disconnect())...)
}

func (db *database) disconnect() error {
	var errs []error
	if r := db.readers.Load(); r != nil {
		errs = append(errs, r.Close())
	}
	if db.writer != nil {
		errs = append(errs, db.writer.close()) // the last connection merges the log into the file
	}
	if db.pool != nil {
		errs = append(errs, db.pool.Close())
	}
	return errors.Join(errs...)
}

// Check reads every page of the file and returns a *DamagedError if it is damaged.
func (db *database) Check() error {
	return db.View(func(q Tx) error {
		var page int64
		err := errors.Join(q.QueryRow("PRAGMA page_size").Scan(&page), quickCheck(q))
		// SQLite reads the missing rest of a truncated page as zeros.
		if info, e := os.Stat(db.path); err == nil && db.readers.Load() != nil && e == nil && info.Size()%page != 0 {
			err = fmt.Errorf("the file was cut off in its last page, at %d bytes", info.Size())
		}
		if err != nil {
			return &DamagedError{Path: db.path, Err: err}
		}
		return nil
	})
}
