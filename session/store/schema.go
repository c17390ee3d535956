package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// applicationID marks the file as parley's (PRAGMA application_id): "prly".
const applicationID = 0x70726c79

// schema holds the SQL that makes each version of the one before; the version of a
// file is in its PRAGMA user_version. A released entry is never changed.
//
// Texts are bytes as they came. Times are nanoseconds since 1970, NULL if
// unknown. Fields that queries select or sort by are columns, the others JSON.
// words holds no text itself: its rowid is the num of a node, or the negative num
// of a session for its title. meta.clock counts all writes; as it is written with
// each, every write-ahead log has meta.identity, the file it belongs to.
var schema = []string{`
CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), identity TEXT NOT NULL, clock INTEGER NOT NULL);
CREATE TABLE sessions (
	num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, named INTEGER NOT NULL, folder TEXT NOT NULL,
	model TEXT NOT NULL, effort TEXT NOT NULL, history TEXT NOT NULL, pinned INTEGER NOT NULL, origin TEXT NOT NULL,
	created INTEGER, updated INTEGER, head INTEGER NOT NULL, messages INTEGER NOT NULL, usage TEXT NOT NULL,
	preview TEXT NOT NULL, deleted INTEGER, touched INTEGER NOT NULL);
CREATE INDEX sessions_deleted ON sessions (deleted) WHERE deleted IS NOT NULL;
CREATE TABLE nodes (
	num INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, parent INTEGER NOT NULL, at INTEGER,
	role TEXT NOT NULL, origin TEXT NOT NULL, model TEXT NOT NULL, indexed INTEGER NOT NULL, rest TEXT NOT NULL, parts TEXT NOT NULL,
	UNIQUE (session, seq));
CREATE INDEX nodes_unindexed ON nodes (num) WHERE indexed = 0;
CREATE TABLE blobs (num INTEGER PRIMARY KEY, sha TEXT NOT NULL UNIQUE, data BLOB NOT NULL);
CREATE TABLE refs (node INTEGER NOT NULL, blob INTEGER NOT NULL, PRIMARY KEY (node, blob)) WITHOUT ROWID;
CREATE INDEX refs_blob ON refs (blob);
CREATE TABLE usage (
	session TEXT NOT NULL, seq INTEGER NOT NULL, day TEXT NOT NULL, at INTEGER, model TEXT NOT NULL, input INTEGER NOT NULL,
	cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL, output INTEGER NOT NULL, thinking INTEGER NOT NULL,
	cost REAL NOT NULL, priced INTEGER NOT NULL, PRIMARY KEY (session, seq)) WITHOUT ROWID;
CREATE INDEX usage_at ON usage (at);
CREATE TABLE leases (
	session TEXT PRIMARY KEY, owner TEXT NOT NULL, pid INTEGER NOT NULL, start TEXT NOT NULL, boot TEXT NOT NULL,
	host TEXT NOT NULL, beat INTEGER) WITHOUT ROWID;
CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE drafts (key TEXT PRIMARY KEY, text TEXT NOT NULL, cursor INTEGER NOT NULL, parts TEXT NOT NULL, at INTEGER);
CREATE TABLE prompts (num INTEGER PRIMARY KEY, text TEXT NOT NULL, folder TEXT NOT NULL, at INTEGER);
` + wordsTable, annotationsTable, vectorTables, videosTable, ledgerTables, missedCost, comparisonsTable, listIndexes, briefIndex, updatedIndex, forksTable}

const wordsTable = `CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2", prefix='2 3');`

// vectorTables holds collections: texts with their vectors, each text once, in rows from 0. A vector
// is float32 in little-endian order. Coarse codes of the vectors are stored in blocks; a block's
// number is that of its first row divided by the rows per block.
const vectorTables = `CREATE TABLE collections (
	num INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, model TEXT NOT NULL, dimensions INTEGER NOT NULL, task TEXT NOT NULL,
	rows INTEGER NOT NULL, created INTEGER, updated INTEGER);
CREATE TABLE vectors (
	collection INTEGER NOT NULL, row INTEGER NOT NULL, sha BLOB NOT NULL, file TEXT NOT NULL, line INTEGER NOT NULL,
	text TEXT NOT NULL, data BLOB NOT NULL, UNIQUE (collection, row), UNIQUE (collection, sha));
CREATE TABLE coarse (collection INTEGER NOT NULL, block INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE (collection, block));`

