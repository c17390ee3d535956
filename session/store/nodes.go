package store

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"sort"
	"sync"

	"parley/providers/llm"
)

// A nodeRow is a row of nodes, before or after decoding.
type nodeRow struct {
	Node
	extra, parts string // JSON
	refs         []blobRef
	err          error // the first damage in it
}

// decode decodes the JSON of a row, whose other columns are set. Damage is left out and reported in r.err.
func (r *nodeRow) decode() {
	n := &r.Node
	var err, errParts error
	if r.extra != "{}" && !readExtra(n, r.extra) {
		err = json.Unmarshal([]byte(r.extra), &nodeExtra{Node: n})
	}
	n.Parts, r.refs, errParts = decodeParts(r.parts)
	err = cmp.Or(errParts, err)
	if role := roleOf(n); role != n.Role {
		err = cmp.Or(err, fmt.Errorf("role = %.40q: taken for %s", string(n.Role), role))
		n.Role = role
	}
	r.err, r.extra, r.parts = cmp.Or(err, r.err), "", ""
}

// readNodes reads the messages of a session from a table, by rising Seq. Damaged numbers and
// parents are replaced, so that each message follows one before it, or none.
func readNodes(q Tx, session int64, damage *damageReport, table string) ([]Node, error) {
	where, args := messagesOf(q, session)
	rows, err := readRows(q, damage, 0, table+` WHERE `+where, args...)
	nodes := make([]Node, 0, rows.count())
	for r := range rows.all {
		nodes = append(nodes, r.Node)
		if r.err != nil {
			damage.add(fmt.Errorf("message %d: %w", r.Seq, r.err))
		}
	}
	renumberDamaged(nodes, damage)
	reparentOrphans(nodes, damage)
	return nodes, readBlobs(q, rows.refs(), damage, err)
}

// A nodeRef refers to the content in blobs that a message's parts lack until readBlobs.
type nodeRef struct {
	parts []llm.Part
	blobRef
}

// readBlobs completes parts, and returns err, or else its own first error.
func readBlobs(q Tx, refs []nodeRef, damage *damageReport, err error) error {
	blobs := blobReader{q: q, data: map[string][]byte{}, damage: damage, err: err}
	for _, ref := range refs {
		blobs.fill(&ref.parts[ref.part], ref.blobRef)
	}
	return blobs.err
}

// batchSize is how many messages are decoded while the next ones are read: in a long
// conversation both take the same time.
const batchSize = 256

// A nodeRows holds rows in the batches in which they were decoded.
type nodeRows [][]nodeRow

// all calls f with each row, until f returns false.
func (rows nodeRows) all(f func(*nodeRow) bool) {
	for _, batch := range rows {
		for i := range batch {
			if !f(&batch[i]) {
				return
			}
		}
	}
}

func (rows nodeRows) count() (n int) {
	for _, batch := range rows {
		n += len(batch)
	}
	return n
}

// refs returns the references of the rows to blobs.
func (rows nodeRows) refs() (refs []nodeRef) {
	for r := range rows.all {
		for _, ref := range r.refs {
			refs = append(refs, nodeRef{r.Parts, ref})
		}
	}
	return refs
}

// readRows reads and decodes messages by rising seq. Expected is their approximate number; 0:
// unknown. From is the query from FROM on.
func readRows(q Tx, damage *damageReport, expected int, from string, args ...any) (nodeRows, error) {
	var done nodeRows
	batch := make([]nodeRow, 0, min(expected, batchSize))
	var decoding sync.WaitGroup
	decode := func() {
		rows := batch
		if done, batch = append(done, rows), nil; len(rows) == batchSize {
			batch = make([]nodeRow, 0, batchSize)
		}
		decoding.Go(func() {
			for i := range rows {
				rows[i].decode()
			}
		})
	}
	var c columns
	var n nodeRow
	row := c.places("seq parent at role origin model rest parts", &n.Seq, &n.Parent, &n.At, (*string)(&n.Role), &n.Origin, &n.Model, &n.extra, &n.parts)
	err := EachRow(q, func(rows *sql.Rows) error {
		if err := rows.Scan(row...); err != nil {
			damage.add(err)
			return nil
		}
		n.err = c.err()
		if batch = append(batch, n); len(batch) == batchSize {
			decode()
		}
		return nil
	}, `SELECT seq, parent, at, role, origin, model, rest, parts FROM `+from+` ORDER BY seq, num`, args...)
	decode()
	decoding.Wait()
	return done, err
}

