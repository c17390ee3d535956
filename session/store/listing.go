package store

import (
	"cmp"
	"database/sql"
	"errors"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"parley/providers/llm"
)

// listIndexes make reading the first sessions of a list, and the last one of a directory,
// independent of the number of sessions. briefIndex replaces the first index.
const listIndexes = `CREATE INDEX sessions_listed ON sessions (pinned, touched, updated) WHERE deleted IS NULL;
CREATE INDEX sessions_folder ON sessions (folder, updated) WHERE deleted IS NULL;`

// briefIndex also contains the sessions as text, for versions of the program that read lists from it alone.
const briefIndex = `DROP INDEX IF EXISTS sessions_listed;
CREATE INDEX sessions_listed ON sessions (pinned, touched, updated, num, num || char(31) || iif(pinned IS 0, 'false', quote(pinned))
	|| char(31) || touched || char(31) || ifnull(updated, '') || char(31) || char(31) || origin || char(31) || char(31) || id || char(31) || title
	|| char(31) || iif(named IS 0, 'false', quote(named)) || char(31) || model || char(31) || effort || char(31) || history
	|| char(31) || ifnull(created, '') || char(31) || head || char(31) || iif(messages IS head, 'head', quote(messages))
	|| char(31) || usage || char(31) || ifnull(deleted, '')) WHERE deleted IS NULL;`

// updatedIndex finds where in lists an imported session belongs.
const updatedIndex = `CREATE INDEX sessions_updated ON sessions (updated, touched);`

// columnEnd separates columns in a text that SQLite joins.
const columnEnd = "\x1f"

// joinedColumns is the number of columns of a session in a joined text, in the order of parsePlace and parseSession.
const joinedColumns = 18

// joinedSession is a session s as one text: reading its columns one by one takes two to five times as long.
// Converting numbers is slow, so common values are written as words.
const joinedSession = `concat_ws(char(31), s.num, iif(s.pinned IS 0, 'false', quote(s.pinned)), s.touched, ifnull(s.updated, ''),
	s.folder, s.origin, s.preview, s.id, s.title, iif(s.named IS 0, 'false', quote(s.named)), s.model, s.effort, s.history, ifnull(s.created, ''),
	s.head, iif(s.messages IS s.head, 'head', quote(s.messages)), s.usage, ifnull(s.deleted, ''))`

// errUnusual reports that a row cannot be read joined and must be read column by column.
var errUnusual = errors.New("unusual row")

// joined is the fast form of checked; from is the query after FROM sessions s. Its order is that of
// places, or of from if order is nil. If anything is damaged or of another type, it returns errUnusual or an SQLite
// error.
func (q sessionReader) joined(order func(a, b place) int, from string, args ...any) ([]Session, error) {
	var all []joinedRow
	var row string
	to := []any{&row}
	err := EachRow(q, func(rows *sql.Rows) error {
		err := rows.Scan(to...)
		r, ok := parsePlace(row)
		all = append(all, r)
		if err == nil && !ok {
			err = errUnusual
		}
		return err
	}, `SELECT `+joinedSession+` FROM sessions s `+from, args...)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	held, err := leases(q, "")
	if err != nil {
		return nil, err
	}
	if order != nil {
		sort.Slice(all, func(i, j int) bool { return order(all[i].place, all[j].place) < 0 })
	}
	found := make([]Session, len(all))
	for i, r := range all {
		s := &found[i]
		if !parseSession(r, s) {
			return nil, errUnusual
		}
		if l, ok := held[s.ID]; ok {
			s.LockedBy = q.lockedBy(l)
		}
	}
	return found, nil
}

// firstOf returns a condition for the first n sessions that match where, without decoding the others.
func firstOf(where string, n int) string {
	if n == math.MaxInt {
		return where
	}
	return `WHERE s.num IN (SELECT s.num FROM sessions s ` + where + listOrder + ` LIMIT ` + strconv.Itoa(n) + `)`
}

