package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/providers/llm"
)

// listIndexes make the first sessions of a list, and the last one of a folder, cost the same
// among however many.
const listIndexes = `CREATE INDEX sessions_listed ON sessions (pinned, touched, updated) WHERE deleted IS NULL;
CREATE INDEX sessions_folder ON sessions (folder, updated) WHERE deleted IS NULL;`

// What stands between the rows, and between the columns, of a text that SQLite joins.
const (
	rowEnd    = "\x1e"
	columnEnd = "\x1f"
)

// joinedSession is the text of a session s: its columns in the order of parseSession.
const joinedSession = `concat_ws(char(31), s.num, s.id, s.title, s.named, s.folder, s.model, s.effort, s.history, s.pinned, s.origin,
	ifnull(s.created, ''), ifnull(s.updated, ''), s.head, s.messages, s.usage, s.preview, ifnull(s.deleted, ''), s.touched)`

// joinedColumns counts the columns of joinedSession.
const joinedColumns = 18

// joinedRows is how many rows are read as one text.
const joinedRows = 2000

// errUnusual ends a reading of joined rows: what is there is to be looked at column by column.
var errUnusual = errors.New("not as it is written")

// eachJoined calls f with the text of each session that a query chooses, in the order of num.
// SQLite joins the texts: to read rows one by one costs five times as much. A text that holds
// what stands between rows or columns is errUnusual.
func eachJoined(q querier, text string, columns int, f func(string) error, where string, args ...any) error {
	for last := int64(0); ; {
		var all string
		var n int
		next := last
		err := q.one(`SELECT ifnull(group_concat(t, char(30)), ''), count(*), ifnull(max(num), 0) FROM
			(SELECT s.num AS num, `+text+` AS t FROM sessions s `+where+` AND s.num > ? ORDER BY s.num LIMIT ?)`,
			append(slices.Clone(args), last, joinedRows)...).Scan(&all, &n, &next)
		if err != nil || n == 0 {
			return err
		}
		if strings.Count(all, rowEnd) != n-1 || strings.Count(all, columnEnd) != n*(columns-1) {
			return errUnusual
		}
		for row := range strings.SplitSeq(all, rowEnd) {
			if err := f(row); err != nil {
				return err
			}
		}
		if n < joinedRows {
			return nil
		}
		last = next
	}
}

// joinedSessions reads what sessions does, unsorted. What is damaged, or not of its type, is
// errUnusual or an error of SQLite's: sessions reads and tells that.
func joinedSessions(db *DB, q querier, where string, args ...any) (found []*sessionRow, err error) {
	held, err := leases(q)
	if err != nil {
		return nil, err
	}
	err = eachJoined(q, joinedSession, joinedColumns, func(text string) error {
		r, ok := parseSession(text)
		if !ok {
			return errUnusual
		}
		if l, ok := held[r.ID]; ok {
			r.LockedBy = lockedBy(db, l)
		}
		found = append(found, r)
		return nil
	}, where, args...)
	return found, err
}

// leases reads who has which session open.
func leases(q querier) (map[string]lease, error) {
	held := map[string]lease{}
	err := each(q, func(rows *sql.Rows) error {
		var id string
		var l lease
		var c columns // a damaged lease is one that is stale
		err := rows.Scan(textOf(&c, "session", &id), textOf(&c, "owner", &l.owner), numberOf(&c, "pid", &l.pid), textOf(&c, "start", &l.start),
			textOf(&c, "boot", &l.boot), textOf(&c, "host", &l.host), timeOf(&c, "beat", &l.heartbeat))
		held[id] = l
		return err
	}, `SELECT session, owner, pid, start, boot, host, beat FROM leases`)
	return held, err
}

// lockedBy returns who else has a session open, in words for a user; "" if nobody has.
func lockedBy(db *DB, l lease) string {
	if l.owner == "" || l.process == db.process || l.isStale(db.process, db.now()) {
		return ""
	}
	return l.describe(db.process)
}

// parseSession reads the text of joinedSession; false for one that is not as it is written.
func parseSession(text string) (r *sessionRow, ok bool) {
	r, ok = &sessionRow{}, true
	next := func() (column string) {
		column, text, _ = strings.Cut(text, columnEnd)
		return column
	}
	number := func() int64 {
		n, err := strconv.ParseInt(next(), 10, 64)
		ok = ok && err == nil
		return n
	}
	flag := func() bool {
		n := number()
		ok = ok && (n == 0 || n == 1)
		return n == 1
	}
	at := func() time.Time {
		if strings.HasPrefix(text, columnEnd) {
			next()
			return time.Time{}
		}
		return time.Unix(0, number())
	}
	r.num, r.ID, r.Title, r.Named, r.Dir, r.Model = number(), next(), next(), flag(), next(), next()
	r.Effort, r.History, r.Pinned, r.Origin = llm.Effort(next()), HistoryMode(next()), flag(), next()
	r.Created, r.Updated, r.Head, r.Messages = at(), at(), int(number()), int(number())
	usage := next()
	r.Preview, r.Deleted, r.touched = next(), at(), number()
	known := (r.Effort == "" || slices.Contains(llm.Efforts, r.Effort)) &&
		(r.History == HistoryFull || r.History == HistoryDynamic || r.History == HistoryStateless)
	return r, ok && known && decodeUsage(usage, &r.Usage) == nil
}

