package archive

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Notice tells of things of one kind that could not be taken over.
type Notice struct {
	What  string `json:"what"`            // the kind, in words for a user
	Count int    `json:"count"`           // how many there were
	First string `json:"first,omitempty"` // where the first of them was, such as "line 12"; "" if that is not known
}

// String returns n on one line.
func (n Notice) String() string {
	text := fmt.Sprintf("%s (%d)", n.What, n.Count)
	switch {
	case n.First == "":
	case n.Count > 1:
		text += ": first in " + n.First
	default:
		text += ": " + n.First
	}
	return text
}

// skipped counts what could not be taken over, by kind, and knows where reading is.
type skipped struct {
	kinds map[string]*Notice
	now   place
}

// A place is where in a file something stands. The zero value is the file as a whole.
type place struct {
	unit string // "line", "conversation", …; with n 0 the place itself, such as "message x"
	n    int
}

func (p place) String() string {
	if p.n > 0 {
		return fmt.Sprintf("%s %d", p.unit, p.n)
	}
	return p.unit
}

func newSkipped() *skipped { return &skipped{kinds: map[string]*Notice{}} }

// at says that what follows is about the nth unit of a file; of 0, that unit names the place.
func (n *skipped) at(unit string, number int) { n.now = place{unit, number} }

// The things that are counted, in the words of their notices.
const (
	badLines       = "malformed lines skipped"
	longLines      = "lines or conversations skipped: too long"
	unknownLines   = "lines of unknown types skipped"
	badMessages    = "invalid messages skipped"
	orphans        = "messages attached to the one before: their parent is missing"
	badAnnotations = "notices skipped: invalid, or too many"
	badHeads       = "conversations that continue from their last message: the selected one is missing"
	strayResults   = "results skipped that answer no call"
	unanswered     = "calls without a result: may or may not have run"
	unknownBlocks  = "parts of unknown types skipped"
	noFiles        = "images and files skipped: not in the file"
	subagents      = "messages of subagents skipped"
	injected       = "messages skipped: added by the program itself"
	subsessions    = "conversations of subagents skipped"
	failedAnswers  = "answers skipped: empty, because they failed"
	emptyCalls     = "calls skipped: without a name"
	systemPrompts  = "system prompts skipped: not part of a conversation"
	schemas        = "schemas of answers skipped"
	newerTurns     = "turns skipped: in a form this parley does not read yet"
	badRows        = "invalid rows skipped"
	links          = "links to other folders skipped"
)

// decode reads data into v, as decode does, or counts it as what.
func (n *skipped) decode(data []byte, v any, what string) bool {
	if decode(data, v) != nil {
		n.add(what, 1)
		return false
	}
	return true
}

func (n *skipped) add(what string, count int) {
	if count <= 0 {
		return
	}
	if n.kinds[what] == nil {
		n.kinds[what] = &Notice{What: what, First: n.now.String()}
	}
	n.kinds[what].Count += count
}

// take adds what another counter has.
func (n *skipped) take(other *skipped) {
	for what, o := range other.kinds {
		n.add(what, o.Count)
		if have := n.kinds[what]; have.Count == o.Count {
			have.First = o.First
		}
	}
}

// list returns what was counted, in the order of its words.
func (n *skipped) list() []Notice {
	var out []Notice
	for _, notice := range slices.SortedFunc(maps.Values(n.kinds), func(a, b *Notice) int { return strings.Compare(a.What, b.What) }) {
		out = append(out, *notice)
	}
	return out
}
