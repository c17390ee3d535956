package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"

	"parley/providers/llm"
)

// isCorrupt reports whether err says that the file is damaged.
func isCorrupt(err error) bool {
	var damaged *DamagedError
	c := code(err)
	return c == sqlite3.SQLITE_CORRUPT || c == sqlite3.SQLITE_NOTADB || errors.As(err, &damaged)
}

const sessionColumns = `s.num, s.id, s.title, s.named, s.folder, s.model, s.effort, s.history, s.pinned, s.origin, s.created, s.updated,
	s.head, s.messages, s.usage, s.preview, s.deleted, s.touched,
	l.owner, l.pid, l.start, l.boot, l.host, l.beat FROM sessions s LEFT JOIN leases l ON l.session = s.id `

// A sessionRow is a session with its number in the file and its position in lists.
type sessionRow struct {
	Session
	num, touched int64
}

// A sessionReader reads sessions in a transaction.
type sessionReader struct {
	db *DB
	Tx
}

// scan reads the columns of sessionColumns. A *rowError comes with a row without
// its damaged columns.
func (q sessionReader) scan(row interface{ Scan(...any) error }) (sessionRow, error) {
	var r sessionRow
	var c, leased columns // a damaged lease is stale
	var usage string
	var held lease
	err := row.Scan(slices.Concat(c.places("num id title named folder model effort history pinned origin created updated head messages usage preview deleted touched",
		&r.num, &r.ID, &r.Title, &r.Named, &r.Dir, &r.Model, (*string)(&r.Effort), (*string)(&r.History), &r.Pinned, &r.Origin, &r.Created, &r.Updated,
		&r.Head, &r.Messages, &usage, &r.Preview, &r.Deleted, &r.touched), held.places(&leased))...)
	if err != nil {
		return r, err
	}
	r.LockedBy = q.lockedBy(held)
	if err := decodeUsage(usage, &r.Usage); err != nil {
		c.addBad("usage", usage)
	}
	if r.Effort != "" && !slices.Contains(llm.Efforts, r.Effort) {
		c.addBad("effort", string(r.Effort))
		r.Effort = ""
	}
	if r.History != HistoryFull && r.History != HistoryDynamic && r.History != HistoryStateless {
		c.addBad("history", string(r.History))
		r.History = HistoryFull
	}
	if err := c.err(); err != nil {
		return r, &rowError{fmt.Errorf("session %s: %w", r.ID, err)}
	}
	return r, nil
}

// A rowError reports the damaged columns of a row; the others were read.
type rowError struct{ err error }

func (e *rowError) Error() string { return e.err.Error() }
func (e *rowError) Unwrap() error { return e.err }

// isPartial reports whether err came with a usable row.
func isPartial(err error) bool {
	var row *rowError
	return errors.As(err, &row)
}

// A damageReport counts unreadable rows.
type damageReport struct {
	rows int
	errs []error // the first ones
}

// maxReported is how many errors a damageReport lists.
const maxReported = 5

func (t *damageReport) add(err error) {
	if t.rows++; t.rows <= maxReported {
		t.errs = append(t.errs, err)
	}
}

// err returns a *DamagedError for the counted damage, and for err if that is about
// damage. It returns any other err, which ended reading, unchanged; nil if nothing was
// counted.
func (t *damageReport) err(db *DB, err error) error {
	if err != nil && !isCorrupt(err) || err == nil && t.rows == 0 {
		return err
	}
	return &DamagedError{db.path, t.rows, cmp.Or(err, t.summary())}
}

// summary returns the counted errors as one, on one line; nil if there are none.
func (t *damageReport) summary() error {
	var words []string
	for _, err := range t.errs {
		words = append(words, err.Error())
	}
	if more := t.rows - len(t.errs); more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	if len(words) == 0 {
		return nil
	}
	return errors.New(strings.Join(words, "; "))
}

// sessions reads the sessions that match where, in an order of places. Rows that cannot be decoded are left out; if
// the file is damaged in the middle, the rest is read from the end.
func (q sessionReader) sessions(order func(a, b place) int, where string, args ...any) ([]Session, error) {
	if found, err := q.joined(order, where+` ORDER BY s.num`, args...); err == nil {
		return found, nil
	}
	rows, err := q.checked(where, args...)
	sortRows(rows, order)
	found := make([]Session, len(rows))
	for i, r := range rows {
		found[i] = r.Session
	}
	return found, err
}

