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

// A key identifies an item. Items of different kinds may share an id.
type key struct {
	kind kind
	id   string
}

// An item is a block in the list, with its last rendered lines.
type item struct {
	block
	kind              kind
	seq               int // sequence number over all items ever added
	messageSeq        int // Seq of the message that the item belongs to
	fold              fold
	state             state
	keepsLines        bool  // lines are older than the block; see viewport.keepsOldLines
	isPending         bool  // the item is in viewport.pending
	groupItem         *item // the group that a call belongs to; nil for none
	continuesPrevious bool  // there is no blank row before the item
	sign              string
	lines             []string
	maxLines          int // most lines the item had, to count new ones; 0 if unknown
	matches
}

// matches holds the search matches in an item.
type matches struct {
	matchCount int
	countStale bool // matchCount is outdated and the item is in search.changed
	spans      []searchSpan
	spansValid bool // spans match the current lines
}

// A fold tells whether the user folded or unfolded an item.
type fold int

const (
	foldDefault fold = iota // as other items of its kind
	foldClosed
	foldOpen
)

// A state tells whether the lines of an item are up to date.
type state int

const (
	stateChanged state = iota // the block has changed
	stateStale                // the block has not changed, but has to be rendered again
	stateRendered
)

// dropLines frees the lines. They are rendered again when they become visible.
func (it *item) dropLines() {
	it.lines, it.state, it.keepsLines, it.maxLines = nil, stateStale, false, 0
	it.spans, it.spansValid = nil, false
	if b, ok := it.block.(interface{ release() }); ok {
		b.release()
	}
}

// cost returns the weight of the item's lines in memory; see evict.
func (it *item) cost() int {
	if it.lines == nil {
		return 0
	}
	return 1 + len(it.lines)/32
}

// rowCount returns the number of lines of an item, without rendering it if they were counted before.
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

// isFooter reports whether the block is the footer of a turn.
func (it *item) isFooter() bool {
	b, ok := it.block.(*textBlock)
	return ok && b.noteStyle == footerStyle
}

// isDone reports whether the block is complete.
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
