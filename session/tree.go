package session

import (
	"fmt"

	"parley/providers/llm"
)

// A Tree holds every message of a conversation. Editing a message or asking for
// another answer grows a branch; nothing is overwritten. The zero value is
// empty. It is the seam behind which conversations are kept: in memory here.
type Tree struct {
	nodes []node
	head  int // index+1 of the last message of the current branch; 0: none
}

type node struct {
	parent int // like head
	llm.Message
}

// Add appends m to the current branch.
func (t *Tree) Add(m llm.Message) {
	t.nodes = append(t.nodes, node{t.head, m})
	t.head = len(t.nodes)
}

// Path returns the current branch from its first message to its last. The slice
// is the caller's; the parts are shared and never changed.
func (t *Tree) Path() []llm.Message {
	n := 0
	for i := t.head; i > 0; i = t.nodes[i-1].parent {
		n++
	}
	path := make([]llm.Message, n)
	for i := t.head; i > 0; i = t.nodes[i-1].parent {
		n--
		path[n] = t.nodes[i-1].Message
	}
	return path
}

// Last returns the last message of the current branch.
func (t *Tree) Last() (llm.Message, bool) {
	if t.head == 0 {
		return llm.Message{}, false
	}
	return t.nodes[t.head-1].Message, true
}

// Back makes the branch end one message earlier.
func (t *Tree) Back() {
	if t.head > 0 {
		t.head = t.nodes[t.head-1].parent
	}
}

// Rewind makes the branch end before its nth message of the user's, counted
// from 0, and returns that message.
func (t *Tree) Rewind(n int) (llm.Message, error) {
	var users []int
	for i := t.head; i > 0; i = t.nodes[i-1].parent {
		if t.nodes[i-1].Role == llm.RoleUser {
			users = append(users, i)
		}
	}
	if n < 0 || n >= len(users) {
		return llm.Message{}, fmt.Errorf("there is no message %d of yours: the conversation has %d", n+1, len(users))
	}
	at := t.nodes[users[len(users)-1-n]-1]
	t.head = at.parent
	return at.Message, nil
}
