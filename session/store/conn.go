package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A Tx runs SQL in a transaction. Exec needs a writing transaction.
type Tx interface {
	Query(query string, args ...any) (*sql.Rows, error)
	QueryRow(query string, args ...any) *sql.Row
	Exec(query string, args ...any) error
}

// EachRow calls f for each result row of a query, until f returns an error.
func EachRow(q Tx, f func(*sql.Rows) error, query string, args ...any) error {
	rows, err := q.Query(query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// A writer is the only writing connection, with its prepared statements by query.
type writer struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func newWriter(pool *sql.DB) (*writer, error) {
	conn, err := pool.Conn(context.Background())
	if err != nil {
		return nil, err
	}
	return &writer{conn: conn, stmts: map[string]*sql.Stmt{}}, nil
}

func (w *writer) prepare(query string) (*sql.Stmt, error) {
	if s, ok := w.stmts[query]; ok {
		return s, nil
	}
	s, err := w.conn.PrepareContext(context.Background(), query)
	if err == nil {
		w.stmts[query] = s
	}
	return s, err
}

func (w *writer) Exec(query string, args ...any) error {
	s, err := w.prepare(query)
	if err != nil {
		return err
	}
	_, err = s.Exec(args...)
	return err
}

// setState stores a value under a key of the state.
func (w *writer) setState(key, value string) error {
	return w.Exec(`INSERT OR REPLACE INTO state (key, value) VALUES (?, ?)`, key, value)
}

// script runs statements once, without preparing them.
func (w *writer) script(text string) error {
	_, err := w.conn.ExecContext(context.Background(), text)
	return err
}

func (w *writer) Query(query string, args ...any) (*sql.Rows, error) {
	s, err := w.prepare(query)
	if err != nil {
		return nil, err
	}
	return s.Query(args...)
}

func (w *writer) QueryRow(query string, args ...any) *sql.Row {
	s, err := w.prepare(query)
	if err != nil {
		return w.conn.QueryRowContext(context.Background(), query, args...) // reports the same error
	}
	return s.QueryRow(args...)
}

func (w *writer) close() error {
	for _, s := range w.stmts {
		_ = s.Close()
	}
	return w.conn.Close()
}

// errReadOnly has the text of SQLite's error for a file that cannot be written.
var errReadOnly = errors.New("attempt to write a readonly database")

// writable returns errReadOnly if SQLite opened the file for reading, as it does without
// permission to write.
func (w *writer) writable() error {
	return w.conn.Raw(func(c any) error {
		file, ok := c.(interface{ IsReadOnly(string) (bool, error) })
		if !ok {
			return nil
		}
		if only, err := file.IsReadOnly("main"); err != nil || !only {
			return err
		}
		return errReadOnly
	})
}

// transact runs f in a transaction that holds the write lock from its start. An error or a panic of
// f undoes it.
func (w *writer) transact(f func(*writer) error) error {
	if err := w.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			_ = w.Exec("ROLLBACK") // SQLite may have rolled back already
		}
	}()
	err := f(w)
	if err == nil {
		err = w.Exec("COMMIT")
	}
	committed = err == nil
	return err
}

// A reader is a read-only transaction: it sees one state of the file
// throughout.
type reader struct{ tx *sql.Tx }

func (r reader) Query(query string, args ...any) (*sql.Rows, error) {
	return r.tx.Query(query, args...)
}
func (r reader) QueryRow(query string, args ...any) *sql.Row { return r.tx.QueryRow(query, args...) }

// Exec implements Tx.
func (r reader) Exec(query string, args ...any) error {
	_, err := r.tx.Exec(query, args...)
	return err
}

// A queuedWrite is a change that waits for a transaction.
type queuedWrite struct {
	run  func(*writer) error
	done chan struct{} // closed once err is set
	err  error
}

// queueDelay is how long a queued change waits for a transaction that it can join: a prompt is stored
// within a few milliseconds after the user sent it.
const queueDelay = 100 * time.Millisecond

// later runs f, after all earlier calls, in the next transaction of any kind, or soon in one of its own. The
// returned function waits and returns the error; an error undoes only the changes of f. Calling it is optional.
func (db *database) later(f func(*writer) error) (wait func() error) {
	q := &queuedWrite{run: f, done: make(chan struct{})}
	db.queueMu.Lock()
	defer db.queueMu.Unlock()
	if db.queue = append(db.queue, q); db.flushLater == nil {
		db.flushLater = time.AfterFunc(queueDelay, func() { _ = db.Flush() })
	} else if len(db.queue) == 1 {
		db.flushLater.Reset(queueDelay)
	}
	return func() error {
		<-q.done
		return q.err
	}
}

