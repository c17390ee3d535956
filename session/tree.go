package session

import (
	"fmt"
	"slices"

	"parley/providers/llm"
	"parley/session/cachewatch"
	"parley/session/store"
)

// A Tree holds every message of a conversation. Editing a message or asking for
// another answer grows a branch; nothing is overwritten. The zero value is
// empty.
type Tree struct {
	nodes []store.Node // the one of Seq n at n-1
	head  int          // Seq of the last message of the current branch; 0: none

	annotations []store.Annotation // what was shown between them, by rising N
	replaced    int                // the lowest Seq that Put replaced, since keptHistories looked; 0: none
}

// newTree returns a tree of nodes that were kept, by rising Seq and each behind its
// parent, as the store gives them. In the place of one that is lost stands a node
// without a role, which no other follows. The slice is the tree's from now on.
func newTree(nodes []store.Node, head int) Tree {
	t := Tree{nodes: nodes, head: head}
	if n := len(nodes); n > 0 && nodes[n-1].Seq != n {
		t.nodes = make([]store.Node, 0, nodes[n-1].Seq)
		for _, n := range nodes {
			for len(t.nodes)+1 < n.Seq {
				t.nodes = append(t.nodes, store.Node{Seq: len(t.nodes) + 1})
			}
			t.nodes = append(t.nodes, n)
		}
	}
	if head < 0 || head > len(t.nodes) || head > 0 && isLost(t.nodes[head-1]) {
		t.head = len(t.nodes)
	}
	return t
}

// isLost reports whether n stands in the place of a message that is lost.
func isLost(n store.Node) bool { return n.Role == "" }

// NewNode returns a node for m that follows the current branch. It is not added yet.
func (t *Tree) NewNode(m llm.Message) store.Node {
	return store.Node{Seq: len(t.nodes) + 1, Parent: t.head, Message: m}
}

// Put adds a node that Next made, and makes it the end of the current branch,
// or replaces the one that was added under its Seq.
func (t *Tree) Put(n store.Node) {
	if n.Seq <= len(t.nodes) {
		t.nodes[n.Seq-1] = n
		if t.replaced == 0 || n.Seq < t.replaced {
			t.replaced = n.Seq
		}
		return
	}
	t.nodes = append(t.nodes, n)
	t.head = n.Seq
}

// Path returns the current branch from its first message to its last. The slice
// is the caller's; the parts are shared and never changed.
func (t *Tree) Path() []store.Node { return t.PathTo(t.head) }

// PathTo returns the branch that ends with the message seq.
func (t *Tree) PathTo(seq int) []store.Node {
	var path []store.Node
	for i := seq; i > 0; i = t.nodes[i-1].Parent {
		path = append(path, t.nodes[i-1])
	}
	slices.Reverse(path)
	return path
}

// pathBack returns the last n messages of the branch that ends with the message seq.
func (t *Tree) pathBack(seq, n int) []store.Node {
	var path []store.Node
	for i := seq; i > 0 && len(path) < n; i = t.nodes[i-1].Parent {
		path = append(path, t.nodes[i-1])
	}
	slices.Reverse(path)
	return path
}

// summarized counts the messages in front of the message seq back to a summary, with that.
func (t *Tree) summarized(seq int) (n int) {
	for i := t.nodes[seq-1].Parent; i > 0; i = t.nodes[i-1].Parent {
		if n++; t.nodes[i-1].Summary {
			break
		}
	}
	return n
}

// lastPrompt returns the Seq of the last prompt of the current branch that is not behind began,
// or of the last of all if began is 0; 0 if there is none.
func (t *Tree) lastPrompt(began int) int {
	for i := t.head; i > 0; i = t.nodes[i-1].Parent {
		if n := &t.nodes[i-1]; n.Role == llm.RoleUser && !n.Summary && (began == 0 || n.Seq <= began) {
			return n.Seq
		}
	}
	return 0
}

// pathFrom returns the current branch from the message seq on, which is on it; all of it for 0.
func (t *Tree) pathFrom(seq int) []store.Node {
	var path []store.Node
	for i := t.head; i > 0; i = t.nodes[i-1].Parent {
		path = append(path, t.nodes[i-1])
		if i == seq {
			break
		}
	}
	slices.Reverse(path)
	return path
}

