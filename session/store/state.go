package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"
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

// maxPrompts is the number of prompts in the history.
const maxPrompts = 5000

// AddPromptAsync adds p to the prompt history, unless p.Text is its last entry, without waiting for the disk. It also
// deletes this process's drafts under keys, as Drafts.Save does. The write joins the transaction that stores the prompt itself, if that comes soon. The returned function
// waits and returns the error; calling it is optional.
func (db *DB) AddPromptAsync(p SentPrompt, drafts ...string) (wait func() error) {
	if p.At.IsZero() {
		p.At = db.now()
	}
	return db.later(func(w *writer) error {
		for _, key := range drafts {
			if err := db.Drafts().save(w, key, Draft{}); err != nil {
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