// A versionError reports that a newer parley wrote the file.
type versionError struct {
	path        string
	file, known int
}

func (e *versionError) Error() string {
	return fmt.Sprintf("%s: a newer parley made this file (schema %d, this one knows up to %d): nothing is written, "+
		"what can be read is shown; install a newer parley", e.path, e.file, e.known)
}

// A foreignError reports that the file is a database of another program.
type foreignError struct{ path string }

func (e *foreignError) Error() string {
	return e.path + ": this is a database of another program: it is left as it is; " +
		"move it away, or set XDG_DATA_HOME to another folder"
}

// identify returns the schema version of a file, 0 if it is empty, and a *foreignError if it
// is not parley's.
func identify(q Tx, path string) (version int, err error) {
	var id, objects int
	if err := q.QueryRow("PRAGMA application_id").Scan(&id); err != nil {
		return 0, err
	}
	if err := q.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	if id == applicationID {
		return version, nil
	}
	if err := q.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&objects); err != nil {
		return 0, err
	}
	if id != 0 || version != 0 || objects != 0 {
		return 0, &foreignError{path}
	}
	return 0, nil
}

// hasTable reports whether the file has a table; one that is read-only may have an older schema.
func hasTable(q Tx, name string) (has bool, err error) {
	err = q.QueryRow(`SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?)`, name).Scan(&has)
	return has, err
}

// migrate upgrades the file from version to the last one, in one transaction. Unless the
// file is empty, it makes a backup first.
func (db *database) migrate(version int) error {
	if version == len(db.schema) {
		return nil
	}
	if version > 0 {
		if err := db.backup(version); isCorrupt(err) {
			return err
		} else if err != nil {
			return fmt.Errorf("%s: copy before the upgrade to schema %d: %w: free some space and start again",
				db.path, len(db.schema), db.explain(err))
		}
	}
	err := db.writer.transact(func(w *writer) error {
		now, err := identify(w, db.path) // another process may have been faster
		if err != nil || now >= len(db.schema) {
			return err
		}
		for _, step := range db.schema[now:] {
			if err := w.script(step); err != nil {
				return err
			}
		}
		if now == 0 {
			if err := w.Exec(`INSERT INTO meta VALUES (1, ?, 0)`, rand.Text()); err != nil {
				return err
			}
		}
		return w.script(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(db.schema)))
	})
	if err != nil {
		return err
	}
	// The identity has to be in the file itself, to be compared with that in its log.
	return db.writer.script("PRAGMA wal_checkpoint(PASSIVE)")
}

// backup copies the file to path.v<version>.bak and checks the copy. An existing copy is
// of the same version, and stays if it is not damaged.
func (db *database) backup(version int) error {
	final := fmt.Sprintf("%s.v%d.bak", db.path, version)
	if checkFile(final) == nil {
		return nil
	}
	partial := fmt.Sprintf("%s.%s.tmp", final, rand.Text())
	if err := createEmpty(partial); err != nil {
		return err
	}
	defer func() { _ = os.Remove(partial) }()
	if err := db.writer.Exec("VACUUM INTO ?", uri(partial, "")); err != nil {
		return err
	}
	if err := checkFile(partial); err != nil {
		return err
	}
	if err := syncFile(partial); err != nil {
		return err
	}
	return os.Rename(partial, final)
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return f.Sync()
}

// checkFile returns an error if the database at path is damaged.
func checkFile(path string) error {
	if _, err := os.Stat(path); err != nil {
		return err
	}
	pool, err := sql.Open("sqlite", uri(path, "mode=ro&immutable=1"))
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	tx, err := pool.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	return quickCheck(reader{tx})
}

func quickCheck(q Tx) error {
	var word string
	if err := q.QueryRow("PRAGMA quick_check(1)").Scan(&word); err != nil {
		return err
	}
	if word != "ok" {
		return errors.New(word)
	}
	return nil
}