// roleOf returns the role of n, or the role implied by its parts if they do not match.
func roleOf(n *Node) llm.Role {
	var calls, results, other bool
	for i := range n.Parts {
		p := &n.Parts[i]
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

// maxGaps is how many numbers may be missing in a session before a number counts as
// damaged.
const maxGaps = 1000

// renumberDamaged gives messages with a damaged number the first free one, and sorts all
// by Seq. A row gets the same number each time it is read, and never that of a message
// written later.
func renumberDamaged(nodes []Node, damage *damageReport) {
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
			damage.add(fmt.Errorf("message %d is out of sequence: read as message %d", n.Seq, free))
			n.Seq, taken[free] = free, true
		}
	}
	sort.SliceStable(nodes, func(i, j int) bool { return nodes[i].Seq < nodes[j].Seq })
}

// reparentOrphans replaces a parent that is missing or not before its node by the last node
// before that parent, or the node before the child. As parents come first, there are no
// cycles.
func reparentOrphans(nodes []Node, damage *damageReport) {
	for i := range nodes {
		n, before := &nodes[i], nodes[:i]
		at, found := findSeq(before, n.Parent)
		if n.Parent == 0 || found {
			continue
		}
		to := i - 1
		if n.Parent > 0 && n.Parent < n.Seq {
			to = at - 1
		}
		parent := 0
		if to >= 0 {
			parent = before[to].Seq
		}
		damage.add(fmt.Errorf("message %d follows message %d: taken to follow message %d", n.Seq, n.Parent, parent))
		n.Parent = parent
	}
}

// Texts for an answer and for calls that were interrupted because the program ended.
const (
	PartialAnswerText = "Interrupted: the program ended before the answer was complete"
	// of a call that had started
	startedCallText = "Interrupted: the program ended while this ran. What it did until then is not known."
	// of a call that had not started, or only read
	unstartedCallText = "Interrupted: the program ended before this was finished. It changed nothing."
)

// CloseInterrupted returns a partial n as completed after its writer has ended: a
// response is marked Interrupted, and tool results get one for each of calls, the
// calls of the message before n. It returns a node that is not partial unchanged.
func CloseInterrupted(n Node, calls []llm.Part) Node {
	if !n.Partial {
		return n
	}
	n.Partial = false
	switch n.Role {
	case llm.RoleAssistant:
		n.Interrupted, n.InterruptedBy = true, PartialAnswerText
	case llm.RoleTool:
		missing := unanswered(n, calls)
		n.Parts = append(n.Parts[:len(n.Parts):len(n.Parts)], missing...)
		n.Results = withStopped(n.Results, missing)
	}
	return n
}

// withStopped returns results in which the calls of missing that had not started are stopped rather
// than failed.
func withStopped(results map[string]Outcome, missing []llm.Part) map[string]Outcome {
	all := maps.Clone(results)
	for _, p := range missing {
		if o := all[p.ID]; !o.Started {
			if all == nil {
				all = map[string]Outcome{}
			}
			o.Stopped = true
			all[p.ID] = o
		}
	}
	return all
}

// unanswered returns a failed result for each call without a result in n.
func unanswered(n Node, calls []llm.Part) (missing []llm.Part) {
	has := map[string]bool{}
	for _, p := range n.Parts {
		has[p.ID] = true
	}
	for _, c := range calls {
		if has[c.ID] {
			continue
		}
		text := unstartedCallText
		if n.Results[c.ID].Started {
			text = startedCallText
		}
		missing = append(missing, llm.Part{Kind: llm.Result, ID: c.ID, Name: c.Name, Text: text, Failed: true})
	}
	return missing
}
