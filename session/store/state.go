package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"parley/providers/llm"
)

// DailyUsage sums up what was used from since to until (zero: without bound), by day,
// model and, if asked for, session, or what it was for if that was none. Sessions that were
// removed count.
func (db *DB) DailyUsage(since, until time.Time, bySession bool) ([]DailyUsage, error) {
	keys := []string{"day", "model"}
	if bySession {
		keys = append(keys, "session", "purpose")
	}
	sums, err := db.Ledger().Sums(since, until, keys...)
	var spent []DailyUsage
	for _, s := range sums {
		d := DailyUsage{Day: s.Day, Model: s.Model, Session: s.Session, Answers: s.Requests, Unpriced: s.Unpriced, Usage: s.Usage}
		if bySession && s.Session == "" {
			d.Session = s.Purpose
		}
		if n := len(spent); n > 0 && bySession && spent[n-1].Day == d.Day && spent[n-1].Model == d.Model && spent[n-1].Session == d.Session {
			last := &spent[n-1]
			last.Answers, last.Unpriced, last.Usage = last.Answers+d.Answers, last.Unpriced+d.Unpriced, last.Usage.Add(d.Usage)
			continue
		}
		spent = append(spent, d)
	}
	return spent, err
}

// Get returns what Set kept under key; "" if nothing.
func (db *DB) Get(key string) (value string, err error) {
	err = db.read(func(q querier) error {
		return q.one(`SELECT value FROM state WHERE key = ?`, key).Scan(&value)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

// Set keeps value under key.
func (db *DB) Set(key, value string) error {
	return db.write(func(w *writer) error {
		return w.exec(`INSERT OR REPLACE INTO state (key, value) VALUES (?, ?)`, key, value)
	})
}

// An ImportSource says where a conversation of another program comes from. The zero value vouches
// for nothing.
type ImportSource struct {
	Key    string // of the places that may add to each other's conversations: "codex", "crush /p/.crush/crush.db"
	Adopts bool   // what came from no place, of its program, counts as its own
}

// key returns where the ID is kept of what from calls there.
func (from ImportSource) key(there string) string { return "imported " + from.Key + " " + there }

// find returns the ID of what from calls there, which is that itself if from has not brought it
// yet, and whether it may add to it.
func (from ImportSource) find(q querier, there string) (id string, owned bool, err error) {
	if from.Key == "" {
		return there, false, nil
	}
	err = q.one(`SELECT value FROM state WHERE key = ?`, from.key(there)).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, true, err
	}
	others := 0
	if from.Adopts {
		err = q.one(`SELECT count(*) FROM state WHERE key > 'imported ' AND key < 'imported!' AND value = ?`, there).Scan(&others)
	} else {
		err = nil
	}
	return there, from.Adopts && others == 0, err
}

// keep remembers the ID of what from calls there, if it is its own.
func (from ImportSource) keep(w *writer, there, id string, owned bool) error {
	if from.Key == "" || !owned {
		return nil
	}
	return w.exec(`INSERT OR REPLACE INTO state (key, value) VALUES (?, ?)`, from.key(there), id)
}

// ImportedAs returns the ID of the conversation that from calls there: that itself if from brought none.
func ImportedAs(db *DB, from ImportSource, there string) (id string, err error) {
	err = db.read(func(q querier) error {
		id, _, err = from.find(q, there)
		return err
	})
	return id, err
}

// ClaimImported says that from brought the conversations with these IDs.
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

// prompts sets how many prompts the history holds.
const prompts = 5000

// AddPrompt adds to the prompt history, unless p.Text is its last entry.
func (db *DB) AddPrompt(p SentPrompt) error {
	if p.At.IsZero() {
		p.At = db.now()
	}
	return db.write(func(w *writer) error {
		var last sql.NullString
		err := w.one(`SELECT text FROM prompts ORDER BY num DESC LIMIT 1`).Scan(&last)
		if err == nil && last.String == p.Text {
			return nil
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := w.exec(`INSERT INTO prompts (text, folder, at) VALUES (?, ?, ?)`, p.Text, p.Dir, nanos(p.At)); err != nil {
			return err
		}
		return w.exec(`DELETE FROM prompts WHERE num <= (SELECT max(num) FROM prompts) - ?`, prompts)
	})
}

// A pendingPrompt is a prompt on its way into the history.
type pendingPrompt struct {
	done chan struct{} // closed once err counts
	err  error
}

// wait returns the error of AddPrompt. A nil pendingPrompt has none.
func (p *pendingPrompt) wait() error {
	if p == nil {
		return nil
	}
	<-p.done
	return p.err
}

// AddPromptAsync adds to the prompt history without waiting for the disk: p stands behind all
// prompts of earlier calls, however the goroutines run. Wait returns the error;
// it need not be called. Prompts and Close wait for what was given before.
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

// Prompts returns the last prompts, newest last; with 0 all that are kept.
func (db *DB) Prompts(limit int) ([]SentPrompt, error) {
	_ = db.lastPrompt.Load().wait()
	if limit <= 0 {
		limit = prompts
	}
	var found []SentPrompt
	err := db.read(func(q querier) error {
		return each(q, func(rows *sql.Rows) error {
			var p SentPrompt
			var c columns // a damaged one is as good as it can be
			err := rows.Scan(textOf(&c, "text", &p.Text), textOf(&c, "folder", &p.Dir), timeOf(&c, "at", &p.At))
			found = append(found, p)
			return err
		}, `SELECT text, folder, at FROM prompts ORDER BY num DESC LIMIT ?`, limit)
	})
	slices.Reverse(found)
	return found, err
}

// SaveDraft keeps what stands in a composer; an empty draft deletes it.
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
			return w.exec(`DELETE FROM drafts WHERE key = ?`, key)
		}
		return w.exec(`INSERT OR REPLACE INTO drafts (key, text, cursor, parts, at) VALUES (?, ?, ?, ?, ?)`,
			key, d.Text, d.Cursor, string(parts), nanos(d.At))
	})
}

