package session

import (
	"fmt"
	"iter"
	"slices"

	"parley/providers/llm"
	"parley/session/cachewatch"
	"parley/session/store"
)

// A tree holds every message of a conversation. Editing a message or
// regenerating an answer adds a branch; nothing is overwritten. The zero value
// is empty.
type tree struct {
	pages [][]store.Node // pageSize messages each, by rising Seq from 1; nil: not read yet
	count int            // messages
	head  int            // Seq of the last message of the current branch; 0: none

	stored int // number of first messages to load through read
	read   func(from, to int) ([]store.Node, error)
	unread error // why some messages could not be read; nil if all could

	straight int // number of first messages known to be unbranched

	turnsUpTo func(seq int) (n int, ok bool) // counts the turns of stored messages without reading them; nil: it cannot
	counted   omission                       // the turns up to the message countedTo
	countedTo int                            // Seq; 0: none

	annotations []store.Annotation // events shown between messages, by rising N
	replaced    int                // lowest Seq that Put replaced since historyCache last checked; 0: none
}

// pageSize is the number of messages read at once from a long conversation.
const pageSize = 256

// newTree returns a tree of stored nodes, by rising Seq and each after its
// parent, as the store returns them. A lost message is replaced by a node
// without a role, which is not the parent of any other. The tree owns the
// slice.
func newTree(nodes []store.Node, head int) tree {
	if n := len(nodes); n > 0 && nodes[n-1].Seq != n {
		sparse := nodes
		nodes = make([]store.Node, 0, sparse[n-1].Seq)
		for _, n := range sparse {
			for len(nodes)+1 < n.Seq {
				nodes = append(nodes, store.Node{Seq: len(nodes) + 1})
			}
			nodes = append(nodes, n)
		}
	}
	t := tree{count: len(nodes), head: head}
	for page := range slices.Chunk(nodes, pageSize) {
		t.pages = append(t.pages, page)
	}
	if head < 0 || head > len(nodes) || head > 0 && isLost(nodes[head-1]) {
		t.head = len(nodes)
	}
	for page := range t.pages {
		t.closePartials(page)
	}
	return t
}

// storedTree returns a tree of n messages loaded through read on demand.
func storedTree(n, head int, read func(from, to int) ([]store.Node, error)) tree {
	return tree{pages: make([][]store.Node, (n+pageSize-1)/pageSize), count: n, head: head, stored: n, read: read}
}

// at returns the message seq, from 1 to count. An unreadable message counts as lost, and
// reading it is retried the next time.
func (t *tree) at(seq int) *store.Node {
	page := (seq - 1) / pageSize
	if t.pages[page] == nil && !t.readPage(page) {
		return &store.Node{Seq: seq}
	}
	return &t.pages[page][(seq-1)%pageSize]
}

// readPage reads a page of stored messages, and reports whether it could.
func (t *tree) readPage(page int) bool {
	first, last := page*pageSize+1, min((page+1)*pageSize, t.stored)
	nodes, err := t.read(first, last)
	if err != nil {
		t.unread = err
	}
	if len(nodes) != last-first+1 {
		return false
	}
	t.pages[page] = nodes
	t.closePartials(page)
	return true
}

// closePartials completes the messages of a page that were still in progress when their program
// ended.
func (t *tree) closePartials(page int) {
	for i, n := range t.pages[page] {
		if n.Partial {
			before, _ := t.At(n.Parent) // the zero node has no calls
			t.pages[page][i] = store.CloseInterrupted(n, before.Calls())
		}
	}
}

// each calls f with each message, by rising Seq, until f returns false.
func (t *tree) each(f func(*store.Node) bool) {
	for seq := 1; seq <= t.count && f(t.at(seq)); seq++ {
	}
}

// isLost reports whether n replaces a lost message.
func isLost(n store.Node) bool { return n.Role == "" }

// newNode returns a node for m that follows the current branch. It is not added yet.
func (t *tree) newNode(m llm.Message) store.Node {
	return store.Node{Seq: t.count + 1, Parent: t.head, Message: m}
}