// Flush writes changes that wait for another transaction. Those who wait for them receive the error.
func (db *database) Flush() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	queued := db.takeQueue()
	if len(queued) == 0 {
		return nil
	}
	err := db.writeLocked(func(w *writer) error { return w.runQueued(queued) })
	for _, q := range queued {
		q.err = cmp.Or(err, q.err)
		close(q.done)
	}
	return err
}

func (db *database) takeQueue() (queued []*queuedWrite) {
	db.queueMu.Lock()
	defer db.queueMu.Unlock()
	queued, db.queue = db.queue, nil
	return queued
}

// runQueued runs queued changes, and undoes those that fail.
func (w *writer) runQueued(queued []*queuedWrite) error {
	for _, q := range queued {
		if err := w.Exec("SAVEPOINT queued"); err != nil {
			return err
		}
		if q.err = q.run(w); q.err != nil {
			if err := w.Exec("ROLLBACK TO queued"); err != nil {
				return err
			}
		}
		if err := w.Exec("RELEASE queued"); err != nil {
			return err
		}
	}
	return nil
}

// write runs f and what is queued in a transaction on the only writing connection. Errors are explained
// for a user.
func (db *database) write(f func(*writer) error) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	queued, written := db.takeQueue(), false
	defer func() {
		if !written { // also after a panic
			db.queueMu.Lock()
			defer db.queueMu.Unlock()
			db.queue = append(queued, db.queue...)
		}
	}()
	err := db.writeLocked(func(w *writer) error {
		if err := f(w); err != nil {
			return err
		}
		return w.runQueued(queued)
	})
	if written = err == nil; written {
		for _, q := range queued {
			close(q.done)
		}
	}
	return err
}

// writeLocked is write, without the queue, for callers that hold mu.
func (db *database) writeLocked(f func(*writer) error) error {
	if err := db.writable(); err != nil {
		return err
	}
	err := db.writer.transact(func(w *writer) error {
		var version int
		if err := w.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		if version > len(db.schema) {
			return &versionError{db.path, version, len(db.schema)} // a newer parley has upgraded the file meanwhile
		}
		return f(w)
	})
	db.setBusyTimeout(err)
	if newer := new(versionError); errors.As(err, &newer) {
		db.readOnlyErr = newer
		db.closeWriter()
	}
	if errors.Is(err, driver.ErrBadConn) {
		_ = db.writer.close()
		db.writer = nil
	}
	return db.explain(err)
}

// Update runs f in a writing transaction. An error or a panic of f undoes it.
func (db *database) Update(f func(Tx) error) error {
	return db.write(func(w *writer) error { return f(w) })
}

// Bulk runs f, which makes many changes. They reach the disk together before Bulk returns, and not one by one: if the
// machine crashes meanwhile, the last of them are missing.
func (db *database) Bulk(f func() error) error {
	sync := func(statements string) {
		db.mu.Lock()
		defer db.mu.Unlock()
		if db.writable() == nil {
			_ = db.writer.script(statements)
		}
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(400)) // much garbage, and little that stays
	}
	sync("PRAGMA synchronous = normal")
	defer sync("PRAGMA synchronous = full; PRAGMA wal_checkpoint")
	return f()
}

// exec runs a statement in a transaction of its own.
func (db *database) exec(query string, args ...any) error {
	return db.write(func(w *writer) error { return w.Exec(query, args...) })
}

// value reads the single value of a query; sql.ErrNoRows if there is none.
func (db *database) value(to any, query string, args ...any) error {
	return db.View(func(q Tx) error { return q.QueryRow(query, args...).Scan(to) })
}

// writable reopens the writing connection if an error closed it, and returns why the file
// cannot be written; nil if it can.
func (db *database) writable() error {
	if db.closed {
		return errors.New("the store is closed")
	}
	if db.pool == nil {
		return db.reopenForWriting()
	}
	if db.writer == nil {
		w, err := newWriter(db.pool)
		if err != nil {
			db.readOnlyErr = db.explain(err)
			return db.readOnlyErr
		}
		db.writer = w
	}
	db.readOnlyErr = nil
	return nil
}

// reopenForWriting reconnects to a file that was read-only when it was opened: the disk
// may have been full, or the directory read-only. A file of a newer schema stays
// read-only, and so does one too damaged to be upgraded.
func (db *database) reopenForWriting() error {
	if newer := new(versionError); errors.As(db.readOnlyErr, &newer) || isCorrupt(db.readOnlyErr) {
		return db.readOnlyErr
	}
	fresh := &database{path: db.path, schema: db.schema, now: db.now, process: db.process}
	err := fresh.connect()
	if err != nil || fresh.pool == nil {
		_ = fresh.disconnect()
		if db.readOnlyErr = fresh.readOnlyErr; db.readOnlyErr == nil {
			db.readOnlyErr = db.explain(err)
		}
		return db.readOnlyErr
	}
	if old := db.readers.Swap(fresh.readers.Load()); old != nil {
		_ = old.Close()
	}
	db.pool, db.writer, db.readOnlyErr, db.shortWait = fresh.pool, fresh.writer, nil, false
	return nil
}

