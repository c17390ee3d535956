package store

import (
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/providers/llm"
)

// Messages are read joined into one text, as eachJoined reads sessions: the columns of
// parseJoined. Parts of more than maxJoinedParts bytes are left out.
const joinedNodesSQL = `SELECT ifnull(group_concat(t, char(30)), '') FROM (SELECT concat_ws(char(31), seq, parent, ifnull(at, ''), role, origin, model,
	rest, iif(octet_length(parts) > ?, '', parts)) AS t FROM nodes WHERE `

const (
	joinedBySeq = joinedNodesSQL + `session = ? AND seq BETWEEN ? AND ? ORDER BY seq)`
	joinedByNum = joinedNodesSQL + `+session = ? AND num BETWEEN ? AND ? ORDER BY num)` // without the index
)

const (
	maxJoinedParts    = 64 << 10
	joinedNodeColumns = 8
)

// readJoined is the fast form of readRows for the messages from the number first on of a session that
// isDense: it fills nodes, and returns references to what they have in blobs. After errUnusual, or
// an error of SQLite, they have to be read row by row.
func readJoined(q querier, session int64, nodes []Node, first int) (refs []nodeRef, err error) {
	var all []*joinedBatch
	var decoding sync.WaitGroup
	defer decoding.Wait()
	if len(nodes) > batchSize {
		defer useSmallCache(q)()
	}
	queries := joinedQueries{q: q, session: session}
	for some := range slices.Chunk(nodes, batchSize) {
		text, err := queries.read(first, len(some))
		if err != nil {
			return nil, err
		}
		b, from := &joinedBatch{nodes: some}, first
		all = append(all, b)
		decoding.Go(func() { b.ok = b.decode(text, from) })
		first += len(some)
	}
	decoding.Wait()
	for _, b := range all {
		if !b.ok {
			return nil, errUnusual
		}
		for _, n := range b.long {
			found, err := readLongParts(q, session, n)
			if err != nil {
				return nil, err
			}
			refs = append(refs, found...)
		}
		refs = append(refs, b.refs...)
	}
	return refs, nil
}

// endsSQL finds the nums of the first and the last of some messages.
const endsSQL = `SELECT (SELECT num FROM nodes WHERE session = ? AND seq = ?), (SELECT num FROM nodes WHERE session = ? AND seq = ?)`

// joinedQueries holds the statements with which messages of a session are read joined, once they were
// needed.
type joinedQueries struct {
	q                  querier
	session            int64
	ends, byNum, bySeq *sql.Stmt
}

// read returns n messages from first on. Where they were written one after the other, as in most
// conversations, they are found by their num.
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
		err = join.QueryRow(maxJoinedParts, j.session, from, to).Scan(&text)
	}
	return text, err
}

// prepared returns the statement of a query, which to holds from the first time on.
func (j *joinedQueries) prepared(to **sql.Stmt, query string) (*sql.Stmt, error) {
	var err error
	if *to == nil {
		*to, err = j.q.prepare(query)
	}
	return *to, err
}

// readLongParts reads the parts of n, which joinedNodesSQL left out.
func readLongParts(q querier, session int64, n *Node) (refs []nodeRef, err error) {
	var parts string
	if err := q.queryRow(`SELECT parts FROM nodes WHERE session = ? AND seq = ?`, session, n.Seq).Scan(&parts); err != nil {
		return nil, err
	}
	found, err := decodeNode(n, "{}", parts, nil) // the rest was decoded
	for _, ref := range found {
		refs = append(refs, nodeRef{n.Parts, ref})
	}
	return refs, err
}

// A joinedBatch holds messages that were read joined.
type joinedBatch struct {
	nodes []Node
	refs  []nodeRef
	long  []*Node // whose parts were left out
	ok    bool    // all could be decoded
}

// decode decodes the text of joinedNodesSQL into the nodes, of which the first one has the number
// first. It is false if one is missing, damaged, or not as parley writes it.
func (b *joinedBatch) decode(text string, first int) bool {
	n := len(b.nodes)
	if strings.Count(text, rowEnd) != n-1 || strings.Count(text, columnEnd) != n*(joinedNodeColumns-1) {
		return false
	}
	var names []string
	name := func(s string) string { // which most messages share
		if i := slices.Index(names, s); i >= 0 {
			return names[i]
		}
		names = append(names, strings.Clone(s))
		return names[len(names)-1]
	}
	json := make([][2]string, n) // rest and parts
	size := 0
	for i := range b.nodes {
		var row string
		row, text, _ = strings.Cut(text, rowEnd)
		rest, parts, ok := parseJoined(&b.nodes[i], row, name)
		if !ok || b.nodes[i].Seq != first+i {
			return false
		}
		json[i] = [2]string{rest, parts}
		size += len(parts)
	}
	var texts strings.Builder // of all, which are held for as long
	texts.Grow(size)
	for i := range b.nodes {
		node, parts := &b.nodes[i], json[i][1]
		if parts == "" {
			b.long, parts = append(b.long, node), "[]"
		}
		refs, err := decodeNode(node, json[i][0], parts, &texts)
		if err != nil {
			return false
		}
		for _, ref := range refs {
			b.refs = append(b.refs, nodeRef{node.Parts, ref})
		}
	}
	return true
}

// parseJoined sets the columns of n from the text of its row, and returns those with JSON. It is false
// if a number is damaged.
func parseJoined(n *Node, row string, name func(string) string) (rest, parts string, ok bool) {
	next := func() (column string) {
		column, row, _ = strings.Cut(row, columnEnd)
		return column
	}
	seq, errSeq := strconv.Atoi(next())
	parent, errParent := strconv.Atoi(next())
	if at := next(); at != "" {
		nanos, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return "", "", false
		}
		n.At = time.Unix(0, nanos)
	}
	n.Seq, n.Parent, n.Role, n.Origin, n.Model = seq, parent, llm.Role(name(next())), name(next()), name(next())
	rest = next()
	return rest, row, errSeq == nil && errParent == nil && parent >= 0 && parent < seq
}