// At returns the message seq.
func (t *Tree) At(seq int) (store.Node, error) {
	if seq < 1 || seq > len(t.nodes) || isLost(t.nodes[seq-1]) {
		return store.Node{}, fmt.Errorf("no message %d: the conversation has %d", seq, len(t.nodes))
	}
	return t.nodes[seq-1], nil
}

// Last returns the last message of the current branch.
func (t *Tree) Last() (store.Node, bool) {
	if t.head == 0 {
		return store.Node{}, false
	}
	return t.nodes[t.head-1], true
}

// lastUsage returns what the last response of the current branch used.
func (t *Tree) lastUsage() llm.Usage {
	for i := t.head; i > 0; i = t.nodes[i-1].Parent {
		if n := t.nodes[i-1]; n.Usage != nil && !n.Summary && n.Origin != llm.OriginImages {
			return *n.Usage
		}
	}
	return llm.Usage{}
}

// Tip returns the end of the branch through the message seq that grew last.
func (t *Tree) Tip(seq int) int {
	below := make([]bool, len(t.nodes)+1)
	below[seq] = true
	tip := seq
	for _, n := range t.nodes[seq:] {
		if below[n.Parent] {
			below[n.Seq] = true
			tip = n.Seq
		}
	}
	return tip
}

// A Branch is a place where the conversation went on in several ways, or the
// beginning of it.
type Branch struct {
	Node        store.Node // the first message that differs
	Depth       int        // how many branches it is away from the beginning
	Length      int        // messages from Node to the end of the branch, without those of branches off it
	Descendants int        // messages behind Node, on all branches
	Tip         int        // Seq of its last message
	Active      bool       // the current branch goes through it
}

// Branches lists every branch, each behind the one it grew from, in the order
// in which they began.
func (t *Tree) Branches() []Branch {
	children := make([][]int, len(t.nodes)+1)
	for _, n := range t.nodes {
		if !isLost(n) {
			children[n.Parent] = append(children[n.Parent], n.Seq)
		}
	}
	active := map[int]bool{}
	for _, n := range t.Path() {
		active[n.Seq] = true
	}
	var out []Branch
	var walk func(seq, depth int) int
	walk = func(seq, depth int) int {
		b := Branch{Node: t.nodes[seq-1], Depth: depth, Active: active[seq]}
		end := seq
		for b.Length = 1; len(children[end]) == 1; b.Length++ {
			end = children[end][0]
		}
		b.Tip, b.Descendants = end, b.Length-1
		at := len(out)
		out = append(out, b)
		for _, child := range children[end] {
			out[at].Descendants += walk(child, depth+1)
		}
		return out[at].Descendants + 1
	}
	for _, root := range children[0] {
		walk(root, 0)
	}
	return out
}

// divergence returns why the messages of a request do not begin with those of one before
// it; "" if they do. It follows the branches only back to where they part.
func (t *Tree) divergence(before, now cachewatch.Request) (cachewatch.Cause, string) {
	parent := func(seq int) int { return t.nodes[seq-1].Parent }
	a, b, next := before.To, now.To, 0 // next is the first message that only before has
	summarized := false
	for a != b {
		if a > b {
			a, next = parent(a), a
			continue
		}
		summarized = summarized || t.nodes[b-1].Summary
		b = parent(b)
	}
	switch {
	case a != before.To:
		return cachewatch.PromptChanged, fmt.Sprintf("prompt %d", max(t.prompts(next), 1))
	case before.First == "" || before.First == now.First:
		return "", ""
	case summarized:
		return cachewatch.Summarized, ""
	}
	return cachewatch.HistoryLeftOut, ""
}

// prompts counts the prompts of the branch that ends with the message seq.
func (t *Tree) prompts(seq int) (n int) {
	for ; seq > 0; seq = t.nodes[seq-1].Parent {
		if m := t.nodes[seq-1]; m.Role == llm.RoleUser && !m.Summary {
			n++
		}
	}
	return n
}
