package store

import (
	"cmp"
	"errors"
	"iter"
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

// briefIndex lets a list read the joined text of sessions, in order, from the index without the
// table. Its expression must equal joinedBrief, so that SQLite reads it from the index.
const briefIndex = `DROP INDEX IF EXISTS sessions_listed;
CREATE INDEX sessions_listed ON sessions (pinned, touched, updated, num, num || char(31) || iif(pinned IS 0, 'false', quote(pinned))
	|| char(31) || touched || char(31) || ifnull(updated, '') || char(31) || char(31) || origin || char(31) || char(31) || id || char(31) || title
	|| char(31) || iif(named IS 0, 'false', quote(named)) || char(31) || model || char(31) || effort || char(31) || history
	|| char(31) || ifnull(created, '') || char(31) || head || char(31) || iif(messages IS head, 'head', quote(messages))
	|| char(31) || usage || char(31) || ifnull(deleted, '')) WHERE deleted IS NULL;`

// updatedIndex finds where in lists an imported session belongs.
const updatedIndex = `CREATE INDEX sessions_updated ON sessions (updated, touched);`

// Separators of rows and columns in a text that SQLite joins.
const (
	rowEnd    = "\x1e"
	columnEnd = "\x1f"
)

// A joinedText is a session s as text that SQLite joins.
type joinedText struct {
	sql     string
	columns int
}

// joinedSession has the columns of a session in the order of parsePlace and parseSession.
// Converting numbers is slow, so common values are written as words.
var joinedSession = joinedText{`concat_ws(char(31), s.num, iif(s.pinned IS 0, 'false', quote(s.pinned)), s.touched, ifnull(s.updated, ''),
	s.folder, s.origin, s.preview, s.id, s.title, iif(s.named IS 0, 'false', quote(s.named)), s.model, s.effort, s.history, ifnull(s.created, ''),
	s.head, iif(s.messages IS s.head, 'head', quote(s.messages)), s.usage, ifnull(s.deleted, ''))`, 18}

// joinedBrief is joinedSession without the columns that Query.Brief leaves out. It is written like
// briefIndex, which older versions of SQLite must understand.
var joinedBrief = joinedText{`s.num || char(31) || iif(s.pinned IS 0, 'false', quote(s.pinned)) || char(31) || s.touched || char(31) || ifnull(s.updated, '')
	|| char(31) || char(31) || s.origin || char(31) || char(31) || s.id || char(31) || s.title || char(31) || iif(s.named IS 0, 'false', quote(s.named))
	|| char(31) || s.model || char(31) || s.effort || char(31) || s.history || char(31) || ifnull(s.created, '') || char(31) || s.head
	|| char(31) || iif(s.messages IS s.head, 'head', quote(s.messages)) || char(31) || s.usage || char(31) || ifnull(s.deleted, '')`, 18}

// joinedRows is how many rows are read as one text. Row by row, a list of 1,000 sessions takes 17 ms
// instead of 9, a brief one 8 instead of 4, and 51,000 allocations instead of 200.
const joinedRows = 500

// errUnusual reports that rows cannot be read joined and must be read column by column.
var errUnusual = errors.New("unusual row")

// A pass is an order of reading sessions.
type pass struct {
	index   string               // index to use; "": SQLite's choice
	from    string               // condition for a row and all later ones, with a parameter for each of keys
	keys    func(at place) []any // keys of a row's position
	order   string
	compare func(a, b place) int // as order
	begin   place                // before all rows
}

// byNum reads the table from end to end.
var byNum = pass{
	from: ` AND s.num >= ?`, keys: func(at place) []any { return []any{at.num} }, order: ` ORDER BY s.num`,
	compare: func(a, b place) int { return cmp.Compare(a.num, b.num) }, begin: place{num: 1},
}

// byPlace reads the sessions that are not deleted in the order of lists. It works with
// joinedBrief only, which is in the index, and misses sessions without a usual place, such as
// some without a time.
var byPlace = pass{
	index: ` INDEXED BY sessions_listed`,
	from:  ` AND (s.pinned, s.touched, s.updated, s.num) <= (?, ?, ?, ?)`,
	keys:  func(at place) []any { return []any{at.pinned, at.touched, at.updated, at.num} },
	order: listOrder, compare: place.compare, begin: place{pinned: true, touched: math.MaxInt64, updated: math.MaxInt64, num: math.MaxInt64},
}

// eachJoined calls f with the texts of the sessions that match where, in the order of a pass: up
// to joinedRows at once, joined by rowEnd. SQLite joins the texts, because reading row by row
// takes five times as long. The LIMIT is not a parameter, because then SQLite would prepare the
// query again at each run. If a text contains a separator, the error is errUnusual.
func eachJoined(q querier, text joinedText, p pass, f func(texts string, n int), where string, args ...any) error {
	query, err := q.prepare(`SELECT ifnull(group_concat(t, char(30)), ''), count(*) FROM
		(SELECT ` + text.sql + ` AS t FROM sessions s` + p.index + ` ` + where + p.from + p.order + ` LIMIT ` + strconv.Itoa(joinedRows) + `)`)
	if err != nil {
		return err
	}
	last := "" // the last row read
	for at := p.begin; ; {
		var texts string
		var n int
		if err := query.QueryRow(slices.Concat(args, p.keys(at))...).Scan(&texts, &n); err != nil || n == 0 && last == "" {
			return err
		}
		if strings.Count(texts, rowEnd) != n-1 || strings.Count(texts, columnEnd) != n*(text.columns-1) {
			return errUnusual
		}
		all := n < joinedRows
		if last != "" {
			again := ""
			if again, texts, _ = strings.Cut(texts, rowEnd); again != last { // damage, which may hide rows
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
		next, ok := parsePlace(last)
		if !ok || p.compare(at, next.place) >= 0 { // otherwise it would not end
			return errUnusual
		}
		at = next.place // the row is read again
	}
}

// useSmallCache makes the page cache small until the returned function is called. A table read once from
// end to end would fill all of it, and touching new memory takes longer than reading.
func useSmallCache(q querier) (end func()) {
	_ = q.script(`PRAGMA cache_size = 32`)
	return func() { _ = q.script(`PRAGMA cache_size = -2000`) } // SQLite's default, in KiB
}

// joinedSessions is the fast form of checkedSessions, in an order of places, nil for that of the pass;
// text is joinedSession or joinedBrief. It maps each session by of; the session is valid only during
// the call. If anything is damaged or of another type, it returns errUnusual or an SQLite error.
func joinedSessions[T any](db *DB, q querier, text joinedText, p pass, order func(a, b place) int, of func(*Session) T, where string, args ...any) ([]T, error) {
	batches, total, err := joinedBatches(q, text, p, where, args...)
	if err != nil || total == 0 {
		return nil, err
	}
	held, err := leases(q, "")
	if err != nil {
		return nil, err
	}
	rows := eachRowOf(batches)
	if order != nil {
		rows = sortedRows(rows, total, order)
	}
	found, s := make([]T, 0, total), new(Session)
	for r, ok := range rows {
		if !ok || !parseSession(r, s) {
			return nil, errUnusual
		}
		s.LockedBy = ""
		if l, ok := held[s.ID]; ok {
			s.LockedBy = lockedBy(db, l)
		}
		found = append(found, of(s))
	}
	return found, nil
}

// whole returns a copy of a session, which stays valid.
func whole(s *Session) Session { return *s }

// joinedBatches returns the texts from eachJoined, and their total number of sessions.
func joinedBatches(q querier, text joinedText, p pass, where string, args ...any) (batches []string, total int, err error) {
	err = eachJoined(q, text, p, func(texts string, n int) {
		batches, total = append(batches, texts), total+n
	}, where, args...)
	return batches, total, err
}

// eachRowOf parses the places of joined sessions; it yields false for a row not in parley's format.
func eachRowOf(batches []string) iter.Seq2[joinedRow, bool] {
	return func(yield func(joinedRow, bool) bool) {
		for _, texts := range batches {
			for text := range strings.SplitSeq(texts, rowEnd) {
				if !yield(parsePlace(text)) {
					return
				}
			}
		}
	}
}

// sortedRows returns n rows in an order of places, or a row that is not in parley's format.
func sortedRows(rows iter.Seq2[joinedRow, bool], n int, order func(a, b place) int) iter.Seq2[joinedRow, bool] {
	return func(yield func(joinedRow, bool) bool) {
		sorted := make([]joinedRow, 0, n)
		for r, ok := range rows {
			if !ok {
				yield(r, false)
				return
			}
			sorted = append(sorted, r)
		}
		sort.Slice(sorted, func(i, j int) bool { return order(sorted[i].place, sorted[j].place) < 0 })
		for _, r := range sorted {
			if !yield(r, true) {
				return
			}
		}
	}
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
	return q == Query{Limit: q.Limit, Brief: q.Brief}
}

// countListed counts the sessions that are not deleted, without reading each.
func countListed(q querier) (n int, err error) {
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

// parsePlace parses the first columns of joinedSession; ok is false if they are not in parley's format.
func parsePlace(text string) (r joinedRow, ok bool) {
	c := columnReader{rest: text, ok: true}
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
