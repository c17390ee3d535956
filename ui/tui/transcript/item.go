package transcript

// A kind says what a block is, for ids, folding and jumping.
type kind int

const (
	aNote kind = iota // also footers and errors
	aUser
	aThought
	anAnswer
	aCall
)

// A key names an item. Ids of different kinds do not meet.
type key struct {
	kind kind
	id   string
}

// An item is a block in its place, with the lines it was last laid out in.
type item struct {
	block
	kind    kind
	seq     int // counts all items ever added
	tag     int // number of the message it belongs to
	fold    fold
	state   state
	held    bool  // shows older lines than it has: see Model.lay
	awaited bool  // is in Model.grown
	of      *item // the group of a call that is one of several
	joined  bool  // goes on with the one before, without a blank row between
	sign    string
	lines   []string
	peak    int // most lines it had, to tell how many are new; 0 if that is not known

	found     int  // how often it has what is searched for
	uncounted bool // found is no longer true: it is in search.changed
	spans     []match
	marked    bool // spans are true
}

// A fold is what a user said about one item.
type fold int

const (
	asAll fold = iota // as all of its kind
	folded
	unfolded
)

// A state says how far the lines of an item are true.
type state int

const (
	changed state = iota // there is more to show
	stale                // the same has to be shown in another way
	laid
)

// forget lets the lines go. They are made again when they come in sight.
func (it *item) forget() {
	it.lines, it.state, it.held, it.peak = nil, stale, false, 0
	it.spans, it.marked = nil, false
	if b, ok := it.block.(interface{ release() }); ok {
		b.release()
	}
}

// weight returns how much the lines of the item count where they are kept; see evict.
func (it *item) weight() int {
	if it.lines == nil {
		return 0
	}
	return 1 + len(it.lines)/32
}

// countRows returns how many lines the item has, without making them if they were counted.
func countRows(m *Model, it *item) int {
	if it.state == stale && it.peak > 0 {
		return it.peak
	}
	return len(m.lay(it))
}

// shares reports whether both items are sections of one answer.
func (it *item) shares(other *item) bool {
	a, ok := it.block.(*answer)
	b, also := other.block.(*answer)
	return ok && also && a.of == b.of
}

// markup reports whether the block is shown as Markdown.
func (it *item) markup() bool {
	_, summed := it.block.(*summary)
	return summed || it.kind == anAnswer
}

// footer reports whether the block closes a turn.
func (it *item) footer() bool {
	b, ok := it.block.(*words)
	return ok && b.manner == footed
}

// settled reports whether nothing more is to come.
func (it *item) settled() bool {
	switch b := it.block.(type) {
	case *thinking:
		return b.done
	case *answer:
		return b.done
	case *call:
		return b.tool.Status > Running
	}
	return true
}