// Snapshot writes the content of db at one moment to a new database at path.
func Snapshot(db *DB, path string) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if err := db.writable(); err != nil {
		return err
	}
	if err := createEmpty(path); err != nil {
		return err
	}
	err := db.writer.Exec("VACUUM INTO ?", uri(path, ""))
	if err == nil {
		err = checkFile(path)
	}
	return db.explain(err)
}

// CheckSchema returns an error if the file at path, which may come from anyone, is unsafe to
// open: triggers, views and virtual tables run when tables are written or read, and must be
// parley's own. The log beside the file is ignored.
func CheckSchema(path string) error {
	file := newDB(path, schema, time.Now)
	defer func() { _ = file.disconnect() }()
	version, err := file.openReaders("mode=ro&immutable=1")
	if err != nil || version > len(schema) { // Open reports a newer version
		return err
	}
	own := newDB("memory", schema[:version], time.Now)
	defer func() { _ = own.disconnect() }()
	if err := own.openWriter("file::memory:?"+settings, 0); err != nil {
		return err
	}
	known, err := activeObjects(own.writer)
	if err != nil {
		return err
	}
	return file.View(func(q Tx) error {
		found, err := activeObjects(q)
		for _, text := range found {
			if !slices.Contains(known, text) {
				return fmt.Errorf("in its database is %q, which parley did not write", text[:min(len(text), 40)])
			}
		}
		return err
	})
}

// activeObjects returns the SQL of everything in a file except tables and indexes. Like SQLite,
// it looks at the beginning of the SQL, not at the column type.
func activeObjects(q Tx) (found []string, err error) {
	err = EachRow(q, func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		found = append(found, text)
		return err
	}, `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND upper(sql) NOT LIKE 'CREATE TABLE%'
		AND upper(sql) NOT LIKE 'CREATE INDEX%' AND upper(sql) NOT LIKE 'CREATE UNIQUE INDEX%'`)
	return found, err
}

// globalTables are the tables that do not belong to conversations. The tables of a row are
// copied together, unless the first one has rows. Triggers fill ledger_days.
var globalTables = [][]string{
	{"ledger"}, {"collections", "vectors", "coarse"}, {"videos"}, {"comparisons"}, {"prompts"}, {"drafts"}, {"state"},
}

// CopyGlobal copies from another store the data that does not belong to conversations: the
// ledger, vectors, video jobs, comparisons, prompt history, drafts. If db has rows of a kind,
// they stay and nothing is copied; kept lists those kinds by their first tables. Of the state
// only keys are copied, because it also has what a user has trusted and allowed.
func CopyGlobal(db, from *DB, keys ...string) (kept []string, err error) {
	err = db.write(func(w *writer) error {
		kept = nil
		for _, tables := range globalTables {
			var have, others int
			if err := w.QueryRow("SELECT count(*) FROM (SELECT 1 FROM " + tables[0] + " LIMIT 1)").Scan(&have); err != nil {
				return err
			}
			err := from.View(func(q Tx) error {
				if err := q.QueryRow("SELECT count(*) FROM (SELECT 1 FROM " + tables[0] + " LIMIT 1)").Scan(&others); err != nil || have+others == 2 {
					return err
				}
				for _, table := range tables {
					if err := copyRows(w, q, table, keys); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			if have+others == 2 {
				kept = append(kept, tables[0])
			}
		}
		return nil
	})
	return kept, err
}

// copyRows copies the rows of a table, which has the same columns in both stores; of the
// state, only the rows of keys.
func copyRows(w *writer, from Tx, table string, keys []string) error {
	return EachRow(from, func(rows *sql.Rows) error {
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		values, places := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		if err := rows.Scan(places...); err != nil {
			return err
		}
		if key, ok := values[0].(string); table == "state" && (!ok || !slices.Contains(keys, key)) {
			return nil
		}
		if table == "videos" {
			if values[1], err = withoutTarget(values[1]); err != nil {
				return nil // not a video job
			}
		}
		return w.Exec("INSERT INTO "+table+" VALUES (?"+strings.Repeat(", ?", len(columns)-1)+")", values...)
	}, "SELECT * FROM "+table)
}
