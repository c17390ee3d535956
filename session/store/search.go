package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"parley/providers/llm"
)

// maxIndexed is how many bytes of a message are indexed. Longer texts are output of
// programs, and indexing them would lock the file for seconds.
const maxIndexed = 1 << 20

func indexNode(w *writer, num int64, n Node) error {
	var b strings.Builder
	for piece := range searchableTexts(n.Parts) {
		if b.Len()+len(piece) > maxIndexed {
			piece = piece[:max(maxIndexed-b.Len(), 0)]
		}
		b.WriteString(piece)
		b.WriteByte('\n')
	}
	return w.Exec(`INSERT OR REPLACE INTO words (rowid, text) VALUES (?, ?)`, num, spaceOut(b.String()))
}

// searchableTexts returns the texts of a message that are indexed.
func searchableTexts(parts []llm.Part) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, p := range parts {
			for _, text := range []string{p.Text, p.Name, argumentValues(p.Input), p.URL} {
				if text != "" && !yield(text) {
					return
				}
			}
		}
	}
}

// argumentValues returns the values in a call's arguments, separated by spaces, without JSON's
// escapes, which would become part of words. Input that is not JSON is returned unchanged.
func argumentValues(input string) string {
	if len(input) > maxIndexed || !strings.Contains(input, `\`) {
		return input
	}
	var b strings.Builder
	d := json.NewDecoder(strings.NewReader(input))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err != nil {
			break
		}
		switch t := t.(type) {
		case string:
			b.WriteString(t + " ")
		case json.Number:
			b.WriteString(t.String() + " ")
		}
	}
	if d.InputOffset() < int64(len(strings.TrimSpace(input))) {
		return input // not JSON
	}
	return b.String()
}

// indexedAtOnce is how many messages a transaction adds to the index: few, so that others can write in
// between, but not so few that merging the pieces of the index takes longer than adding to it.
const indexedAtOnce = 500

// IndexOwed adds to the index what is not in it yet: all messages since the last answer, of imports and of
// forks, and titles. Search does so first. It ends early after an error, and between two transactions when ctx
// is done; what is left stays marked in the file. It leaves half of the time to other writers.
func (db *DB) IndexOwed(ctx context.Context) { db.indexOwed(ctx, 1) }

// indexOwed is IndexOwed, where each pause is as long as the transaction before it, times pauses.
func (db *DB) indexOwed(ctx context.Context, pauses time.Duration) {
	var owed int
	err := db.value(&owed, `SELECT count(*) FROM (SELECT 1 FROM nodes WHERE indexed = 0 LIMIT 1)`)
	for last := int64(0); err == nil && owed > 0 && ctx.Err() == nil; {
		began := time.Now()
		err = db.write(func(w *writer) (err error) {
			last, owed, err = w.indexOwed(last, indexedAtOnce)
			return err
		})
		if owed == indexedAtOnce {
			time.Sleep(pauses * time.Since(began))
		}
	}
}

// indexOwed indexes up to most messages with a num above after, and the titles of conversations that
// begin with them. It returns the last num and the number of messages.
func (w *writer) indexOwed(after int64, most int) (last int64, n int, err error) {
	type row struct {
		num, session int64
		title        string
		Node
	}
	var owed []row
	err = EachRow(w, func(rows *sql.Rows) error {
		var r row
		var parts string
		if rows.Scan(&r.num, &r.session, &r.title, &parts) == nil {
			r.Parts, _, _ = decodeParts(parts) // a damaged message has no words
			owed, last = append(owed, r), r.num
		}
		return nil
	}, `SELECT n.num, ifnull(s.num, 0), ifnull(s.title, ''), n.parts FROM nodes n LEFT JOIN sessions s ON n.parent = 0 AND s.num = n.session
		WHERE n.indexed = 0 AND n.num > ? ORDER BY n.num LIMIT ?`, after, most)
	if err == nil && len(owed) > 0 {
		err = w.Exec(`UPDATE nodes SET indexed = 1 WHERE indexed = 0 AND num > ? AND num <= ?`, after, last)
	}
	for _, r := range owed {
		if r.session != 0 {
			err = cmp.Or(err, indexTitle(w, r.session, r.title))
		}
		err = cmp.Or(err, indexNode(w, r.num, r.Node))
	}
	return last, len(owed), err
}

// reindex creates an empty index with the titles. IndexOwed adds the messages.
func (db *DB) reindex() error {
	return db.write(func(w *writer) error {
		if err := w.script(`DROP TABLE words;` + wordsTable + `UPDATE nodes SET indexed = 0;`); err != nil {
			return err
		}
		titles := map[int64]string{}
		err := EachRow(w, func(rows *sql.Rows) error {
			var num int64
			var title string
			if rows.Scan(&num, &title) == nil {
				titles[num] = title
			}
			return nil
		}, `SELECT num, title FROM sessions`)
		if err != nil {
			return err
		}
		for num, title := range titles {
			if err := indexTitle(w, num, title); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxHits is how many messages a search returns by default.
const maxHits = 1000

// maxRecent is how many messages, and how many titles, a search with Query.Recent examines.
const maxRecent = 2000

// Search returns the messages that contain all words of q, best first, ranked by bm25 and recency, from
// Skip up to the limit. Total is the number of all matches, or with Query.Recent of those among the
// examined messages. A Hit with Seq 0 is a title. A damaged index is rebuilt. A *DamagedError comes with
// the readable hits; damage elsewhere is not reported.
func (db *DB) Search(q Query) (hits []Hit, total int, err error) {
	words := parseQuery(q.Words)
	if len(words) == 0 {
		return nil, 0, nil
	}
	db.indexOwed(context.Background(), 0)
	hits, total, err = db.search(q, words)
	if isCorrupt(err) && len(hits) == 0 && db.reindex() == nil {
		db.indexOwed(context.Background(), 0)
		hits, total, err = db.search(q, words)
	}
	return hits, total, err
}

// A candidate is a matching row of the index.
type candidate struct {
	session, num int64   // num is that of a node, or negative for a title
	score        float64 // lower is better
}

func (db *DB) search(q Query, words terms) (hits []Hit, total int, err error) {
	var damage damageReport
	err = db.View(func(r Tx) error {
		found, err := candidates(r, q, words)
		if err != nil {
			return err
		}
		total = len(found)
		found = found[min(q.Skip, total):]
		sessions := map[int64]Session{}
		for _, c := range found[:min(q.limit(maxHits), len(found))] {
			s, ok := sessions[c.session]
			if !ok {
				row, err := sessionReader{db, r}.scan(r.QueryRow(`SELECT `+sessionColumns+`WHERE s.num = ?`, c.session))
				if err != nil {
					if !isPartial(err) {
						return err
					}
					damage.add(err)
				}
				s = row.Session
				sessions[c.session] = s
			}
			hit, err := hitOf(r, c.num, s, words)
			if err != nil {
				if !isPartial(err) {
					return err
				}
				damage.add(err)
			}
			hits = append(hits, hit)
		}
		return damage.err(db, nil)
	})
	return hits, total, err
}

// candidateSources are the tables of messages, of titles, and of messages that forks have of others, each with its join, the model column, and
// the order that puts the last stored first.
var candidateSources = [...]struct{ join, model, latest string }{
	{`CROSS JOIN nodes n ON n.num = words.rowid CROSS JOIN sessions s ON s.num = n.session
		WHERE words MATCH ? AND words.rowid > 0 AND `, `iif(n.model = '', s.model, n.model)`, `words.rowid DESC`},
	{`CROSS JOIN sessions s ON s.num = -words.rowid WHERE words MATCH ? AND words.rowid < 0 AND `, `s.model`, `words.rowid`},
	{`CROSS JOIN nodes n ON n.num = words.rowid CROSS JOIN forks f ON f.origin = n.session AND n.seq <= f.upto CROSS JOIN sessions s ON s.num = f.session
		WHERE words MATCH ? AND words.rowid > 0 AND `, `iif(n.model = '', s.model, n.model)`, `words.rowid DESC`},
}

// candidates returns all matches of q, best first.
func candidates(r Tx, q Query, words terms) (found []candidate, err error) {
	where, more := q.filter()
	for i, source := range candidateSources {
		if i == 2 && !hasForks(r) {
			break
		}
		query := `SELECT s.num, words.rowid, bm25(words) FROM words ` + source.join + where
		args := append([]any{words.match()}, more...)
		if q.Model != "" {
			query, args = query+` AND instr(lower(`+source.model+`), lower(?))`, append(args, q.Model)
		}
		if q.Recent {
			query += ` ORDER BY ` + source.latest + ` LIMIT ` + strconv.Itoa(maxRecent)
		}
		err := EachRow(r, func(rows *sql.Rows) error {
			var c candidate
			if rows.Scan(&c.session, &c.num, &c.score) == nil {
				found = append(found, c)
			}
			return nil
		}, query, args...)
		if err != nil {
			return nil, err
		}
	}
	rank(found)
	return found, nil
}

// rank sorts candidates, best first, and equal ones by the last stored first. The last message counts
// 1.5 times as much as the first.
func rank(found []candidate) {
	var last int64 = 1
	for _, c := range found {
		last = max(last, c.num)
	}
	for i := range found {
		found[i].score *= 1 + 0.5*float64(max(found[i].num, 0))/float64(last)
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := &found[i], &found[j]
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(max(b.num, -b.num), max(a.num, -a.num)), cmp.Compare(b.num, a.num), cmp.Compare(b.session, a.session)) < 0
	})
}

// hitOf returns the hit of a message, or of a title if num is negative.
func hitOf(r Tx, num int64, s Session, words terms) (Hit, error) {
	h := Hit{Session: s, At: s.Updated}
	if num < 0 {
		h.Snippet, h.Marks = snippet([]string{s.Title}, words)
		return h, nil
	}
	var c columns
	var text string
	err := r.QueryRow(`SELECT seq, role, model, at, parts FROM nodes WHERE num = ?`, num).Scan(
		c.places("seq role model at parts", &h.Seq, (*string)(&h.Role), &h.Model, &h.At, &text)...)
	if err != nil {
		return h, err
	}
	if parts, _, err := decodeParts(text); err == nil {
		h.Snippet, h.Marks = snippet(slices.Collect(searchableTexts(parts)), words)
	}
	if err := c.err(); err != nil {
		return h, &rowError{fmt.Errorf("session %s, message %d: %w", s.ID, h.Seq, err)}
	}
	return h, nil
}

// holdsAll reports whether a title contains all of words, which are folded; false if there are none.
func holdsAll(title string, words []string) bool {
	if len(words) == 0 {
		return false
	}
	title = folded(title)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(title, w) })
}

// ShortIDs returns by ID the shortest prefixes, of at least least bytes, that are unique
// for Find. Sessions that do not exist, or were deleted, are left out.
func (db *DB) ShortIDs(least int, ids ...string) (map[string]string, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	short := make(map[string]string, len(ids))
	err = db.View(func(q Tx) error {
		return EachRow(q, func(rows *sql.Rows) error {
			var id, before, after string // an ID and its neighbors in order
			if err := rows.Scan(&id, &before, &after); err != nil {
				return err
			}
			size := max(least, 1+commonPrefix(id, before), 1+commonPrefix(id, after))
			short[id] = id[:min(size, len(id))]
			return nil
		}, `SELECT s.id, coalesce((SELECT max(o.id) FROM sessions o WHERE o.id < s.id), ''), coalesce((SELECT min(o.id) FROM sessions o WHERE o.id > s.id), '')
			FROM sessions s WHERE s.deleted IS NULL AND s.id IN (SELECT value FROM json_each(?))`, string(list))
	})
	return short, err
}

// commonPrefix returns the length of the common prefix of a and b in bytes.
func commonPrefix(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Latest returns the last updated session that began in folder and was not imported. The error
// is ErrNotFound if there is none.
func (db *DB) Latest(folder string) (Session, error) {
	var found []Session
	err := db.View(func(q Tx) (err error) {
		found, err = sessionReader{db, q}.joined(nil, `WHERE s.num = (SELECT s.num FROM sessions s WHERE s.deleted IS NULL AND s.folder = ?
			AND (s.origin = '' OR substr(s.origin, 1, 5) = 'fork ') ORDER BY s.updated DESC, s.pinned DESC, s.touched DESC, s.num DESC LIMIT 1)`, folder)
		return err
	})
	if err == nil && len(found) > 0 {
		return found[0], nil
	}
	found, err = db.List(Query{Dir: folder, Limit: -1}) // damage may have hidden it
	found = slices.DeleteFunc(found, func(s Session) bool {
		return s.Dir != folder || s.Origin != "" && !strings.HasPrefix(s.Origin, "fork ")
	})
	switch {
	case len(found) > 0:
		return slices.MaxFunc(found, func(a, b Session) int { return a.Updated.Compare(b.Updated) }), nil
	case err != nil:
		return Session{}, err
	}
	return Session{}, fmt.Errorf("%w in %s", ErrNotFound, folder)
}
