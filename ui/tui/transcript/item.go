package transcript

// A kind is the kind of a block, for ids, folding and jumping.
type kind int

const (
	kindNote kind = iota // also footers and errors
	kindUser
	kindThinking
	kindAnswer
	kindCall
)

// A key identifies an item. The same id may be used for different kinds.
type key struct {
	kind kind
	id   string
}

// An item is a block in the list, with the lines that were last rendered.
type item struct {
	block
	kind              kind
	seq               int // counts all items ever added
	messageSeq        int // number of the message it belongs to
	fold              fold
	state             state
	keepsLines        bool  // lines are older than the block: see viewport.keepsOldLines
	isPending         bool  // it is in viewport.pending
	groupItem         *item // the group of a call that is one of several
	continuesPrevious bool  // there is no blank row before it
	sign              string
	lines             []string
	maxLines          int // most lines it had, to count new ones; 0: not known
	matches
}

// matches are the matches of the search in an item.
type matches struct {
	matchCount int
	countStale bool // matchCount is outdated: the item is in search.changed
	spans      []searchSpan
	spansValid bool // spans are those of lines
}

// A fold is whether the user folded one item.
type fold int

const (
	foldDefault fold = iota // as all of its kind
	foldClosed
	foldOpen
)

// A state says whether the lines of an item are up to date.
type state int

const (
	stateChanged state = iota // the block has changed
	stateStale                // the block has to be rendered again, and has not changed
	stateRendered
)

// dropLines frees the lines, which are rendered again when they come in sight.
func (it *item) dropLines() {
	it.lines, it.state, it.keepsLines, it.maxLines = nil, stateStale, false, 0
	it.spans, it.spansValid = nil, false
	if b, ok := it.block.(interface{ release() }); ok {
		b.release()
	}
}

// cost returns the weight of the item's lines in memory, see evict.
func (it *item) cost() int {
	if it.lines == nil {
		return 0
	}
	return 1 + len(it.lines)/32
}

// rowCount returns how many lines the item has, without rendering them if they were counted.
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

// isDone reports whether the block has all its content.
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