// checked reads sessions column by column, and reports damage.
func (q sessionReader) checked(where string, args ...any) ([]*sessionRow, error) {
	var found []*sessionRow
	var damage damageReport
	seen := map[int64]bool{}
	pass := func(order string) error {
		return EachRow(q, func(rows *sql.Rows) error {
			row, err := q.scan(rows)
			if err != nil && !isPartial(err) || err != nil && !seen[row.num] {
				damage.add(err)
			}
			if err != nil && !isPartial(err) || seen[row.num] {
				return nil
			}
			seen[row.num] = true
			found = append(found, &row)
			return nil
		}, `SELECT `+sessionColumns+where+order, args...)
	}
	err := pass(` ORDER BY s.num`)
	if err != nil && isCorrupt(err) {
		_ = pass(` ORDER BY s.num DESC`)
	}
	return found, damage.err(q.db, err)
}

// place returns the position of r in lists.
func (r *sessionRow) place() place {
	p := place{num: r.num, touched: r.touched, updated: math.MinInt64, pinned: r.Pinned}
	if !r.Updated.IsZero() {
		p.updated = max(r.Updated.UnixNano(), math.MinInt64+1) // MinInt64 stands for no time
	}
	return p
}

func sortRows(rows []*sessionRow, order func(a, b place) int) {
	slices.SortFunc(rows, func(a, b *sessionRow) int { return order(a.place(), b.place()) })
}

