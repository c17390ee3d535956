package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"parley/providers/llm"
	"parley/session/store/holder"
)

// Get returns the value that Set stored under key, "" if there is none.
func (db *DB) Get(key string) (value string, err error) {
	err = db.read(func(q querier) error {
		return q.queryRow(`SELECT value FROM state WHERE key = ?`, key).Scan(&value)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

// Set stores value under key.
func (db *DB) Set(key, value string) error {
	return db.write(func(w *writer) error {
		return w.exec(`INSERT OR REPLACE INTO state (key, value) VALUES (?, ?)`, key, value)
	})
}

// An ImportSource is the place where another program keeps conversations. The zero value is no
// known place: nothing is merged.
type ImportSource struct {
	Key     string // same for places that may add to each other's conversations: "codex", "crush /p/.crush/crush.db"
	Adopts  bool   // conversations of its program that came from no known place belong to it
	Exports bool   // its files may lie anywhere and come from anyone: each adds only to conversations with the same first message
}

// key returns the key of the state that holds the ID of the conversation that from calls there.
func (from ImportSource) key(there string) string { return "imported " + from.Key + " " + there }

// find returns the ID here of the conversation that from calls there, which is the same if it was
// not imported from there, and whether from may add to it.
func (from ImportSource) find(q querier, there string) (id string, owned bool, err error) {
	if from.Key == "" {
		return there, false, nil
	}
	err = q.queryRow(`SELECT value FROM state WHERE key = ?`, from.key(there)).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, true, err
	}
	others := 0
	if from.Adopts {
		err = q.queryRow(`SELECT count(*) FROM state WHERE key > 'imported ' AND key < 'imported!' AND value = ?`, there).Scan(&others)
	} else {
		err = nil
	}
	return there, from.Adopts && others == 0, err
}

// keep stores the ID of the conversation that from calls there, if owned.
func (from ImportSource) keep(w *writer, there, id string, owned bool) error {
	if from.Key == "" || !owned {
		return nil
	}
	return w.exec(`INSERT OR REPLACE INTO state (key, value) VALUES (?, ?)`, from.key(there), id)
}

// ImportedAs returns the ID here of the conversation that from calls there, which is the same if it
// was not imported from there.
func ImportedAs(db *DB, from ImportSource, there string) (id string, err error) {
	err = db.read(func(q querier) error {
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

// AddPrompt adds p to the prompt history, unless p.Text is its last entry.
func (db *DB) AddPrompt(p SentPrompt) error {
	if p.At.IsZero() {
		p.At = db.now()
	}
	return db.write(func(w *writer) error {
		var last sql.NullString
		err := w.queryRow(`SELECT text FROM prompts ORDER BY num DESC LIMIT 1`).Scan(&last)
		if err == nil && last.String == p.Text {
			return nil
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := w.exec(`INSERT INTO prompts (text, folder, at) VALUES (?, ?, ?)`, p.Text, p.Dir, nanos(p.At)); err != nil {
			return err
		}
		return w.exec(`DELETE FROM prompts WHERE num <= (SELECT max(num) FROM prompts) - ?`, maxPrompts)
	})
}

// A pendingPrompt is a running call of AddPrompt.
type pendingPrompt struct {
	done chan struct{} // closed once err is set
	err  error
}

// wait waits for AddPrompt and returns its error. For a nil pendingPrompt it returns nil.
func (p *pendingPrompt) wait() error {
	if p == nil {
		return nil
	}
	<-p.done
	return p.err
}

// AddPromptAsync adds p to the prompt history without waiting for the disk, behind the prompts
// of all earlier calls. The function it returns waits, and returns the error; it need not be
// called. Prompts and Close wait for prompts that were added before.
func (db *DB) AddPromptAsync(p SentPrompt) (wait func() error) {
	next := &pendingPrompt{done: make(chan struct{})}
	before := db.lastPrompt.Swap(next)
	go func() {
		defer close(next.done)
		_ = before.wait()
		next.err = db.AddPrompt(p)
	}()
	return next.wait
}

// Prompts returns the last limit prompts, newest last; 0 means all that are stored.
func (db *DB) Prompts(limit int) ([]SentPrompt, error) {
	_ = db.lastPrompt.Load().wait()
	if limit <= 0 {
		limit = maxPrompts
	}
	var found []SentPrompt
	err := db.read(func(q querier) error {
		return eachRow(q, func(rows *sql.Rows) error {
			var p SentPrompt
			var c columns // damage is left out
			err := rows.Scan(textOf(&c, "text", &p.Text), textOf(&c, "folder", &p.Dir), timeOf(&c, "at", &p.At))
			found = append(found, p)
			return err
		}, `SELECT text, folder, at FROM prompts ORDER BY num DESC LIMIT ?`, limit)
	})
	slices.Reverse(found)
	return found, err
}

// draftWriterKey returns the key of the state that holds the process whose a draft is.
func draftWriterKey(key string) string { return "draft of " + key }

// SaveDraft stores a draft under key: this process's, or with Left no process's. If d has no text and no parts, it deletes the draft
// instead, unless it is another running process's. With a session is removed what is under "session:" and
// its ID.
func (db *DB) SaveDraft(key string, d Draft) error {
	parts, err := encodeParts(d.Parts, nil)
	if err != nil {
		return err
	}
	if d.At.IsZero() {
		d.At = db.now()
	}
	return db.write(func(w *writer) error {
		if d.Text == "" && len(d.Parts) == 0 {
			if draftElsewhere(db, w, key) {
				return nil
			}
			if err := releaseDraft(w, db, key); err != nil {
				return err
			}
			return w.exec(`DELETE FROM drafts WHERE key = ?`, key)
		}
		hold := claimDraft
		if d.Left {
			hold = releaseDraft
		}
		if err := hold(w, db, key); err != nil {
			return err
		}
		return w.exec(`INSERT OR REPLACE INTO drafts (key, text, cursor, parts, at) VALUES (?, ?, ?, ?, ?)`,
			key, d.Text, d.Cursor, string(parts), nanos(d.At))
	})
}

// claimDraft makes the draft under key this process's.
func claimDraft(w *writer, db *DB, key string) error {
	process, err := json.Marshal(db.process)
	if err != nil {
		return err
	}
	return w.exec(`INSERT OR REPLACE INTO state (key, value) VALUES (?, ?)`, draftWriterKey(key), string(process))
}

// releaseDraft makes the draft under key no process's.
func releaseDraft(w *writer, _ *DB, key string) error {
	return w.exec(`DELETE FROM state WHERE key = ?`, draftWriterKey(key))
}

// draftElsewhere reports whether the draft under key is another process's, which runs.
func draftElsewhere(db *DB, q querier, key string) bool {
	var process string
	var p holder.Process
	err := q.queryRow(`SELECT value FROM state WHERE key = ?`, draftWriterKey(key)).Scan(&process)
	return err == nil && json.Unmarshal([]byte(process), &p) == nil && p != db.process && p.IsRunning(db.process)
}

// TakeDraft returns the draft under key, and whether there is one. It is this process's from then on, unless
// it is another running process's: then Draft.Elsewhere is set. With a *DamagedError it comes without its
// attachments.
func (db *DB) TakeDraft(key string) (d Draft, ok bool, err error) {
	var c columns
	var parts string
	err = db.read(func(q querier) error {
		d.Elsewhere = draftElsewhere(db, q, key)
		return q.queryRow(`SELECT text, cursor, parts, at FROM drafts WHERE key = ?`, key).Scan(textOf(&c, "text", &d.Text),
			numberOf(&c, "cursor", &d.Cursor), textOf(&c, "parts", &parts), timeOf(&c, "at", &d.At))
	})
	if errors.Is(err, sql.ErrNoRows) {
		return Draft{}, false, nil
	}
	if err != nil {
		return Draft{}, false, err
	}
	if !d.Elsewhere { // what cannot be written can be read
		_ = db.write(func(w *writer) error {
			if d.Elsewhere = draftElsewhere(db, w, key); d.Elsewhere { // it was faster
				return nil
			}
			return claimDraft(w, db, key)
		})
	}
	d.Cursor = min(max(d.Cursor, 0), len(d.Text))
	var attached []llm.Part
	if attached, _, err = decodeParts(parts, nil); err != nil {
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
	Agreed  bool      `json:"agreed,omitempty"` // its verdict was the same
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
	return of.db.write(func(w *writer) error {
		return w.exec(`INSERT INTO comparisons (at, comparison) VALUES (?, ?)`, c.At.UnixNano(), string(row))
	})
}

// List returns the comparisons from since to until (zero: without bound), oldest first. A row
// that cannot be read is left out.
func (of Comparisons) List(since, until time.Time) (all []Comparison, err error) {
	err = of.db.read(func(q querier) error {
		all = nil
		return eachRow(q, func(rows *sql.Rows) error {
			var row []byte
			if err := rows.Scan(&row); err != nil {
				return err
			}
			var c Comparison
			if json.Unmarshal(row, &c) == nil && !c.At.Before(since) && (until.IsZero() || c.At.Before(until)) {
				all = append(all, c)
			}
			return nil
		}, `SELECT comparison FROM comparisons ORDER BY num`)
	})
	return all, err
}
