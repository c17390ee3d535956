package store

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"parley/providers/llm"
)

// A batch is messages that are decoded while the next ones are read: in a long
// conversation both take as long.
type batch struct {
	nodes []Node
	rows  [][2][]byte // rest and parts
	blobs []map[string][]int
	errs  []error
}

const batchSize = 256

func (b *batch) decode() {
	b.blobs, b.errs = make([]map[string][]int, len(b.nodes)), make([]error, len(b.nodes))
	for i := range b.nodes {
		b.blobs[i], b.errs[i] = decodeNode(&b.nodes[i], b.rows[i][0], b.rows[i][1])
	}
	b.rows = nil
}

// nodes reads the messages of a session from a table in their order.
func (db *DB) nodes(q querier, session int64, missed *tally, table string) ([]Node, error) {
	batches, err := batches(q, session, missed, table)
	var nodes []Node
	want := map[string][]*llm.Part{}
	for _, b := range batches {
		for i, n := range b.nodes {
			if b.errs[i] != nil {
				missed.miss(fmt.Errorf("message %d: %w", n.Seq, b.errs[i]))
			}
			if n.Seq < 1 || len(nodes) > 0 && n.Seq <= nodes[len(nodes)-1].Seq {
				missed.miss(fmt.Errorf("message %d is out of order", n.Seq))
				continue
			}
			for sha, parts := range b.blobs[i] {
				for _, p := range parts {
					want[sha] = append(want[sha], &n.Parts[p])
				}
			}
			nodes = append(nodes, n)
		}
	}
	rejoin(nodes)
	return nodes, errors.Join(err, fill(q, session, want, missed))
}

// batches reads and decodes all rows of a session.
func batches(q querier, session int64, missed *tally, table string) (all []*batch, err error) {
	rows, err := q.all(`SELECT seq, parent, at, role, origin, model, rest, parts FROM `+table+` WHERE session = ? ORDER BY seq`, session)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var decoding sync.WaitGroup
	defer decoding.Wait()
	b := &batch{}
	all = append(all, b)
	for rows.Next() {
		var n Node
		var at sql.NullInt64
		var rest, parts []byte
		if err := rows.Scan(&n.Seq, &n.Parent, &at, &n.Role, &n.Origin, &n.Model, &rest, &parts); err != nil {
			missed.miss(err)
			continue
		}
		n.At = moment(at)
		b.nodes, b.rows = append(b.nodes, n), append(b.rows, [2][]byte{rest, parts})
		if len(b.nodes) == batchSize {
			decoding.Go(b.decode)
			b = &batch{}
			all = append(all, b)
		}
	}
	b.decode()
	return all, rows.Err()
}

// decodeNode reads what of a node is JSON. After an error it holds what could be
// read.
func decodeNode(n *Node, restText, partsText []byte) (blobs map[string][]int, err error) {
	if string(restText) != "{}" {
		var r rest
		err = json.Unmarshal(restText, &r)
		r.into(n)
	}
	parts, blobs, errParts := decodeParts(partsText)
	n.Parts = parts
	return blobs, cmp.Or(errParts, err)
}

// rejoin makes nodes whose parent could not be read follow the one before, and
// leaves no circles.
func rejoin(nodes []Node) {
	known := map[int]bool{0: true}
	last := 0
	for i := range nodes {
		if n := &nodes[i]; !known[n.Parent] {
			n.Parent = last
		}
		last = nodes[i].Seq
		known[last] = true
	}
}

// fill reads the blobs of a session into the parts that want them.
func fill(q querier, session int64, want map[string][]*llm.Part, missed *tally) error {
	if len(want) == 0 {
		return nil
	}
	rows, err := q.all(`SELECT sha, data FROM blobs WHERE num IN
		(SELECT r.blob FROM nodes n JOIN refs r ON r.node = n.num WHERE n.session = ?)`, session)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var sha string
		var data []byte
		if err := rows.Scan(&sha, &data); err != nil {
			missed.miss(err)
			continue
		}
		for _, p := range want[sha] {
			p.Data = data
		}
		delete(want, sha)
	}
	for sha := range want {
		missed.miss(fmt.Errorf("data %.12s is missing", sha))
	}
	return rows.Err()
}