// isPlain reports whether q, apart from its Limit, selects all sessions that are not deleted.
func (q Query) isPlain() bool {
	return q == Query{Limit: q.Limit}
}

// countListed counts the sessions that are not deleted, without reading each.
func countListed(q Tx) (n int, err error) {
	err = q.QueryRow(`SELECT (SELECT count(*) FROM sessions) - (SELECT count(*) FROM sessions WHERE deleted IS NOT NULL)`).Scan(&n)
	return n, err
}

// A place is the position of a session in a list. Imported sessions may share touched.
type place struct {
	num, touched int64
	updated      int64 // in ns since 1970; math.MinInt64 if unknown
	pinned       bool
}

// compare compares places in lists: pinned sessions first, then the most recently written.
func (p place) compare(q place) int {
	if p.pinned != q.pinned {
		return comparePinned(p, q)
	}
	return cmp.Or(cmp.Compare(q.touched, p.touched), cmp.Compare(q.updated, p.updated), cmp.Compare(q.num, p.num))
}

// compareFound compares places in results of Find: the most recently written
// first.
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

// A joinedRow is the text of a session after its place.
type joinedRow struct {
	place
	rest string
}

// parsePlace parses the first columns of a joined text; ok is false if they are not in parley's format, or a column
// contains columnEnd.
func parsePlace(text string) (r joinedRow, ok bool) {
	c := columnReader{rest: text, ok: strings.Count(text, columnEnd) == joinedColumns-1}
	r.num, r.pinned, r.touched, r.updated = c.number(), c.flag(), c.number(), c.nanos()
	r.rest = c.rest
	return r, c.ok
}

// parseSession parses the other columns of joinedSession into s; it returns false if they are
// not in parley's format.
func parseSession(r joinedRow, s *Session) bool {
	c := columnReader{rest: r.rest, ok: true}
	s.Pinned, s.Updated = r.pinned, timeOfNanos(r.updated)
	s.Dir, s.Origin, s.Preview = c.text(), c.text(), c.text()
	s.ID, s.Title, s.Named, s.Model = c.text(), c.text(), c.flag(), c.text()
	s.Effort, s.History, s.Created = llm.Effort(c.text()), HistoryMode(c.text()), timeOfNanos(c.nanos())
	s.Head = int(c.number())
	if s.Messages = s.Head; !c.skip("head") { // without branches, both are the same
		s.Messages = int(c.number())
	}
	usage := c.text()
	s.Deleted = timeOfNanos(c.nanos())
	known := (s.Effort == "" || slices.Contains(llm.Efforts, s.Effort)) &&
		(s.History == HistoryFull || s.History == HistoryDynamic || s.History == HistoryStateless)
	return c.ok && known && decodeUsage(usage, &s.Usage) == nil
}

// A columnReader reads the columns of a joined text. Ok becomes false at a column that is not in
// parley's format.
type columnReader struct {
	rest string
	ok   bool
}

func (c *columnReader) text() (column string) {
	if rest, empty := strings.CutPrefix(c.rest, columnEnd); empty { // many columns are empty
		c.rest = rest
		return ""
	}
	column, c.rest, _ = strings.Cut(c.rest, columnEnd)
	return column
}

func (c *columnReader) number() int64 {
	n, err := strconv.ParseInt(c.text(), 10, 64)
	c.ok = c.ok && err == nil
	return n
}

// flag reads 0 or 1, or "false" for 0.
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
	c.ok = c.ok && n != math.MinInt64 // MinInt64 stands for no time here
	return n
}

// skip reports whether the next column is word, and if so skips it.
func (c *columnReader) skip(word string) bool {
	rest, found := strings.CutPrefix(c.rest, word)
	if !found || rest != "" && rest[0] != columnEnd[0] {
		return false
	}
	c.rest = strings.TrimPrefix(rest, columnEnd)
	return true
}

// timeOfNanos converts the result of nanos to a time; zero for math.MinInt64.
func timeOfNanos(n int64) time.Time {
	if n == math.MinInt64 {
		return time.Time{}
	}
	return time.Unix(0, n)
}
