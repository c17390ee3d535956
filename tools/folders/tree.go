package folders

import (
	"hash/maphash"
	"strings"
)

// A node is a folder. Nodes refer to each other by index; 0 is the workspace, or none.
type node struct {
	name              string
	parent            int32 // free: there is no such folder
	child, next, prev int32 // the first folder in it; the folders beside it
	same              int32 // the next node with the same hash
	watch             int32 // 0: none
	inode             uint64
	born              Mark // the last mark before the folder was found
	flags             uint8
}

const free = -1

const (
	leaf    = 1 << iota // a .git folder, which is not entered
	fresh               // the names in it are reported when it is listed
	present             // seen by the current listing of its parent
	holds               // it has, or had, a .git or HEAD in it
	inGit               // it is in a .git folder
)

// A tree holds folders in about 100 bytes each.
type tree struct {
	nodes  []node
	unused []int32 // free nodes
	byName map[uint32]int32
	seed   maphash.Seed
}

func newTree() tree {
	return tree{nodes: make([]node, 1), byName: map[uint32]int32{}, seed: maphash.MakeSeed()}
}

func (t *tree) hash(parent int32, name string) uint32 {
	h := maphash.String(t.seed, name) + uint64(parent)*0x9E3779B97F4A7C15
	return uint32(h>>32) ^ uint32(h)
}

// find returns the folder of a name in parent; 0 if there is none.
func (t *tree) find(parent int32, name string) int32 {
	n := t.byName[t.hash(parent, name)]
	for n != 0 && (t.nodes[n].parent != parent || t.nodes[n].name != name) {
		n = t.nodes[n].same
	}
	return n
}

// add adds a folder that does not exist.
func (t *tree) add(parent int32, name string, born Mark) int32 {
	n := int32(len(t.nodes))
	if last := len(t.unused) - 1; last >= 0 {
		n, t.unused = t.unused[last], t.unused[:last]
	} else {
		t.nodes = append(t.nodes, node{})
	}
	t.nodes[n] = node{born: born}
	t.attach(n, parent, strings.Clone(name))
	return n
}

func (t *tree) attach(n, parent int32, name string) {
	h := t.hash(parent, name)
	d := &t.nodes[n]
	d.parent, d.name, d.same, d.prev, d.next = parent, name, t.byName[h], 0, t.nodes[parent].child
	if d.next != 0 {
		t.nodes[d.next].prev = n
	}
	t.nodes[parent].child, t.byName[h] = n, n
}

func (t *tree) detach(n int32) {
	d := &t.nodes[n]
	h := t.hash(d.parent, d.name)
	if first := t.byName[h]; first != n {
		for t.nodes[first].same != n {
			first = t.nodes[first].same
		}
		t.nodes[first].same = d.same
	} else if d.same != 0 {
		t.byName[h] = d.same
	} else {
		delete(t.byName, h)
	}
	if d.prev != 0 {
		t.nodes[d.prev].next = d.next
	} else {
		t.nodes[d.parent].child = d.next
	}
	if d.next != 0 {
		t.nodes[d.next].prev = d.prev
	}
}

// remove removes a folder and those in it, and passes each to removed.
func (t *tree) remove(n int32, removed func(int32)) {
	for t.nodes[n].child != 0 {
		t.remove(t.nodes[n].child, removed)
	}
	removed(n)
	t.detach(n)
	t.nodes[n] = node{parent: free}
	t.unused = append(t.unused, n)
}

// level returns the number of folders above n.
func (t *tree) level(n int32) (levels int) {
	for ; n != 0; n = t.nodes[n].parent {
		levels++
	}
	return levels
}

// isIn reports whether n is dir or in it.
func (t *tree) isIn(n, dir int32) bool {
	for n != dir && n != 0 {
		n = t.nodes[n].parent
	}
	return n == dir
}

// path returns the path of a folder; "." for the workspace.
func (t *tree) path(n int32) string {
	if n == 0 {
		return "."
	}
	size := -1
	for at := n; at != 0; at = t.nodes[at].parent {
		size += 1 + len(t.nodes[at].name)
	}
	path := make([]byte, size)
	for at := n; at != 0; at = t.nodes[at].parent {
		size -= copy(path[size-len(t.nodes[at].name):], t.nodes[at].name)
		if size > 0 {
			size--
			path[size] = '/'
		}
	}
	return string(path)
}

// makePath returns the folder at a path, which it adds; 0 for one that is not in the workspace.
func (t *tree) makePath(path string) (n int32) {
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." {
			return 0
		}
		below := t.find(n, name)
		if below == 0 {
			below = t.add(n, name, 0)
		}
		n = below
	}
	return n
}