// filter returns q as a condition on sessions s, without its words and model.
func (q Query) filter() (where string, args []any) {
	where = `s.deleted IS NULL`
	if q.Deleted {
		where = `s.deleted IS NOT NULL`
	}
	if folder := strings.TrimRight(q.Dir, `/\`); q.Dir != "" {
		where += ` AND (s.folder IN (?, ?) OR substr(s.folder, 1, length(?) + 1) IN (? || '/', ? || '\'))`
		args = append(args, q.Dir, cmp.Or(folder, q.Dir), folder, folder, folder)
	}
	if !q.Since.IsZero() {
		where, args = where+` AND s.updated >= ?`, append(args, nanos(q.Since))
	}
	if !q.Until.IsZero() {
		where, args = where+` AND s.updated < ?`, append(args, nanos(q.Until))
	}
	return where, args
}

// limit returns Limit, or usual if that is 0, or MaxInt if it is negative.
func (q Query) limit(usual int) int {
	switch {
	case q.Limit < 0:
		return math.MaxInt
	case q.Limit == 0:
		return usual
	}
	return q.Limit
}

// List returns the sessions that match q, pinned ones first, then the most recently written
// ones. A *DamagedError comes with the readable ones.
func (db *DB) List(q Query) ([]Session, error) {
	where, args := selection(db, q)
	if where == "" {
		return nil, nil
	}
	limit := q.limit(math.MaxInt)
	var list []Session
	err := db.View(func(r Tx) (err error) {
		list, err = sessionReader{db, r}.sessions(place.compare, firstOf(where, limit), args...)
		if err != nil {
			list, err = sessionReader{db, r}.sessions(place.compare, where, args...) // damage may have hidden sessions, or changed the order
		}
		return err
	})
	return list[:min(len(list), limit)], err
}

// Count returns how many sessions match q without its Limit, including unreadable ones.
func (db *DB) Count(q Query) (n int, err error) {
	where, args := selection(db, q)
	if where == "" {
		return 0, nil
	}
	err = db.View(func(r Tx) (err error) {
		if q.isPlain() {
			n, err = countListed(r)
			return err
		}
		return r.QueryRow(`SELECT count(*) FROM sessions s `+where, args...).Scan(&n)
	})
	return n, err
}

// selection returns q as SQL, without its Limit; "" if it matches nothing.
func selection(db *DB, q Query) (where string, args []any) {
	where, args = q.filter()
	where = `WHERE ` + where
	if q.Model != "" {
		where, args = where+` AND instr(lower(s.model), lower(?))`, append(args, q.Model)
	}
	if match := parseQuery(q.Words).match(); match != "" {
		db.indexOwed(context.Background(), 0)
		where += ` AND (-s.num IN (SELECT rowid FROM words WHERE words MATCH ? AND rowid < 0)
			OR s.num IN (SELECT n.session FROM words w CROSS JOIN nodes n ON n.num = w.rowid WHERE words MATCH ?))`
		args = append(args, match, match)
		_ = db.View(func(r Tx) error {
			if hasForks(r) {
				where = strings.TrimSuffix(where, `)`) + ` OR s.num IN (SELECT f.session FROM words w CROSS JOIN nodes n ON n.num = w.rowid
					CROSS JOIN forks f ON f.origin = n.session AND n.seq <= f.upto WHERE words MATCH ?))`
				args = append(args, match)
			}
			return nil
		})
	} else if strings.TrimSpace(q.Words) != "" {
		return "", nil // only punctuation, which is not indexed
	}
	return where, args
}

// listOrder is place.compare as SQL.
const listOrder = ` ORDER BY s.pinned DESC, s.touched DESC, s.updated DESC, s.num DESC`

// Find returns the session with the ID word; else the only one whose ID begins with it;
// else those whose title contains all its words; else all whose ID begins with it. The
// most recently written come first.
func (db *DB) Find(word string) (found []Session, err error) {
	if word == "" {
		return nil, nil
	}
	err = db.View(func(q Tx) (err error) {
		pick := func(where string, args ...any) ([]Session, error) {
			return sessionReader{db, q}.sessions(place.compareFound, where, args...)
		}
		if found, err = pick(`WHERE s.id = ?`, word); len(found) > 0 || err != nil && !isCorrupt(err) {
			return err
		}
		first := strings.ToLower(word)
		if found, err = pick(`WHERE s.deleted IS NULL AND s.id >= ? AND s.id < ?`, first, first+"\U0010FFFF"); len(found) == 1 || err != nil && !isCorrupt(err) {
			return err
		}
		nums, err := numsNamed(q, word)
		if err != nil || nums == "[]" {
			return err
		}
		found, err = pick(`WHERE s.num IN (SELECT value FROM json_each(?))`, nums)
		return err
	})
	return found, err
}

// numsNamed returns as JSON the nums of sessions whose title contains all words of text, or whose ID is
// text: in a damaged file the ID may be a blob.
func numsNamed(q Tx, text string) (string, error) {
	words, nums := strings.Fields(folded(text)), []int64{}
	err := EachRow(q, func(rows *sql.Rows) error {
		var num int64
		var id, title string
		var c columns
		err := rows.Scan(c.places("num id title", &num, &id, &title)...)
		if id == text || holdsAll(title, words) {
			nums = append(nums, num)
		}
		return err
	}, `SELECT num, id, title FROM sessions WHERE deleted IS NULL`)
	list, _ := json.Marshal(nums) // numbers cannot fail
	return string(list), err
}

// Read returns a session and its messages without opening it. A *DamagedError comes with the
// readable data: a message that cannot be decoded is a node without parts. The error is
// ErrNotFound if there is no such session.
func (db *DB) Read(id string) (Session, []Node, error) {
	s, c, _, err := db.load(id, false)
	return s, c.nodes, err
}

// row reads the session with an ID, which in a damaged file may be a blob.
func (q sessionReader) row(id string) (sessionRow, error) {
	row, err := q.scan(q.QueryRow(`SELECT `+sessionColumns+`WHERE s.id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		row, err = q.scan(q.QueryRow(`SELECT `+sessionColumns+`WHERE CAST(s.id AS TEXT) = ?`, id))
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	return row, err
}

// findSeq returns the index of the message seq in nodes, sorted by Seq, or its insertion point.
func findSeq(nodes []Node, seq int) (i int, found bool) {
	return slices.BinarySearchFunc(nodes, seq, func(n Node, seq int) int { return cmp.Compare(n.Seq, seq) })
}

// load reads a session and its position in lists. With paged, the messages of a long,
// undamaged session stay on disk.
func (db *DB) load(id string, paged bool) (s Session, c storedContent, touched int64, err error) {
	err = db.View(func(q Tx) error {
		row, err := sessionReader{db, q}.row(id)
		var damage damageReport
		if err != nil {
			if !isPartial(err) {
				return err
			}
			damage.add(err)
		}
		s, touched = row.Session, row.touched
		if paged && s.Messages >= minPaged && damage.rows == 0 && isDense(q, row) {
			c = storedContent{older: s.Messages, annotations: annotations(q, row.num, &damage)}
			return damage.err(db, nil)
		}
		var lack int
		nodes, err := readNodes(q, row.num, &damage, `nodes`)
		if err == nil || isCorrupt(err) {
			lack = s.Messages - len(nodes)
		}
		if lack > 0 { // the index may be damaged: read the table without it
			var again damageReport
			if more, err := readNodes(q, row.num, &again, `nodes NOT INDEXED`); len(more) > len(nodes) {
				nodes, damage = more, again
				damage.add(cmp.Or(err, errors.New("the order of messages is damaged")))
			} else {
				damage.add(fmt.Errorf("missing messages: %d", lack))
			}
		}
		if _, found := findSeq(nodes, s.Head); s.Head != 0 && !found && len(nodes) > 0 {
			damage.add(fmt.Errorf("no message %d to continue from: continuing from the last one", s.Head))
			s.Head = nodes[len(nodes)-1].Seq
		}
		c = storedContent{nodes: nodes, annotations: annotations(q, row.num, &damage)}
		return damage.err(db, err)
	})
	return s, c, touched, err
}
