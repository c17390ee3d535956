package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"

	"parley/providers/llm"
	"parley/session/store/holder"
)

// draftWriterKey returns the state key for the process that owns the draft in a slot.
func draftWriterKey(slot string) string { return "draft of " + slot }

// Each process has its own draft under a key, in a slot: one slot is the key itself, and the others
// begin with it.
const slotMark = "\x1f" // between the key and the number of a slot

// draftSlots returns the SQL condition that d is a draft under a key, given as
// SQL.
func draftSlots(key string) string {
	return `(d.key = ` + key + ` OR d.key > ` + key + ` || char(31) AND d.key < ` + key + ` || char(32))`
}

// draftsOfSession is the SQL condition that d is a draft of the session s.
var draftsOfSession = draftSlots(`'session:' || s.id`)

// A draftWriter is the process that owns a draft, and the model chosen for it.
type draftWriter struct {
	holder.Process
	Left  bool   `json:"left,omitempty"` // others may take it
	Model string `json:"model,omitempty"`
}

// Drafts are the stored drafts.
type Drafts struct{ db *DB }

// Drafts returns the stored drafts.
func (db *DB) Drafts() Drafts { return Drafts{db} }

// find returns the slot of this process's draft under key; else, with own false, that of the last
// draft not held by a running process; "" if there is none. Free is a slot for a new draft.
func (of Drafts) find(q Tx, key string) (slot string, own bool, free string, err error) {
	taken := map[string]bool{}
	err = EachRow(q, func(rows *sql.Rows) error {
		var at, text string
		if err := rows.Scan(&at, &text); err != nil {
			return err
		}
		taken[at] = true
		var w draftWriter
		known := json.Unmarshal([]byte(text), &w) == nil
		switch {
		case known && w.Process == of.db.process:
			slot, own = at, true
		case slot == "" && !(known && !w.Left && w.IsRunning(of.db.process)):
			slot = at
		}
		return nil
	}, `SELECT d.key, ifnull(s.value, '') FROM drafts d LEFT JOIN state s ON s.key = 'draft of ' || d.key WHERE `+draftSlots(`?1`)+` ORDER BY d.at DESC`, key)
	free = key
	for n := 2; taken[free]; n++ {
		free = key + slotMark + strconv.Itoa(n)
	}
	return slot, own, free, err
}

// hold makes this process the owner of the draft d in a slot; others may take one that was left.
func (of Drafts) hold(w *writer, slot string, d Draft) error {
	process, err := json.Marshal(draftWriter{of.db.process, d.Left, d.Model})
	if err != nil {
		return err
	}
	return w.setState(draftWriterKey(slot), string(process))
}

// Save stores this process's draft under key and replaces its previous one; drafts of others stay.
// If d has no text and no parts, the draft is deleted. Removing a session removes the drafts under
// "session:" and its ID.
func (of Drafts) Save(key string, d Draft) error {
	wait := of.SaveAsync(key, d)
	_ = of.db.Flush() // wait returns the error
	return wait()
}

// SaveAsync is Save without waiting for the disk, after all earlier calls; it also deletes the drafts under
// other keys. The returned function waits and returns the error; calling it is optional.
func (of Drafts) SaveAsync(key string, d Draft, other ...string) (wait func() error) {
	if d.At.IsZero() {
		d.At = of.db.now()
	}
	return of.db.later(func(w *writer) error {
		err := of.save(w, key, d)
		for _, key := range other {
			if err == nil {
				err = of.save(w, key, Draft{})
			}
		}
		return err
	})
}

func (of Drafts) save(w *writer, key string, d Draft) error {
	slot, own, free, err := of.find(w, key)
	switch {
	case err != nil:
		return err
	case d.Text == "" && len(d.Parts) == 0 && own:
		return errors.Join(w.Exec(`DELETE FROM drafts WHERE key = ?`, slot), w.Exec(`DELETE FROM state WHERE key = ?`, draftWriterKey(slot)))
	case d.Text == "" && len(d.Parts) == 0:
		return nil
	case !own:
		slot = free
	}
	parts, err := encodeParts(d.Parts, nil)
	if err != nil {
		return err
	}
	if err := of.hold(w, slot, d); err != nil {
		return err
	}
	return w.Exec(`INSERT OR REPLACE INTO drafts (key, text, cursor, parts, at) VALUES (?, ?, ?, ?, ?)`,
		slot, d.Text, d.Cursor, string(parts), nanos(d.At))
}

// modelOf returns the model that was chosen for a draft, of its draftWriter.
func modelOf(holds string) string {
	var w draftWriter
	_ = json.Unmarshal([]byte(holds), &w) // a damaged one has no model
	return w.Model
}

// Take returns this process's draft under key, else the last one not held by a running process, which
// this process then owns; ok is false if there is none. With a *DamagedError it lacks its attachments.
func (of Drafts) Take(key string) (d Draft, ok bool, err error) {
	_ = of.db.Flush()
	var slot, parts, holds string
	find := func(q Tx) (err error) {
		if slot, _, _, err = of.find(q, key); err != nil || slot == "" {
			return err
		}
		var c columns
		return q.QueryRow(`SELECT text, cursor, parts, at, ifnull((SELECT value FROM state WHERE key = ?), '') FROM drafts WHERE key = ?`, draftWriterKey(slot), slot).Scan(
			c.places("text cursor parts at state", &d.Text, &d.Cursor, &parts, &d.At, &holds)...)
	}
	if err := of.db.View(find); err != nil || slot == "" {
		return Draft{}, false, err
	}
	_ = of.db.write(func(w *writer) error { // a draft can be read even if this fails
		if err := find(w); err != nil || slot == "" { // another process has taken it first
			return err
		}
		d.Model = modelOf(holds)
		return of.hold(w, slot, d)
	})
	if slot == "" {
		return Draft{}, false, nil
	}
	d.Cursor, d.Model = min(max(d.Cursor, 0), len(d.Text)), modelOf(holds)
	var attached []llm.Part
	if attached, _, err = decodeParts(parts); err != nil {
		return d, true, &DamagedError{of.db.path, 1, err}
	}
	d.Parts = attached
	return d, true, nil
}