func readUsage(r *jsonReader, u *llm.Usage) {
	r.object(func() {
		readInt(r, "input", &u.Input)
		readInt(r, "cache_read", &u.CacheRead)
		readInt(r, "cache_write", &u.CacheWrite)
		readInt(r, "output", &u.Output)
		readInt(r, "thinking", &u.Thinking)
		if r.field("cost") {
			u.Cost = r.float()
		}
		readFlag(r, "priced", &u.Priced)
		readFlag(r, "shared", &u.Shared)
		readInt(r, "discarded", &u.Discarded)
		readInt(r, "searches", &u.Searches)
		readFlag(r, "estimated", &u.Estimated)
	})
}

// decodeUsage reads a usage; after an error u is zero.
func decodeUsage(text string, u *llm.Usage) error {
	*u = llm.Usage{}
	r := newJSONReader(text)
	if readUsage(r, u); r.isOver() {
		return nil
	}
	*u = llm.Usage{}
	err := json.Unmarshal([]byte(text), u)
	if err != nil {
		*u = llm.Usage{}
	}
	return err
}

// named returns what Find does, with the work left to SQLite; false where nothing was found,
// or something is unusual.
func named(db *DB, q querier, word string) ([]*sessionRow, bool) {
	rows, err := joinedSessions(db, q, `WHERE s.id = ?`, word)
	if err != nil || len(rows) > 0 {
		return rows, err == nil
	}
	begun, err := joinedSessions(db, q, idsFrom, prefixRange(word)...)
	if err != nil || len(begun) == 1 {
		return begun, err == nil
	}
	words := strings.Fields(folded(word))
	titled := map[string]bool{} // nums
	err = eachJoined(q, `s.num || char(31) || s.title`, 2, func(text string) error {
		num, title, _ := strings.Cut(text, columnEnd)
		if holdsAll(title, words) {
			titled[num] = true
		}
		return nil
	}, `WHERE s.deleted IS NULL`)
	if err != nil || len(titled) == 0 {
		return begun, err == nil && len(begun) > 0
	}
	nums := "[" + strings.Join(slices.Collect(maps.Keys(titled)), ",") + "]"
	rows, err = joinedSessions(db, q, `WHERE s.num IN (SELECT value FROM json_each(?))`, nums)
	return rows, err == nil && len(rows) > 0
}

// holdsAll reports whether a title holds all of words, which are folded; false without any.
func holdsAll(title string, words []string) bool {
	if len(words) == 0 {
		return false
	}
	title = folded(title)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(title, w) })
}

// idsFrom chooses sessions whose ID begins with a word, by the index of IDs: its arguments are
// those of prefixRange.
const idsFrom = `WHERE s.deleted IS NULL AND s.id >= ? AND s.id < ?`

// prefixRange returns where IDs begin and end that begin with word.
func prefixRange(word string) []any {
	word = strings.ToLower(word)
	return []any{word, word + "\U0010FFFF"}
}

// ShortIDs returns the beginnings of the IDs of sessions by which Find knows them from all others of the
// store, each of least bytes or more, by the IDs; none for a session that is not there, or was deleted.
func (db *DB) ShortIDs(least int, ids ...string) (map[string]string, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	short := make(map[string]string, len(ids))
	err = db.read(func(q querier) error {
		return each(q, func(rows *sql.Rows) error {
			var id, before, after string // its neighbors in the order of IDs
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

// commonPrefix returns how many bytes at the beginning are the same.
func commonPrefix(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Latest returns the session that was begun in folder, by parley itself and not imported, and
// in which something was said last; ErrNotFound if there is none.
func (db *DB) Latest(folder string) (Session, error) {
	var rows []*sessionRow
	err := db.read(func(q querier) (err error) {
		rows, err = joinedSessions(db, q, `WHERE s.num = (SELECT s.num FROM sessions s WHERE s.deleted IS NULL AND s.folder = ?
			AND (s.origin = '' OR substr(s.origin, 1, 5) = 'fork ') ORDER BY s.updated DESC, s.pinned DESC, s.touched DESC, s.num DESC LIMIT 1)`, folder)
		return err
	})
	if err == nil && len(rows) > 0 {
		return rows[0].Session, nil
	}
	found, err := db.List(Query{Dir: folder, Limit: -1}) // damage may have hidden it
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
