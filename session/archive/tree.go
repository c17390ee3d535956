package archive

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A tree adds messages that name their parents or children to a conversation, whatever their order.
type tree struct {
	*builder
	nodes    map[string]treeNode
	children map[string][]string
}

// A treeNode is a message of a tree. Its add adds it after the head, unless it says nothing; alone: it may continue a
// response there.
type treeNode struct {
	parent   string
	children []string
	at       time.Time
	add      func(alone bool)
}

// link fills in children, and returns the ids without a parent and all ids, by time.
// Parents and children should agree; one of them may be missing.
func (t *tree) link() (roots, ids []string) {
	for id := range t.nodes {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(t.nodes[a].at.Compare(t.nodes[b].at), strings.Compare(a, b))
	})
	parents := make(map[string]string, len(ids))
	for _, id := range ids {
		parents[id] = cmp.Or(t.nodes[id].parent, parents[id])
		for _, child := range t.nodes[id].children {
			if child != id {
				parents[child] = cmp.Or(parents[child], id)
			}
		}
	}
	t.children = make(map[string][]string, len(ids))
	listed := make(map[string]bool, len(ids))
	list := func(parent, id string) {
		if _, ok := t.nodes[id]; ok && parents[id] == parent && !listed[id] {
			listed[id] = true
			t.children[parent] = append(t.children[parent], id)
		}
	}
	for _, id := range ids {
		for _, child := range t.nodes[id].children {
			list(id, child)
		}
	}
	for _, id := range ids {
		list(parents[id], id)
	}
	return t.children[""], ids
}

// addAll adds all messages, parents before children. Those that no root leads to
// come last: their parents are missing, or they are in a circle.
func (t *tree) addAll() {
	roots, ids := t.link()
	for _, id := range roots {
		t.addSubtree(id, 0)
	}
	for _, id := range ids {
		if _, ok := t.keys[id]; !ok {
			t.skip(orphans)
			t.addSubtree(id, t.last())
		}
	}
}

// addSubtree adds the message id after parent, and all that follow it.
func (t *tree) addSubtree(id string, parent int) {
	type entry struct {
		id     string
		parent int
		alone  bool // an only child
	}
	stack := []entry{{id, parent, parent == 0}}
	for len(stack) > 0 {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if _, twice := t.keys[e.id]; twice {
			continue
		}
		t.head = e.parent
		t.nodes[e.id].add(e.alone)
		t.keys[e.id] = t.head
		children := t.children[e.id]
		alone := len(children) == 1 && (e.alone || t.head != e.parent)
		for _, child := range slices.Backward(children) {
			stack = append(stack, entry{child, t.head, alone})
		}
	}
}
