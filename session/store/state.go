package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"parley/providers/llm"
	"parley/session/store/holder"
)

// Get returns the value that Set stored under key; "" if there is none.
func (db *DB) Get(key string) (value string, err error) {
	err = db.value(&value, `SELECT value FROM state WHERE key = ?`, key)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

// Set stores value under key.
func (db *DB) Set(key, value string) error {
	return db.write(func(w *writer) error { return w.setState(key, value) })
}

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

// ImportedAs returns the ID here of the source's conversation there, which is the same if it was
// not imported.
func ImportedAs(db *DB, from ImportSource, there string) (id string, err error) {
	err = db.View(func(q Tx) error {
		id, _, err = from.find(q, there)
		return err
	})
	return id, err
}

// ClaimImported records that the conversations with these IDs were imported from a source.
func ClaimImported(db *DB, from ImportSource, ids ...string) error {
	return db.write(func(w *writer) error {
		for _, id := range ids {
			if err := from.keep(w, id, id, true); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxPrompts is the number of prompts in the history.
const maxPrompts = 5000

// AddPromptAsync adds p to the prompt history, unless p.Text is its last entry, without waiting for the disk. It also
// deletes this process's drafts under keys, as SaveDraft does. The write joins the transaction that stores the prompt itself, if that comes soon. The returned function
// waits and returns the error; calling it is optional.
func (db *DB) AddPromptAsync(p SentPrompt, drafts ...string) (wait func() error) {
	if p.At.IsZero() {
		p.At = db.now()
	}
	return db.later(func(w *writer) error {
		for _, key := range drafts {
			if err := saveDraft(w, db, key, Draft{}); err != nil {
				return err
			}
		}
		var last sql.NullString
		err := w.QueryRow(`SELECT text FROM prompts ORDER BY num DESC LIMIT 1`).Scan(&last)
		if err == nil && last.String == p.Text {
			return nil
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := w.Exec(`INSERT INTO prompts (text, folder, at) VALUES (?, ?, ?)`, p.Text, p.Dir, nanos(p.At)); err != nil {
			return err
		}
		return w.Exec(`DELETE FROM prompts WHERE num <= (SELECT max(num) FROM prompts) - ?`, maxPrompts)
	})
}

// Prompts returns the last limit prompts, newest last; limit 0 means all.
func (db *DB) Prompts(limit int) ([]SentPrompt, error) {
	_ = db.Flush()
	if limit <= 0 {
		limit = maxPrompts
	}
	var found []SentPrompt
	err := db.View(func(q Tx) error {
		return EachRow(q, func(rows *sql.Rows) error {
			var p SentPrompt
			var c columns // damage is left out
			err := rows.Scan(c.places("text folder at", &p.Text, &p.Dir, &p.At)...)
			found = append(found, p)
			return err
		}, `SELECT text, folder, at FROM prompts ORDER BY num DESC LIMIT ?`, limit)
	})
	slices.Reverse(found)
	return found, err
}

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

// findDraft returns the slot of this process's draft under key; else, with own false, that of the last
// draft not held by a running process; "" if there is none. Free is a slot for a new draft.
func findDraft(db *DB, q Tx, key string) (slot string, own bool, free string, err error) {
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
		case known && w.Process == db.process:
			slot, own = at, true
		case slot == "" && !(known && !w.Left && w.IsRunning(db.process)):
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

// holdDraft makes this process the owner of the draft d in a slot; others may take one that was left.
func holdDraft(w *writer, db *DB, slot string, d Draft) error {
	process, err := json.Marshal(draftWriter{db.process, d.Left, d.Model})
	if err != nil {
		return err
	}
	return w.setState(draftWriterKey(slot), string(process))
}

// SaveDraft stores this process's draft under key and replaces its previous one; drafts of others stay.
// If d has no text and no parts, the draft is deleted. Removing a session removes the drafts under
// "session:" and its ID.
func (db *DB) SaveDraft(key string, d Draft) error {
	wait := db.SaveDraftAsync(key, d)
	_ = db.Flush() // wait returns the error
	return wait()
}

// SaveDraftAsync is SaveDraft without waiting for the disk, after all earlier calls; it also deletes the drafts under
// other keys. The returned function waits and returns the error; calling it is optional.
func (db *DB) SaveDraftAsync(key string, d Draft, other ...string) (wait func() error) {
	if d.At.IsZero() {
		d.At = db.now()
	}
	return db.later(func(w *writer) error {
		err := saveDraft(w, db, key, d)
		for _, key := range other {
			if err == nil {
				err = saveDraft(w, db, key, Draft{})
			}
		}
		return err
	})
}

func saveDraft(w *writer, db *DB, key string, d Draft) error {
	slot, own, free, err := findDraft(db, w, key)
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
	if err := holdDraft(w, db, slot, d); err != nil {
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

// TakeDraft returns this process's draft under key, else the last one not held by a running process, which
// this process then owns; ok is false if there is none. With a *DamagedError it lacks its attachments.
func (db *DB) TakeDraft(key string) (d Draft, ok bool, err error) {
	_ = db.Flush()
	var slot, parts, holds string
	find := func(q Tx) (err error) {
		if slot, _, _, err = findDraft(db, q, key); err != nil || slot == "" {
			return err
		}
		var c columns
		return q.QueryRow(`SELECT text, cursor, parts, at, ifnull((SELECT value FROM state WHERE key = ?), '') FROM drafts WHERE key = ?`, draftWriterKey(slot), slot).Scan(
			c.places("text cursor parts at state", &d.Text, &d.Cursor, &parts, &d.At, &holds)...)
	}
	if err := db.View(find); err != nil || slot == "" {
		return Draft{}, false, err
	}
	_ = db.write(func(w *writer) error { // a draft can be read even if this fails
		if err := find(w); err != nil || slot == "" { // another process has taken it first
			return err
		}
		d.Model = modelOf(holds)
		return holdDraft(w, db, slot, d)
	})
	if slot == "" {
		return Draft{}, false, nil
	}
	d.Cursor, d.Model = min(max(d.Cursor, 0), len(d.Text)), modelOf(holds)
	var attached []llm.Part
	if attached, _, err = decodeParts(parts); err != nil {
		return d, true, &DamagedError{db.path, 1, err}
	}
	d.Parts = attached
	return d, true, nil
}

// comparisonsTable holds the choices in comparisons. The JSON of a row is a Comparison.
const comparisonsTable = `CREATE TABLE comparisons (num INTEGER PRIMARY KEY, at INTEGER, comparison TEXT NOT NULL);`

// A Comparison records which of several responses to the same prompt a user chose.
type Comparison struct {
	At      time.Time `json:"at"`
	Session string    `json:"session"`          // ID of the conversation
	Winner  string    `json:"winner"`           // provider/model
	Losers  []string  `json:"losers"`           // the other models that answered
	Blind   bool      `json:"blind,omitempty"`  // the names were hidden until the choice
	Judge   string    `json:"judge,omitempty"`  // model that gave a verdict before the choice; "": none
	Agreed  bool      `json:"agreed,omitempty"` // its verdict matched the choice
}

// Comparisons are the stored comparisons of a store.
type Comparisons struct{ db *DB }

// Comparisons returns the stored comparisons.
func (db *DB) Comparisons() Comparisons { return Comparisons{db} }

// Add stores c with the current time.
func (of Comparisons) Add(c Comparison) error {
	c.At = of.db.now()
	row, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return of.db.exec(`INSERT INTO comparisons (at, comparison) VALUES (?, ?)`, c.At.UnixNano(), string(row))
}

// List returns the comparisons from since to until (zero: unbounded), oldest first. Unreadable rows
// are left out. The time is that of the JSON; the column at, if set, avoids decoding rows outside
// the range.
func (of Comparisons) List(since, until time.Time) (all []Comparison, err error) {
	err = of.db.View(func(q Tx) error {
		all = nil
		return EachRow(q, func(rows *sql.Rows) error {
			var row []byte
			if err := rows.Scan(&row); err != nil {
				return err
			}
			var c Comparison
			if json.Unmarshal(row, &c) == nil && !c.At.Before(since) && (until.IsZero() || c.At.Before(until)) {
				all = append(all, c)
			}
			return nil
		}, `SELECT comparison FROM comparisons
			WHERE typeof(at) <> 'integer' OR (?1 IS NULL OR at >= ?1) AND (?2 IS NULL OR at < ?2) ORDER BY num`, nanos(since), nanos(until))
	})
	return all, err
}