// eraseWith makes w overwrite deleted data, also in freed pages, until the returned function is
// called. Close erases the rest.
func (db *database) eraseWith(w *writer) (end func()) {
	_ = w.script("PRAGMA secure_delete = on")
	db.removed = true
	return func() { _ = w.script("PRAGMA secure_delete = fast") }
}

// eraseRemoved erases remains of removed sessions: words, which the index keeps until its parts are
// merged, and pages in the log. After an error they stay until the next removal.
func (db *database) eraseRemoved() {
	if !db.removed || db.writer == nil {
		return
	}
	_ = db.writer.transact(func(w *writer) error {
		defer db.eraseWith(w)()
		return w.Exec(`INSERT INTO words (words) VALUES ('optimize')`)
	})
	_ = db.writer.script("PRAGMA wal_checkpoint(TRUNCATE)")
}

// Time to wait for the lock of another process, in ms. After one wait has timed out, the
// next ones are short.
const (
	busyTimeout      = 5000
	shortBusyTimeout = 50
)

// setBusyTimeout chooses the timeout of the next write, after one that ended with err.
func (db *database) setBusyTimeout(err error) {
	busy := code(err) == sqlite3.SQLITE_BUSY
	if busy == db.shortWait || db.writer == nil {
		return
	}
	wait := busyTimeout
	if busy {
		wait = shortBusyTimeout
	}
	if db.writer.script(fmt.Sprintf("PRAGMA busy_timeout = %d", wait)) == nil {
		db.shortWait = busy
	}
}

// View runs f in a transaction that sees one state of the file. For a corrupt file the
// error is a *DamagedError; the data that f has read can be used.
func (db *database) View(f func(Tx) error) error {
	readers := db.readers.Load()
	if readers == nil {
		db.mu.Lock()
		defer db.mu.Unlock()
		if err := db.writable(); err != nil {
			return err
		}
		return f(db.writer)
	}
	tx, err := readers.BeginTx(context.Background(), nil)
	if err != nil {
		return db.explain(err)
	}
	defer func() { _ = tx.Rollback() }()
	return db.explain(f(reader{tx}))
}

// code returns the primary result code of an SQLite error, 0 for any other
// error.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// hint returns advice for the user about an SQLite result code; "" if there is none.
func hint(code int) string {
	switch code {
	case sqlite3.SQLITE_FULL:
		return "the disk is full: free some space"
	case sqlite3.SQLITE_READONLY:
		return "the file or its folder is read-only: make it writable, or set XDG_DATA_HOME to another folder"
	case sqlite3.SQLITE_CANTOPEN:
		return "the file cannot be opened: check its folder, or set XDG_DATA_HOME to another"
	case sqlite3.SQLITE_PERM:
		return "access is denied: check the file's owner and mode"
	case sqlite3.SQLITE_BUSY:
		return "another program keeps the file locked: close it"
	case sqlite3.SQLITE_IOERR:
		return "the disk reports an error: check it, and its free space"
	case sqlite3.SQLITE_PROTOCOL:
		return "the folder's file system does not lock files: set XDG_DATA_HOME to a local folder"
	case sqlite3.SQLITE_TOOBIG:
		return "a message is larger than the 1 GB that SQLite keeps"
	}
	return ""
}

// A hintedError is an error of SQLite with a hint for the user.
type hintedError struct {
	path, hint string
	err        error
}

func (f *hintedError) Error() string { return f.path + ": " + f.hint + " (" + f.err.Error() + ")" }
func (f *hintedError) Unwrap() error { return f.err }

// explain returns SQLite errors as a *DamagedError or with a hint, and others unchanged.
func (db *database) explain(err error) error {
	var hinted *hintedError
	var damaged *DamagedError
	if err == nil || errors.As(err, &hinted) || errors.As(err, &damaged) {
		return err
	}
	c := code(err)
	if errors.Is(err, errReadOnly) {
		c = sqlite3.SQLITE_READONLY
	}
	if c == sqlite3.SQLITE_CORRUPT || c == sqlite3.SQLITE_NOTADB {
		return &DamagedError{Path: db.path, Err: err}
	}
	if words := hint(c); words != "" {
		return &hintedError{db.path, words, err}
	}
	return err
}
