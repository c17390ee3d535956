package store

import (
	"database/sql"
	"errors"
	"slices"
	"time"

	"parley/providers/llm"
)

// DailyUsage sums up what was used from since to until (zero: without bound), by day,
// model and, if asked for, session. Sessions that were removed count.
func (db *DB) DailyUsage(since, until time.Time, bySession bool) ([]DailyUsage, error) {
	where, args := `WHERE 1`, []any{bySession}
	if !since.IsZero() {
		where, args = where+` AND at >= ?`, append(args, nanos(since))
	}
	if !until.IsZero() {
		where, args = where+` AND at < ?`, append(args, nanos(until))
	}
	var spent []DailyUsage
	err := db.read(func(q querier) error {
		return each(q, func(rows *sql.Rows) error {
			var s DailyUsage
			u := &s.Usage
			var in, read, write, out, thinking float64 // whatever a damaged row holds, they add up
			err := rows.Scan(&s.Day, &s.Model, &s.Session, &s.Answers, &s.Unpriced, &in, &read, &write, &out, &thinking, &u.Cost)
			u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Thinking = count(in), count(read), count(write), count(out), count(thinking)
			u.Priced = s.Unpriced == 0
			spent = append(spent, s)
			return err
		}, `SELECT day, model, iif(?1, session, '') AS one, count(*), sum(NOT priced), total(input), total(cache_read),
			total(cache_write), total(output), total(thinking), total(iif(priced, cost, 0.0)) FROM usage `+where+`
			GROUP BY day, model, one ORDER BY day, model, one`, args...)
	})
	return spent, err
}

// count returns a sum of tokens, which in a damaged file may be anything.
func count(sum float64) int { return int(min(max(sum, 0), 1<<53)) }

// AddUsage counts requests that belong to no conversation as spending, at this time. What they
// were for, such as "embed", stands in the place of a session.
func (db *DB) AddUsage(purpose, model string, requests ...llm.Usage) error {
	if len(requests) == 0 {
		return nil
	}
	return db.write(func(w *writer) error {
		var seq int
		if err := w.one(`SELECT coalesce(max(seq), 0) FROM usage WHERE session = ?`, purpose).Scan(&seq); err != nil {
			return err
		}
		for i, u := range requests {
			n := Node{Seq: seq + 1 + i, At: db.now(), Usage: &u, Message: llm.Message{Model: model}}
			if err := account(w, purpose, n); err != nil {
				return err
			}
		}
		return nil
	})
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
	var parts []byte
	err = db.read(func(q querier) error {
		return q.one(`SELECT text, cursor, parts, at FROM drafts WHERE key = ?`, key).Scan(textOf(&c, "text", &d.Text),
			numberOf(&c, "cursor", &d.Cursor), bytesOf(&c, "parts", &parts), timeOf(&c, "at", &d.At))
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