// Put appends a node made by newNode to the current branch, or replaces the node with the same
// Seq.
func (t *tree) Put(n store.Node) {
	if n.Seq <= t.count {
		*t.at(n.Seq) = n
		if t.replaced == 0 || n.Seq < t.replaced {
			t.replaced = n.Seq
		}
		return
	}
	if t.count%pageSize == 0 {
		t.pages = append(t.pages, []store.Node{})
	} else {
		t.at(t.count) // loads its page
	}
	last := len(t.pages) - 1
	t.pages[last] = append(t.pages[last], n)
	t.count, t.head = n.Seq, n.Seq
}

// Path returns the current branch from its first message to its last. The
// caller owns the slice; the parts are shared and never changed.
func (t *tree) Path() []store.Node { return t.pathTo(t.head) }

// back returns the messages of the branch ending with the message seq, last one first.
func (t *tree) back(seq int) iter.Seq[*store.Node] {
	return func(yield func(*store.Node) bool) {
		for seq > 0 {
			n := t.at(seq)
			if !yield(n) {
				return
			}
			seq = n.Parent
		}
	}
}

// pathTo returns the branch ending with the message seq.
func (t *tree) pathTo(seq int) []store.Node { return t.pathBack(seq, t.count) }

// pathBack returns the last n messages of the branch ending with the message seq.
func (t *tree) pathBack(seq, n int) (path []store.Node) {
	for m := range t.back(seq) {
		if len(path) == n {
			break
		}
		path = append(path, *m)
	}
	slices.Reverse(path)
	return path
}

// summarized counts the messages before the message seq back to the previous summary, including it.
func (t *tree) summarized(seq int) (count int) {
	for n := range t.back(t.at(seq).Parent) {
		if count++; n.Summary {
			break
		}
	}
	return count
}

// turnsTo counts the turns of the branch ending with the message seq, back to the last summary.
func (t *tree) turnsTo(seq int) (o omission) {
	last := seq
	for seq > 0 && !o.summary {
		if seq == t.countedTo {
			o.turns, o.summary = o.turns+t.counted.turns, t.counted.summary
			break
		}
		if ask := t.turnsUpTo; ask != nil && seq <= t.stored {
			t.turnsUpTo = nil // once: later counts begin at this one
			if n, ok := ask(seq); ok {
				o.turns += n
				break
			}
		}
		n := t.at(seq)
		if o.summary = n.Summary; beginsTurn(n) {
			o.turns++
		}
		seq = n.Parent
	}
	if t.unread == nil {
		t.counted, t.countedTo = o, last
	}
	return o
}

// lastPrompt returns the Seq of the last prompt of the current branch up to the message began,
// or of the last prompt at all if began is 0; 0 if there is none.
func (t *tree) lastPrompt(began int) int {
	for n := range t.back(t.head) {
		if beginsTurn(n) && (began == 0 || n.Seq <= began) {
			return n.Seq
		}
	}
	return 0
}

// pathFrom returns the current branch from its message seq on; all of it for 0.
func (t *tree) pathFrom(seq int) (path []store.Node) {
	for n := range t.back(t.head) {
		path = append(path, *n)
		if n.Seq == seq {
			break
		}
	}
	slices.Reverse(path)
	return path
}

// followed returns the Seq of the message that follows each one of the current branch, back to the last one before the
// message from, or for which last is true. The next message follows the end.
func (t *tree) followed(from int, last func(*store.Node) bool) map[int]int {
	by, next := map[int]int{}, t.count+1
	for n := range t.back(t.head) {
		by[n.Seq], next = next, n.Seq
		if n.Seq < from || last(n) {
			return by
		}
	}
	by[0] = next
	return by
}

// At returns the message seq.
func (t *tree) At(seq int) (store.Node, error) {
	if seq < 1 || seq > t.count || isLost(*t.at(seq)) {
		return store.Node{}, fmt.Errorf("no message %d: the conversation has %d", seq, t.count)
	}
	return *t.at(seq), nil
}

