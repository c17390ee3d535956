package store

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
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

// joinedSession is the SQL of a session s as text: its columns in the order of parsePlace and
// parseSession. Numbers take longest, so that usual ones are words.
const joinedSession = joinedPlace + `s.folder, s.origin, s.preview,` + joinedRest

// joinedBrief is joinedSession without what Query.Brief leaves out.
const joinedBrief = joinedPlace + `'', s.origin, '',` + joinedRest

const (
	joinedPlace = `concat_ws(char(31), s.num, iif(s.pinned IS 0, 'false', quote(s.pinned)), s.touched, ifnull(s.updated, ''), `
	joinedRest  = `s.id, s.title, iif(s.named IS 0, 'false', quote(s.named)), s.model, s.effort, s.history, ifnull(s.created, ''),
		s.head, iif(s.messages IS s.head, 'head', quote(s.messages)), s.usage, ifnull(s.deleted, ''))`
)

// joinedColumns is the number of columns of joinedSession.
const joinedColumns = 18

// joinedRows is how many rows are read as one text.
const joinedRows = 500

// errUnusual reports that rows cannot be read joined, but have to be column by column.
var errUnusual = errors.New("unusual row")

// eachJoined calls f with the texts of the sessions that where selects, in the order of num:
// up to joinedRows at once, joined by rowEnd. The first column of text is s.num. SQLite joins
// the texts, as reading row by row takes five times as long; it prepares a query again at each
// run if its LIMIT is a parameter. If a text contains a separator, the error is errUnusual.
func eachJoined(q querier, text string, columns int, f func(texts string, n int), where string, args ...any) error {
	query, err := q.prepare(`SELECT ifnull(group_concat(t, char(30)), ''), count(*) FROM
		(SELECT ` + text + ` AS t FROM sessions s ` + where + ` AND s.num > ? ORDER BY s.num LIMIT ` + strconv.Itoa(joinedRows) + `)`)
	if err != nil {
		return err
	}
	last := "" // row that was read
	for after := int64(0); ; {
		var texts string
		var n int
		if err := query.QueryRow(append(slices.Clone(args), after)...).Scan(&texts, &n); err != nil || n == 0 && last == "" {
			return err
		}
		if strings.Count(texts, rowEnd) != n-1 || strings.Count(texts, columnEnd) != n*(columns-1) {
			return errUnusual
		}
		all := n < joinedRows
		if last != "" {
			again := ""
			if again, texts, _ = strings.Cut(texts, rowEnd); again != last { // a damaged table, in which rows may be missed
				return errUnusual
			}
			n--
		} else if !all {
			defer useSmallCache(q)()
		}
		if n > 0 {
			f(texts, n)
		}
		if all {
			return nil
		}
		last = texts[strings.LastIndex(texts, rowEnd)+1:]
		c := columnReader{rest: last, ok: true}
		next := c.number()
		if !c.ok || next <= after+1 { // it would not end
			return errUnusual
		}
		after = next - 1 // the row is read again
	}
}

// useSmallCache makes the page cache small until the function it returns is called. A table that is read
// once from end to end would fill all of it, and touching new memory takes longer than reading.
func useSmallCache(q querier) (end func()) {
	_ = q.script(`PRAGMA cache_size = 32`)
	return func() { _ = q.script(`PRAGMA cache_size = -2000`) } // SQLite's own, in KiB
}

// joinedSessions is the fast form of checkedSessions, in an order of places; text is joinedSession
// or joinedBrief. If anything is damaged or of another type, it returns errUnusual or an error of
// SQLite.
func joinedSessions(db *DB, q querier, text string, order func(a, b place) int, where string, args ...any) ([]Session, error) {
	held, err := leases(q)
	if err != nil {
		return nil, err
	}
	var batches []string
	total := 0
	err = eachJoined(q, text, joinedColumns, func(texts string, n int) {
		batches, total = append(batches, texts), total+n
	}, where, args...)
	if err != nil || total == 0 {
		return nil, err
	}
	rows := make([]joinedRow, 0, total)
	for _, texts := range batches {
		for text := range strings.SplitSeq(texts, rowEnd) {
			r, ok := parsePlace(text)
			if !ok {
				return nil, errUnusual
			}
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b joinedRow) int { return order(a.place, b.place) })
	found := make([]Session, total)
	for i, r := range rows {
		s := &found[i]
		if !parseSession(r, s) {
			return nil, errUnusual
		}
		if l, ok := held[s.ID]; ok {
			s.LockedBy = lockedBy(db, l)
		}
	}
	return found, nil
}

// A place is where a session stands in a list. Imported sessions may share touched.
type place struct {
	num, touched int64
	updated      int64 // in ns since 1970; math.MinInt64 if not known
	pinned       bool
}

// compare compares places in lists: pinned sessions first, then those last written.
func (p place) compare(q place) int {
	if p.pinned != q.pinned {
		return comparePinned(p, q)
	}
	return cmp.Or(cmp.Compare(q.touched, p.touched), cmp.Compare(q.updated, p.updated), cmp.Compare(q.num, p.num))
}

// compareFound compares places in what Find returns: those last written first.
func (p place) compareFound(q place) int {
	return cmp.Or(cmp.Compare(q.touched, p.touched), cmp.Compare(q.updated, p.updated), comparePinned(p, q), cmp.Compare(q.num, p.num))
}

