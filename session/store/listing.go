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

// listIndexes make it as fast to read the first sessions of a list, and the last one of a
// directory, however many sessions there are.
const listIndexes = `CREATE INDEX sessions_listed ON sessions (pinned, touched, updated) WHERE deleted IS NULL;
CREATE INDEX sessions_folder ON sessions (folder, updated) WHERE deleted IS NULL;`

// Separators of rows and columns in a text that SQLite joins.
const (
	rowEnd    = "\x1e"
	columnEnd = "\x1f"
)

// joinedSession is the SQL of a session s as text: its columns in the order of parseSession.
const joinedSession = `concat_ws(char(31), s.num, s.id, s.title, s.named, s.folder, s.model, s.effort, s.history, s.pinned, s.origin,
	ifnull(s.created, ''), ifnull(s.updated, ''), s.head, s.messages, s.usage, s.preview, ifnull(s.deleted, ''), s.touched)`

// joinedColumns is the number of columns of joinedSession.
const joinedColumns = 18

// joinedRows is how many rows are read as one text.
const joinedRows = 2000

// errUnusual reports that rows cannot be read joined, but have to be column by column.
var errUnusual = errors.New("unusual row")

// eachJoined calls f with the text of each session that where selects, in the order of num.
// SQLite joins the texts, as reading row by row takes five times as long. If a text contains
// a separator, the error is errUnusual.
func eachJoined(q querier, text string, columns int, f func(string) error, where string, args ...any) error {
	for last := int64(0); ; {
		var all string
		var n int
		next := last
		err := q.queryRow(`SELECT ifnull(group_concat(t, char(30)), ''), count(*), ifnull(max(num), 0) FROM
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

// joinedSessions is the fast form of checkedSessions, unsorted. If anything is damaged or of
// another type, it returns errUnusual or an error of SQLite.
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

// leases reads all leases, by the ID of the session.
func leases(q querier) (map[string]lease, error) {
	held := map[string]lease{}
	err := eachRow(q, func(rows *sql.Rows) error {
		var id string
		var l lease
		var c columns // a damaged lease is stale
		err := rows.Scan(textOf(&c, "session", &id), textOf(&c, "owner", &l.owner), numberOf(&c, "pid", &l.PID), textOf(&c, "start", &l.Start),
			textOf(&c, "boot", &l.Boot), textOf(&c, "host", &l.Host), timeOf(&c, "beat", &l.heartbeat))
		held[id] = l
		return err
	}, `SELECT session, owner, pid, start, boot, host, beat FROM leases`)
	return held, err
}

// lockedBy returns a description of the other process that holds l, "" if none does.
func lockedBy(db *DB, l lease) string {
	if l.owner == "" || l.Process == db.process || l.isStale(db.process, db.now()) {
		return ""
	}
	return l.describe(db.process)
}

// parseSession reads the text of joinedSession, false if it is not as parley writes it.
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
	timestamp := func() time.Time {
		if strings.HasPrefix(text, columnEnd) {
			next()
			return time.Time{}
		}
		return time.Unix(0, number())
	}
	r.num, r.ID, r.Title, r.Named, r.Dir, r.Model = number(), next(), next(), flag(), next(), next()
	r.Effort, r.History, r.Pinned, r.Origin = llm.Effort(next()), HistoryMode(next()), flag(), next()
	r.Created, r.Updated, r.Head, r.Messages = timestamp(), timestamp(), int(number()), int(number())
	usage := next()
	r.Preview, r.Deleted, r.touched = next(), timestamp(), number()
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
		readBool(r, "priced", &u.Priced)
		readBool(r, "shared", &u.Shared)
		readInt(r, "discarded", &u.Discarded)
		readInt(r, "searches", &u.Searches)
		readBool(r, "estimated", &u.Estimated)
	})
}

// decodeUsage reads a usage; after an error u is zero.
func decodeUsage(text string, u *llm.Usage) error {
	*u = llm.Usage{}
	r := newJSONReader(text, nil)
	if readUsage(r, u); r.atEnd() {
		return nil
	}
	*u = llm.Usage{}
	err := json.Unmarshal([]byte(text), u)
	if err != nil {
		*u = llm.Usage{}
	}
	return err
}

// findJoined is the fast form of Find, false if it finds nothing or something is unusual.
func findJoined(db *DB, q querier, word string) ([]*sessionRow, bool) {
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

// holdsAll reports whether a title contains all of words, which are folded; false without words.
func holdsAll(title string, words []string) bool {
	if len(words) == 0 {
		return false
	}
	title = folded(title)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(title, w) })
}

// idsFrom selects sessions whose ID begins with a word, by the index of IDs: its arguments are
// those of prefixRange.
const idsFrom = `WHERE s.deleted IS NULL AND s.id >= ? AND s.id < ?`

// prefixRange returns the first and the last of the possible IDs that begin with word.
func prefixRange(word string) []any {
	word = strings.ToLower(word)
	return []any{word, word + "\U0010FFFF"}
}

// ShortIDs returns by ID the shortest prefixes, of least bytes or more, by which Find knows
// sessions from all others. Sessions that do not exist, or were deleted, are left out.
func (db *DB) ShortIDs(least int, ids ...string) (map[string]string, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	short := make(map[string]string, len(ids))
	err = db.read(func(q querier) error {
		return eachRow(q, func(rows *sql.Rows) error {
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

// commonPrefix returns how many bytes a and b have in common at the beginning.
func commonPrefix(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Latest returns the session last updated of those that began in folder and were not imported.
// The error is ErrNotFound if there is none.
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
