package store

import (
	"database/sql"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"parley/providers/llm"
	"parley/tools/swar"
)

// Messages are read joined into one text, like sessions in eachJoined, with the columns of
// parseJoined. Long JSON is left out: joining it takes longer than reading it separately.
const joinedNodesSQL = `SELECT ifnull(group_concat(t, char(30)), '') FROM (SELECT concat_ws(char(31), seq, parent, ifnull(at, ''), role, origin, model,
	iif(octet_length(rest) + octet_length(parts) > ?, '', rest), iif(octet_length(rest) + octet_length(parts) > ?, '', parts)) AS t FROM nodes WHERE `

const (
	joinedBySeq = joinedNodesSQL + `session = ? AND seq BETWEEN ? AND ? ORDER BY seq)`
	joinedByNum = joinedNodesSQL + `+session = ? AND num BETWEEN ? AND ? ORDER BY num)` // without the index
	longSQL     = `SELECT seq, rest, parts FROM nodes WHERE session = ? AND seq BETWEEN ? AND ? AND octet_length(rest) + octet_length(parts) > ?`
)

const (
	maxJoined         = 4 << 10 // bytes of JSON of a message
	joinedNodeColumns = 8
)

// readJoined is the fast form of readRows for the messages from the number first on of a session that
// isDense: it fills nodes, and returns references to their blobs. After errUnusual, or an SQLite
// error, they must be read row by row.
func readJoined(q querier, session int64, nodes []Node, first int) (refs []nodeRef, err error) {
	var all []*joinedBatch
	var decoding sync.WaitGroup
	defer decoding.Wait()
	if len(nodes) > batchSize {
		defer useSmallCache(q)()
	}
	queries := joinedQueries{q: q, session: session}
	for some := range slices.Chunk(nodes, batchSize) {
		b := &joinedBatch{nodes: some, first: first}
		text, err := queries.read(first, len(some))
		if err == nil && leavesOut(text) {
			b.long, err = queries.readLong(first, len(some))
		}
		if err != nil {
			return nil, err
		}
		all = append(all, b)
		decoding.Go(func() { b.ok = b.decode(text) })
		first += len(some)
	}
	decoding.Wait()
	for _, b := range all {
		if !b.ok {
			return nil, errUnusual
		}
		refs = append(refs, b.refs...)
	}
	return refs, nil
}

// leavesOut reports whether the JSON of a row is left out of a joined text: its last column is empty.
func leavesOut(text string) bool {
	return strings.Contains(text, columnEnd+rowEnd) || strings.HasSuffix(text, columnEnd)
}

// endsSQL finds the nums of the first and the last of some messages.
const endsSQL = `SELECT (SELECT num FROM nodes WHERE session = ? AND seq = ?), (SELECT num FROM nodes WHERE session = ? AND seq = ?)`

// joinedQueries holds the prepared statements for reading messages of a session joined; they are
// prepared on first use.
type joinedQueries struct {
	q                  querier
	session            int64
	ends, byNum, bySeq *sql.Stmt
}

// read returns n messages from first on. If they were written consecutively, as in most
// conversations, it finds them by their num.
func (j *joinedQueries) read(first, n int) (text string, err error) {
	var from, to int64
	last := first + n - 1
	ends, err := j.prepared(&j.ends, endsSQL)
	if err == nil {
		err = ends.QueryRow(j.session, first, j.session, last).Scan(&from, &to)
	}
	if err != nil {
		return "", err
	}
	statement, query := &j.byNum, joinedByNum
	if to-from != int64(n-1) {
		statement, query, from, to = &j.bySeq, joinedBySeq, int64(first), int64(last)
	}
	join, err := j.prepared(statement, query)
	if err == nil {
		err = join.QueryRow(maxJoined, maxJoined, j.session, from, to).Scan(&text)
	}
	return text, err
}

// prepared returns the statement of a query, which it stores in to on first use.
func (j *joinedQueries) prepared(to **sql.Stmt, query string) (*sql.Stmt, error) {
	var err error
	if *to == nil {
		*to, err = j.q.prepare(query)
	}
	return *to, err
}

