// Package store keeps conversations in one SQLite file. Nothing a person typed
// or a model said may be lost: to a crash, a full disk, a second window or an
// update.
//
//	Put ──► Log (memory) ──► one transaction: lease, node, session, spending, index ──► parley.db
//	                 ▲ on an error: kept in order, tried again until it works
//
// A DB is the file, a Log is one conversation open for writing. A node is on
// disk when Put returns nil. Order is by sequence numbers, never by clocks. Each
// open conversation has a lease, so that two processes never write the same one;
// who loses it goes on as a fork. A newer schema, a read-only folder and a
// damaged file can be read as far as they can be; a file that is not ours is
// never touched.
package store

import (
	"errors"
	"time"
)

// A DB is the file of conversations, or a store without any file. It is safe for
// concurrent use.
type DB struct{}

// A HeldError says that another living process has the session open.
type HeldError struct {
	Session string // its ID
	By      string // who has it, in words for a person
}

func (e *HeldError) Error() string { return "session " + e.Session + " is open in " + e.By }

// A LostError says that the session was taken over by another process while
// this one did not run, and that the Log goes on as a fork of it. Everything is
// on disk.
type LostError struct {
	Session string // ID of the session that was lost
	Fork    string // ID of the one that is written now
}

func (e *LostError) Error() string {
	return "session " + e.Session + " was taken over by another process: going on as " + e.Fork
}

// A DamagedError says that not everything could be read. What comes with it
// could.
type DamagedError struct {
	Path string
	Rows int // how many were left out; 0 if that is not known
	Err  error
}

func (e *DamagedError) Error() string { return e.Path + ": damaged: " + e.Err.Error() }
func (e *DamagedError) Unwrap() error { return e.Err }

var errLater = errors.ErrUnsupported

// Path is where conversations are kept: parley/parley.db in $XDG_DATA_HOME, or
// in ~/.local/share.
func Path(getenv func(string) string) (string, error) { return "", errLater }

// Open opens the file, or creates it.
func Open(path string) (*DB, error) { return nil, errLater }

// Memory returns a store without any file: everything works, nothing stays.
func Memory() (*DB, error) { return nil, errLater }

// ReadOnly says why nothing can be written; nil if it can.
func (db *DB) ReadOnly() error { return errLater }

// Close closes every Log that is still open, and the file.
func (db *DB) Close() error { return errLater }

// Check looks at every page of the file.
func (db *DB) Check() error { return errLater }

// Create begins a conversation. Nothing is on disk before its first Put.
func (db *DB) Create(s Session) *Log { return nil }

// Resume opens a session for writing. With a *DamagedError there is a Log of
// what could be read.
func (db *DB) Resume(id string) (*Log, error) { return nil, errLater }

// Fork begins a conversation with a copy of the branch that ends in head; 0 is
// the session's own head.
func (db *DB) Fork(id string, head int) (*Log, error) { return nil, errLater }

// Read returns a session without opening it.
func (db *DB) Read(id string) (Session, []Node, error) { return Session{}, nil, errLater }

// Find returns the session with this ID, else the one whose ID begins with word,
// else those whose title holds all its words.
func (db *DB) Find(word string) ([]Session, error) { return nil, errLater }

// List returns sessions, pinned ones first, then those last touched.
func (db *DB) List(q Query) ([]Session, error) { return nil, errLater }

// Search returns messages, best first.
func (db *DB) Search(q Query) ([]Hit, error) { return nil, errLater }

// Rename gives a session the title a person chose.
func (db *DB) Rename(id, title string) error { return errLater }

// Pin keeps a session at the top of lists.
func (db *DB) Pin(id string, on bool) error { return errLater }

// Trash deletes a session for 30 days, then for good.
func (db *DB) Trash(id string) error { return errLater }

// Restore takes a session out of the trash.
func (db *DB) Restore(id string) error { return errLater }

// Remove deletes a session for good. What it cost stays.
func (db *DB) Remove(id string) error { return errLater }

// Import keeps a whole conversation, or nothing of it.
func (db *DB) Import(s Session, nodes []Node) (id string, err error) { return "", errLater }

// Spend sums up what was used from since to until, by day and model.
func (db *DB) Spend(since, until time.Time, bySession bool) ([]Spend, error) { return nil, errLater }

// Get returns what Set kept under key; "" if nothing.
func (db *DB) Get(key string) (string, error) { return "", errLater }

// Set keeps value under key.
func (db *DB) Set(key, value string) error { return errLater }

// Remember adds to the prompt history.
func (db *DB) Remember(p Prompt) error { return errLater }

// Prompts returns the last prompts, newest last.
func (db *DB) Prompts(limit int) ([]Prompt, error) { return nil, errLater }

// KeepDraft keeps what stands in a composer; an empty draft deletes it.
func (db *DB) KeepDraft(key string, d Draft) error { return errLater }

// Draft returns what KeepDraft kept.
func (db *DB) Draft(key string) (Draft, bool, error) { return Draft{}, false, errLater }

// A Log is one conversation open for writing. It is safe for concurrent use.
type Log struct{}

// Session returns what is known of the conversation.
func (l *Log) Session() Session { return Session{} }

// Nodes returns its messages in the order of their Seq.
func (l *Log) Nodes() []Node { return nil }

// Put inserts n, or replaces the node of the same Seq.
func (l *Log) Put(n Node) error { return errLater }

// Head switches to the branch that ends in seq.
func (l *Log) Head(seq int) error { return errLater }

// Update changes title, model, effort, history or pin.
func (l *Log) Update(change func(*Session)) error { return errLater }

// Pending returns how many messages are not on disk yet, and why.
func (l *Log) Pending() (int, error) { return 0, errLater }

// Notify calls f when writing starts to fail, and with nil once everything is
// on disk again.
func (l *Log) Notify(f func(error)) {}

// Close tries a last time to write what is pending and gives up the lease.
func (l *Log) Close() error { return errLater }