// Draft returns what SaveDraft kept, and whether there is anything.
func (db *DB) Draft(key string) (d Draft, ok bool, err error) {
	var c columns
	var parts string
	err = db.read(func(q querier) error {
		return q.one(`SELECT text, cursor, parts, at FROM drafts WHERE key = ?`, key).Scan(textOf(&c, "text", &d.Text),
			numberOf(&c, "cursor", &d.Cursor), textOf(&c, "parts", &parts), timeOf(&c, "at", &d.At))
	})
	if errors.Is(err, sql.ErrNoRows) {
		return Draft{}, false, nil
	}
	if err != nil {
		return Draft{}, false, err
	}
	d.Cursor = min(max(d.Cursor, 0), len(d.Text))
	var attached []llm.Part
	if attached, _, err = decodeParts(parts); err != nil {
		return d, true, &DamagedError{db.path, 1, err} // the text is whole
	}
	d.Parts = attached
	return d, true, nil
}

// comparisonsTable holds which of several answers users chose. The JSON of a row is a
// Comparison.
const comparisonsTable = `CREATE TABLE comparisons (num INTEGER PRIMARY KEY, at INTEGER, comparison TEXT NOT NULL);`

// A Comparison is which of several answers to the same prompt a user chose.
type Comparison struct {
	At      time.Time `json:"at"`
	Session string    `json:"session"`          // ID of the conversation
	Winner  string    `json:"winner"`           // provider/model
	Losers  []string  `json:"losers"`           // the others that answered
	Blind   bool      `json:"blind,omitempty"`  // the names were hidden until the choice
	Judge   string    `json:"judge,omitempty"`  // model that gave its verdict before; "": none
	Agreed  bool      `json:"agreed,omitempty"` // it preferred the same
}

// Comparisons are the choices of users among answers.
type Comparisons struct{ db *DB }

// Comparisons returns the choices of users among answers.
func (db *DB) Comparisons() Comparisons { return Comparisons{db} }

// Add keeps a choice, and gives it its time.
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

// List lists the choices from since on, until until; zero times are no bounds. Oldest
// first; a row that cannot be read is left out.
func (of Comparisons) List(since, until time.Time) (all []Comparison, err error) {
	err = of.db.read(func(q querier) error {
		all = nil
		return each(q, func(rows *sql.Rows) error {
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
