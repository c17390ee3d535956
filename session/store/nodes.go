package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"parley/providers/llm"
)

// A batch is messages that are decoded while the next ones are read: in a long
// conversation both take as long.
type batch struct {
	nodes []Node
	rows  [][2][]byte // rest and parts
	blobs []blobs
	errs  []error
	bad   []error // of columns, nil where all are as they should be
}

const batchSize = 256

func (b *batch) decode() {
	b.blobs, b.errs = make([]blobs, len(b.nodes)), make([]error, len(b.nodes))
	for i := range b.nodes {
		b.blobs[i], b.errs[i] = decodeNode(&b.nodes[i], b.rows[i][0], b.rows[i][1])
		b.errs[i] = cmp.Or(b.errs[i], b.bad[i])
	}
	b.rows = nil
}

// readNodes reads the messages of a session from a table in their order. Each follows
// one before it, or none.
func readNodes(q querier, session int64, missed *damageReport, table string) ([]Node, error) {
	batches, err := batches(q, session, missed, table)
	var nodes []Node
	for _, b := range batches {
		for i := range b.nodes {
			n := b.nodes[i]
			if role := roleOf(n); role != n.Role {
				b.errs[i] = cmp.Or(b.errs[i], fmt.Errorf("role = %.40q: taken for %s", string(n.Role), role))
				n.Role = role
			}
			nodes = append(nodes, n)
			if b.errs[i] != nil {
				missed.add(fmt.Errorf("message %d: %w", n.Seq, b.errs[i]))
			}
		}
	}
	want := map[string][]func(data []byte){}
	var joins []func()
	at := 0
	for _, b := range batches {
		for i := range b.nodes {
			parts := nodes[at].Parts
			for sha, gaps := range b.blobs[i].gaps {
				for _, g := range gaps {
					want[sha] = append(want[sha], func(data []byte) { g.fill(&parts[g.part], data) })
				}
			}
			for _, l := range b.blobs[i].longs {
				joins = append(joins, func() { l.join(&parts[l.part]) })
			}
			at++
		}
	}
	renumberDamaged(nodes, missed)
	reparentOrphans(nodes, missed)
	err = errors.Join(err, readBlobs(q, session, want, missed))
	for _, join := range joins {
		join()
	}
	return nodes, err
}

// batches reads and decodes all rows of a session.
func batches(q querier, session int64, missed *damageReport, table string) (all []*batch, err error) {
	rows, err := q.all(`SELECT seq, parent, at, role, origin, model, rest, parts FROM `+table+` WHERE session = ? ORDER BY seq, num`, session)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var decoding sync.WaitGroup
	defer decoding.Wait()
	var c columns
	var n Node
	var rest, parts []byte
	row := []any{numberOf(&c, "seq", &n.Seq), numberOf(&c, "parent", &n.Parent), timeOf(&c, "at", &n.At), textOf(&c, "role", &n.Role),
		textOf(&c, "origin", &n.Origin), textOf(&c, "model", &n.Model), bytesOf(&c, "rest", &rest), bytesOf(&c, "parts", &parts)}
	b := &batch{}
	all = append(all, b)
	for rows.Next() {
		if err := rows.Scan(row...); err != nil {
			missed.add(err)
			continue
		}
		b.nodes, b.rows, b.bad = append(b.nodes, n), append(b.rows, [2][]byte{rest, parts}), append(b.bad, c.err())
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
func decodeNode(n *Node, restText, partsText []byte) (missing blobs, err error) {
	if string(restText) != "{}" {
		var r nodeExtra
		err = json.Unmarshal(restText, &r)
		r.into(n)
	}
	parts, missing, errParts := decodeParts(partsText)
	n.Parts = parts
	return missing, cmp.Or(errParts, err)
}

// roleOf returns whose message n is. A damaged one is told by what it holds: a
// result stands with the tools, a call with the assistant.
func roleOf(n Node) llm.Role {
	var calls, results, other bool
	for _, p := range n.Parts {
		calls = calls || p.Kind == llm.Call || p.Kind == llm.Thinking || p.Kind == llm.Opaque || p.Remote
		results = results || p.Kind == llm.Result && !p.Remote
		other = other || p.Kind == llm.Text
	}
	switch {
	case calls:
		return llm.RoleAssistant
	case n.Role == llm.RoleAssistant && (other || !results), n.Role == llm.RoleTool && !other:
		return n.Role
	case results:
		return llm.RoleTool
	case n.Role == llm.RoleUser, n.Role == llm.RoleTool:
		return n.Role
	case n.Model != "" || n.Origin != "" || n.Usage != nil || n.Reason != "":
		return llm.RoleAssistant
	}
	return llm.RoleUser
}

// maxGaps is how many numbers may be missing in a session: more, and a number is
// taken for damage.
const maxGaps = 1000

// renumberDamaged gives messages whose number is damaged the first one that is free,
// and puts all of them in order: the place of a row that is read again is the
// same each time, and none of those that are written later.
func renumberDamaged(nodes []Node, missed *damageReport) {
	taken := make(map[int]bool, len(nodes))
	damaged := func(n Node) bool { return n.Seq < 1 || n.Seq > 2*len(nodes)+maxGaps }
	bad := 0
	for _, n := range nodes {
		if damaged(n) {
			bad++
			continue
		}
		taken[n.Seq] = true
	}
	if bad == 0 {
		return
	}
	free := 1
	for i := range nodes {
		if n := &nodes[i]; damaged(*n) {
			for taken[free] {
				free++
			}
			missed.add(fmt.Errorf("message %d is out of order: taken for message %d", n.Seq, free))
			n.Seq, taken[free] = free, true
		}
	}
	slices.SortStableFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Seq, b.Seq) })
}

// reparentOrphans makes nodes that follow none before them follow the one in front of the
// one that is missing, or the one before: where parents come first, there are no
// circles.
func reparentOrphans(nodes []Node, missed *damageReport) {
	for i := range nodes {
		n, before := &nodes[i], nodes[:i]
		if n.Parent == 0 || hasSeq(before, n.Parent) {
			continue
		}
		to := i - 1
		if n.Parent > 0 && n.Parent < n.Seq {
			at, _ := slices.BinarySearchFunc(before, n.Parent, func(n Node, seq int) int { return cmp.Compare(n.Seq, seq) })
			to = at - 1
		}
		parent := 0
		if to >= 0 {
			parent = before[to].Seq
		}
		missed.add(fmt.Errorf("message %d follows message %d: taken to follow message %d", n.Seq, n.Parent, parent))
		n.Parent = parent
	}
}

// readBlobs hands the blobs of a session to whom wants them.
func readBlobs(q querier, session int64, want map[string][]func(data []byte), missed *damageReport) error {
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
			missed.add(err)
			continue
		}
		for _, take := range want[sha] {
			take(data)
		}
		delete(want, sha)
	}
	for sha := range want {
		missed.add(fmt.Errorf("data %.12s is missing", sha))
	}
	return rows.Err()
}
