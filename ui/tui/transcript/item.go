package transcript

// A kind says what a block is, for ids, folding and jumping.
type kind int

const (
	kindNote kind = iota // also footers and errors
	kindUser
	kindThinking
	kindAnswer
	kindCall
)

// A key names an item. Ids of different kinds do not meet.
type key struct {
	kind kind
	id   string
}

// An item is a block in its place, with the lines it was last laid out in.
type item struct {
	block
	kind              kind
	seq               int // counts all items ever added
	messageSeq        int // number of the message it belongs to
	fold              fold
	state             state
	keepsLines        bool  // shows older lines than it has: see Model.lay
	isPending         bool  // is in Model.grown
	groupItem         *item // the group of a call that is one of several
	continuesPrevious bool  // goes on with the one before, without a blank row between
	sign              string
	lines             []string
	maxLines          int // most lines it had, to tell how many are new; 0 if that is not known
	matches
}

// matches are where an item has what is searched for.
type matches struct {
	matchCount int  // how often it has it
	countStale bool // that is no longer true: it is in search.changed
	spans      []searchSpan
	spansValid bool // spans are true
}

// A fold is what a user said about one item.
type fold int

const (
	foldDefault fold = iota // as all of its kind
	foldClosed
	foldOpen
)

// A state says how far the lines of an item are true.
type state int

const (
	stateChanged state = iota // there is more to show
	stateStale                // the same has to be shown in another way
	stateRendered
)

// dropLines lets the lines go. They are made again when they come in sight.
func (it *item) dropLines() {
	it.lines, it.state, it.keepsLines, it.maxLines = nil, stateStale, false, 0
	it.spans, it.spansValid = nil, false
	if b, ok := it.block.(interface{ release() }); ok {
		b.release()
	}
}

// cost returns how much the lines of the item count where they are kept; see evict.
func (it *item) cost() int {
	if it.lines == nil {
		return 0
	}
	return 1 + len(it.lines)/32
}

// rowCount returns how many lines the item has, without making them if they were counted.
func rowCount(m *viewport, it *item) int {
	if it.state == stateStale && it.maxLines > 0 {
		return it.maxLines
	}
	return len(m.linesOf(it))
}

// sameAnswer reports whether both items are sections of one answer.
func (it *item) sameAnswer(other *item) bool {
	a, ok := it.block.(*answer)
	b, also := other.block.(*answer)
	return ok && also && a.sections == b.sections
}

// isMarkdown reports whether the block is shown as Markdown.
func (it *item) isMarkdown() bool {
	_, summed := it.block.(*summary)
	return summed || it.kind == kindAnswer
}

// isFooter reports whether the block closes a turn.
func (it *item) isFooter() bool {
	b, ok := it.block.(*textBlock)
	return ok && b.noteStyle == footerStyle
}

// isDone reports whether nothing more is to come.
func (it *item) isDone() bool {
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