// Last returns the last message of the current branch.
func (t *tree) Last() (store.Node, bool) {
	if t.head == 0 {
		return store.Node{}, false
	}
	return *t.at(t.head), true
}

// lastUsage returns the usage of the last response on the current branch.
func (t *tree) lastUsage() llm.Usage {
	for n := range t.back(t.head) {
		if n.Usage != nil && !n.Summary && n.Origin != llm.OriginImages {
			return *n.Usage
		}
	}
	return llm.Usage{}
}

// Tip returns the end of the most recently grown branch through the message
// seq.
func (t *tree) Tip(seq int) int {
	below := make([]bool, t.count+1)
	below[seq] = true
	tip := seq
	for n := seq + 1; n <= t.count; n++ {
		if below[t.at(n).Parent] {
			below[n] = true
			tip = n
		}
	}
	return tip
}

// A Branch is one of several continuations after a message, or the beginning of
// the conversation.
type Branch struct {
	Node   store.Node // the first message that differs
	Depth  int        // number of branchings before it
	Length int        // messages from Node to the end of the branch, without branches off it
	Path   int        // messages from Node to the end of the current path, or of the most recently grown one if the current path is elsewhere
	Tip    int        // Seq of its last message
	Active bool       // the current branch goes through it
}

// Branches lists every branch, each after the one it grew from, in order of
// their first messages. What follows the last message of the current branch is a branch too.
func (t *tree) Branches() []Branch {
	children := make([][]int, t.count+1)
	t.each(func(n *store.Node) bool {
		if !isLost(*n) {
			children[n.Parent] = append(children[n.Parent], n.Seq)
		}
		return true
	})
	active := map[int]bool{}
	for _, n := range t.Path() {
		active[n.Seq] = true
	}
	var out []Branch
	var walk func(seq, depth int) (last, path int) // returns the last message after seq, and the number of messages up to it
	walk = func(seq, depth int) (last, path int) {
		b := Branch{Node: *t.at(seq), Depth: depth, Active: active[seq]}
		end := seq
		for b.Length = 1; len(children[end]) == 1 && end != t.head; b.Length++ {
			end = children[end][0]
		}
		b.Tip = end
		at := len(out)
		out = append(out, b)
		last, behind := end, 0
		for _, child := range children[end] {
			childLast, n := walk(child, depth+1)
			if active[child] || childLast > last && !active[end] {
				behind = n
			}
			last = max(last, childLast)
		}
		if path == 0 {
			path = b.Length + behind
		}
		out[at].Path = path
		return last, path
	}
	for _, root := range children[0] {
		walk(root, 0)
	}
	return out
}

// branched reports whether the conversation has more than one branch. One continues after its last message if that
// is not the last one of all.
func (t *tree) branched() bool {
	for ; t.straight < t.count; t.straight++ {
		if t.at(t.straight+1).Parent != t.straight { // the message before may be lost
			return t.stored > 0 || len(t.Branches()) > 1
		}
	}
	return t.head > 0 && t.head < t.count
}

// divergence returns why the messages of a request do not begin with those of an earlier
// one; "" if they do. It follows the branches back to their common message only.
func (t *tree) divergence(before, now cachewatch.Request) cachewatch.Cause {
	parent := func(seq int) int { return t.at(seq).Parent }
	a, b := before.LastSeq, now.LastSeq
	summarized := false
	for a != b {
		if a > b {
			a = parent(a)
			continue
		}
		summarized = summarized || t.at(b).Summary
		b = parent(b)
	}
	switch {
	case a != before.LastSeq:
		return cachewatch.PromptChanged
	case before.First == "" || before.First == now.First:
		return ""
	case summarized:
		return cachewatch.Summarized
	}
	return cachewatch.HistoryLeftOut
}

// isPrompt reports whether n is a user's message.
func isPrompt(n store.Node) bool { return n.Role == llm.RoleUser && !n.Summary }