// comparePinned compares by pinned alone.
func comparePinned(p, q place) int {
	switch {
	case p.pinned == q.pinned:
		return 0
	case p.pinned:
		return -1
	}
	return 1
}

// A joinedRow is the text of a session behind its place.
type joinedRow struct {
	place
	rest string
}

// parsePlace reads the first columns of joinedSession, false if they are not as parley writes them.
func parsePlace(text string) (r joinedRow, ok bool) {
	c := columnReader{rest: text, ok: true}
	r.num, r.pinned, r.touched, r.updated = c.number(), c.flag(), c.number(), c.nanos()
	r.rest = c.rest
	return r, c.ok
}

// parseSession reads the other columns of joinedSession into s, false if they are not as parley
// writes them.
func parseSession(r joinedRow, s *Session) bool {
	c := columnReader{rest: r.rest, ok: true}
	s.Pinned, s.Updated = r.pinned, timeOfNanos(r.updated)
	s.Dir, s.Origin, s.Preview = c.text(), c.text(), c.text()
	s.ID, s.Title, s.Named, s.Model = c.text(), c.text(), c.flag(), c.text()
	s.Effort, s.History, s.Created = llm.Effort(c.text()), HistoryMode(c.text()), timeOfNanos(c.nanos())
	s.Head = int(c.number())
	if s.Messages = s.Head; !c.skip("head") { // as without branches
		s.Messages = int(c.number())
	}
	usage := c.text()
	s.Deleted = timeOfNanos(c.nanos())
	known := (s.Effort == "" || slices.Contains(llm.Efforts, s.Effort)) &&
		(s.History == HistoryFull || s.History == HistoryDynamic || s.History == HistoryStateless)
	return c.ok && known && decodeUsage(usage, &s.Usage) == nil
}

// A columnReader reads the columns of a joined text. After one that is not as parley writes it, ok
// is false.
type columnReader struct {
	rest string
	ok   bool
}

func (c *columnReader) text() (column string) {
	end := strings.IndexByte(c.rest, columnEnd[0])
	if end < 0 {
		column, c.rest = c.rest, ""
		return column
	}
	column, c.rest = c.rest[:end], c.rest[end+1:]
	return column
}

func (c *columnReader) number() int64 {
	n, ok := parseInt(c.text())
	c.ok = c.ok && ok
	return n
}

// flag reads a number that is 0 or 1, or false for 0.
func (c *columnReader) flag() bool {
	if c.skip("false") {
		return false
	}
	n := c.number()
	c.ok = c.ok && (n == 0 || n == 1)
	return n == 1
}

// nanos reads a time in ns since 1970, math.MinInt64 if the column is empty.
func (c *columnReader) nanos() int64 {
	if c.skip("") {
		return math.MinInt64
	}
	n := c.number()
	c.ok = c.ok && n != math.MinInt64 // which stands for no time here
	return n
}

// skip reports whether the next column is word, and skips it then.
func (c *columnReader) skip(word string) bool {
	rest, found := strings.CutPrefix(c.rest, word)
	if !found || rest != "" && rest[0] != columnEnd[0] {
		return false
	}
	c.text()
	return true
}

// timeOfNanos returns the time of what nanos reads, zero for math.MinInt64.
func timeOfNanos(n int64) time.Time {
	if n == math.MinInt64 {
		return time.Time{}
	}
	return time.Unix(0, n)
}

// parseInt reads an integer as strconv does, false for any other text. Most are digits alone, for
// which strconv takes longer.
func parseInt(text string) (n int64, ok bool) {
	sum, digits := uint64(0), text != "" && len(text) <= 19 // no sum is too large for its type
	for i := 0; digits && i < len(text); i++ {
		d := text[i] - '0'
		sum, digits = sum*10+uint64(d), d <= 9
	}
	if digits && sum <= math.MaxInt64 {
		return int64(sum), true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// findJoined is the fast form of Find, false if it finds nothing or something is unusual.
func findJoined(db *DB, q querier, word string) ([]Session, bool) {
	found, err := joinedSessions(db, q, joinedSession, place.compareFound, `WHERE s.id = ?`, word)
	if err != nil || len(found) > 0 {
		return found, err == nil
	}
	begun, err := joinedSessions(db, q, joinedSession, place.compareFound, idsFrom, prefixRange(word)...)
	if err != nil || len(begun) == 1 {
		return begun, err == nil
	}
	words := strings.Fields(folded(word))
	titled := map[string]bool{} // nums
	err = eachJoined(q, `s.num || char(31) || s.title`, 2, func(texts string, _ int) {
		for text := range strings.SplitSeq(texts, rowEnd) {
			num, title, _ := strings.Cut(text, columnEnd)
			if holdsAll(title, words) {
				titled[num] = true
			}
		}
	}, `WHERE s.deleted IS NULL`)
	if err != nil || len(titled) == 0 {
		return begun, err == nil && len(begun) > 0
	}
	nums := "[" + strings.Join(slices.Collect(maps.Keys(titled)), ",") + "]"
	found, err = joinedSessions(db, q, joinedSession, place.compareFound, `WHERE s.num IN (SELECT value FROM json_each(?))`, nums)
	return found, err == nil && len(found) > 0
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
	var found []Session
	err := db.read(func(q querier) (err error) {
		found, err = joinedSessions(db, q, joinedSession, place.compare, `WHERE s.num = (SELECT s.num FROM sessions s WHERE s.deleted IS NULL AND s.folder = ?
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
