package store

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"slices"
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
	done, err := db.Imports(ImportSource{}).Add(s, nodes, shown...)
	return done.ID, err
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