// readLong returns the JSON that joinedNodesSQL left out for n messages from first on, by Seq.
func (j *joinedQueries) readLong(first, n int) (map[int]messageJSON, error) {
	long := map[int]messageJSON{}
	err := EachRow(j.q, func(rows *sql.Rows) error {
		var seq int
		var m messageJSON
		err := rows.Scan(&seq, &m.rest, &m.parts)
		long[seq] = m
		return err
	}, longSQL, j.session, first, first+n-1, maxJoined)
	return long, err
}

// A messageJSON holds the columns of a message that are JSON.
type messageJSON struct{ rest, parts string }

// A joinedBatch holds messages that were read joined.
type joinedBatch struct {
	nodes []Node
	first int                 // Seq
	long  map[int]messageJSON // JSON left out of the text, by Seq
	refs  []nodeRef
	ok    bool // all could be decoded
}

// decode decodes the text of joinedNodesSQL into the nodes. It returns false if one is missing, damaged,
// or not in parley's format.
func (b *joinedBatch) decode(text string) bool {
	n := len(b.nodes)
	if strings.Count(text, rowEnd) != n-1 || strings.Count(text, columnEnd) != n*(joinedNodeColumns-1) {
		return false
	}
	var names []string
	name := func(s string) string { // most messages share these strings
		if i := slices.Index(names, s); i >= 0 {
			return names[i]
		}
		names = append(names, strings.Clone(s))
		return names[len(names)-1]
	}
	var texts textArena
	for i := range b.nodes {
		var row string
		row, text, _ = strings.Cut(text, rowEnd)
		node := &b.nodes[i]
		m, ok := parseJoined(node, row, name)
		if !ok || node.Seq != b.first+i {
			return false
		}
		held := &texts
		if long, left := b.long[node.Seq]; left {
			m, held = long, nil
		}
		refs, err := decodeNode(node, m.rest, m.parts, held)
		if err != nil {
			return false
		}
		for _, ref := range refs {
			b.refs = append(b.refs, nodeRef{node.Parts, ref})
		}
	}
	return true
}

// parseJoined sets the columns of n from the text of its row, and returns the JSON columns. It returns
// false if a number is damaged.
func parseJoined(n *Node, row string, name func(string) string) (m messageJSON, ok bool) {
	c := columnReader{rest: row, ok: true}
	n.Seq, n.Parent, n.At = int(c.number()), int(c.number()), timeOfNanos(c.nanos())
	n.Role, n.Origin, n.Model = llm.Role(name(c.text())), name(c.text()), name(c.text())
	m = messageJSON{rest: c.text(), parts: c.text()}
	return m, c.ok && n.Parent >= 0 && n.Parent < n.Seq
}

// A textArena holds short strings with similar lifetimes in few blocks of memory, which never move. A
// nil arena holds none. The zero value is empty.
type textArena struct{ piece *strings.Builder }

const (
	arenaPiece = 32 << 10 // bytes
	maxInArena = 2 << 10  // a longer string has memory of its own
)

// room returns a builder, which may contain other strings, with room for n more bytes.
func (a *textArena) room(n int) *strings.Builder {
	if a == nil || n > maxInArena {
		own := &strings.Builder{}
		own.Grow(n)
		return own
	}
	if a.piece == nil || a.piece.Cap()-a.piece.Len() < n {
		a.piece = &strings.Builder{}
		a.piece.Grow(arenaPiece)
	}
	return a.piece
}

// parseInt parses an integer as strconv does; ok is false for any other text. Most are digits
// only, which this parses faster than strconv.
func parseInt(text string) (n int64, ok bool) {
	if n, size := leadingDigits(text); size > 0 && size == len(text) {
		return n, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// leadingDigits parses the leading digits of text and returns their number; 0 if there are none, or more
// than an integer may have.
func leadingDigits(text string) (n int64, size int) {
	sum := uint64(0)
	for size+8 <= len(text) {
		eight, ok := swar.Digits(swar.Load(text, size))
		if !ok {
			break
		}
		sum, size = sum*100_000_000+eight, size+8
	}
	for size < len(text) && text[size]-'0' <= 9 {
		sum = sum*10 + uint64(text[size]-'0')
		size++
	}
	if size > 19 || sum > math.MaxInt64 { // 19 digits do not overflow
		return 0, 0
	}
	return int64(sum), size
}
