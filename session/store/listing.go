package store

import (
	"cmp"
	"math"
	"strconv"
)

// listIndexes make it as fast to read the first sessions of a list, and the last one of a
// directory, however many sessions there are. briefIndex takes the place of the first.
const listIndexes = `CREATE INDEX sessions_listed ON sessions (pinned, touched, updated) WHERE deleted IS NULL;
CREATE INDEX sessions_folder ON sessions (folder, updated) WHERE deleted IS NULL;`

// briefIndex holds the sessions as texts too, which earlier versions of parley read in lists.
const briefIndex = `DROP INDEX IF EXISTS sessions_listed;
CREATE INDEX sessions_listed ON sessions (pinned, touched, updated, num, num || char(31) || iif(pinned IS 0, 'false', quote(pinned))
	|| char(31) || touched || char(31) || ifnull(updated, '') || char(31) || char(31) || origin || char(31) || char(31) || id || char(31) || title
	|| char(31) || iif(named IS 0, 'false', quote(named)) || char(31) || model || char(31) || effort || char(31) || history
	|| char(31) || ifnull(created, '') || char(31) || head || char(31) || iif(messages IS head, 'head', quote(messages))
	|| char(31) || usage || char(31) || ifnull(deleted, '')) WHERE deleted IS NULL;`

// useSmallCache makes the page cache small until the function it returns is called. A table that is read
// once from end to end would fill all of it, and touching new memory takes longer than reading.
func useSmallCache(q querier) (end func()) {
	_ = q.script(`PRAGMA cache_size = 32`)
	return func() { _ = q.script(`PRAGMA cache_size = -2000`) } // SQLite's own, in KiB
}

// firstOf returns a condition for the first n sessions that where selects, without decoding the others.
func firstOf(where string, n int) string {
	if n == math.MaxInt {
		return where
	}
	return `WHERE s.num IN (SELECT s.num FROM sessions s ` + where + listOrder + ` LIMIT ` + strconv.Itoa(n) + `)`
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
