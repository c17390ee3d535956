// Package transcript is the conversation on the screen: a list of blocks (what
// the user wrote, thinking, answers, tool calls, notes) through which a reader
// scrolls while it grows.
//
//	calls of the root ──► blocks ──► lines, cached ──► the rows in sight ──► View
//
// Only blocks that changed and the rows in sight cost anything per frame;
// blocks far from sight keep their source alone. A position is a block and a
// line in it, so that nothing above or below moves what is being read; only a
// reader at the bottom follows what arrives. While somebody browses, a cursor
// stands on a block, which can be searched in, copied, and shown whole. All text
// given to the model comes from outside and is made printable here.
//
// A tool call shows what is known of it: the text it will write while that
// arrives, the end of its output while it runs, then the result or the diff.
// Calls of one answer that only look, such as reads, are one line once they are
// done.
package transcript

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/ui/theme"
)

// A Model is the scrollable conversation. It belongs to one goroutine. Each of its
// parts is built on the one before: the blocks, their lines, the window on them,
// the cursor over them, the search that moves it; the mouse stands on the cursor.
type Model struct {
	*search
	mouse   *mouse
	details *detailView      // shown instead of the rest
	Now     func() time.Time // tells one click from two; time.Now if it is not set

	view string
	buf  []byte
}

// A blockList is the conversation: its blocks in their order, to be added to and
// changed. It tells a listener of each change.
type blockList struct {
	items      []*item
	byID       map[key]*item
	running    []*item // tool calls whose time passes
	nextSeq    int
	lastID     int // that NewID gave; Clear keeps it
	messageSeq int // of the message that blocks belong to
	listener   listener
}

// A listener hears of changes of a blockList.
type listener interface {
	itemChanged(*item)
	itemInserted(i int)    // at index i, between others
	groupChanged(of *item) // other calls may be hidden now
}

// A lineCache renders items for one theme and width, as they are folded.
type lineCache struct {
	*blockList
	theme         *theme.Theme
	styler        *styler
	width         int
	now           time.Time // of the last Tick
	reducedMotion bool      // nothing moves by itself
	cachedCost    int       // of the items that hold lines, about

	openThinking, openOutput bool
}

// A viewport is the window of a reader. At the bottom (follow), top is found anew
// for each frame; elsewhere it stands.
type viewport struct {
	*lineCache
	height    int
	searching bool // the last row belongs to a search
	follow    bool
	top       rowPos
	bookmark  bookmark    // what stood at top before the width changed
	seenSeq   int         // of the last item when the reader left the bottom
	newLines  int         // that arrived since, below what is in sight
	pending   []*item     // changed since the last frame, while the reader is elsewhere
	pinned    func() bool // reports whether the reader is kept from following
	older     older       // what is in front of the first item
	dirty     bool        // the last view is no longer true
}

// A Tool is what is known about a tool call; each update brings all of it.
type Tool struct {
	Name     string
	Title    string        // what it does in one line, such as the command or the path; "" while arguments arrive
	Input    string        // the arguments as far as they arrived: JSON, perhaps cut anywhere
	Status   Status        // how far it is
	Output   string        // what it answered, whole
	Diff     string        // unified diff of what it changed
	Started  time.Time     // when it began to run; zero before
	Duration time.Duration // how long it ran; 0 until it ended
	Hint     string        // how to stop it, such as "esc stops", shown while it runs
}

// Status tells how far a tool call is.
type Status int

// The statuses.
const (
	Arriving         Status = iota // its arguments stream in
	AwaitingApproval               // waits for a user's word
	Running
	Done
	Failed
	Denied
	Canceled
	Lost // parley ended while it ran: what it did is not known
)

// NoteKind names what a note is about, which decides its sign.
type NoteKind int

// The kinds of notes.
const (
	Info        NoteKind = iota // a dropped setting, a repaired call
	Retry                       // a request is sent again
	Switch                      // another model answers from here on
	Warn                        // deserves attention: a budget, a missing sandbox
	Interrupted                 // the answer above was cut off
)

// CopyMsg asks for text to be put on the clipboard.
type CopyMsg struct {
	Text string
	What string // in words: "answer", "code", "output"
}

// New makes an empty transcript.
func New(th *theme.Theme) *Model {
	m := &Model{Now: time.Now}
	lines := &lineCache{blockList: &blockList{listener: m}, theme: th, styler: newStyler(th)}
	cursor := &browser{viewport: &viewport{lineCache: lines, pinned: m.isPinned}}
	m.search = &search{browser: cursor}
	m.mouse = &mouse{browser: cursor, now: func() time.Time { return m.Now() }}
	m.Clear()
	return m
}

// NewID returns an id for a block that no other block has had or will have, also
// after Clear. Callers use no other ids: addresses, indexes and ids of providers
// come again.
func (m *blockList) NewID() string {
	m.lastID++
	return strconv.Itoa(m.lastID)
}

// shown returns the conversation that the reader moves through: the details of a
// block, if they are open.
func (m *Model) shown() *Model {
	if m.details != nil {
		return m.details.Model
	}
	return m
}

// Scroll moves by lines: down, or up if negative.
func (m *Model) Scroll(lines int) {
	m = m.shown()
	if lines < 0 {
		m.mouse.followed = false
	}
	m.viewport.Scroll(lines)
}

// Page moves by windows, or parts of one: down, or up if negative.
func (m *Model) Page(n float64) { m.shown().viewport.Page(n) }

// Top goes to the beginning.
func (m *Model) Top() {
	m = m.shown()
	m.fillAll()
	m.viewport.Top()
}

// Bottom goes to the end and follows what comes.
func (m *Model) Bottom() { m.shown().viewport.Bottom() }

// PrevUser goes to the user's message before the top row.
func (m *Model) PrevUser() {
	if m.details == nil {
		m.viewport.PrevUser()
	}
}

// NextUser goes to the user's message after the top row, or to the end.
func (m *Model) NextUser() {
	if m.details == nil {
		m.viewport.NextUser()
	}
}

// Clear forgets the conversation, not the size or what is folded.
func (m *Model) Clear() {
	m.items, m.byID, m.running, m.pending = nil, map[key]*item{}, nil, nil
	m.cachedCost, m.cursor, m.code, m.anchor = 0, 0, -1, -1
	m.details, m.mouse.drag, m.older = nil, drag{}, older{}
	m.search.reset(m.last)
	m.SetMessageSeq(0)
	m.Bottom()
}

// SetSize sets the size in cells. What the reader has at the top stays
// there.
func (m *Model) SetSize(width, height int) {
	width, height = max(width, 0), max(height, 0)
	if width == m.width && height == m.height {
		return
	}
	if width != m.width {
		m.saveBookmark()
		m.invalidateAll()
	}
	m.width, m.height, m.dirty = width, height, true
	if m.follow && m.older.load != nil {
		m.fixTop()
	}
	if m.details != nil {
		m.details.SetSize(width, height)
	}
}

// SetTheme changes how everything looks.
func (m *Model) SetTheme(th *theme.Theme) {
	if th == m.theme {
		return
	}
	m.theme, m.styler = th, newStyler(th)
	m.invalidateAll()
	if m.details != nil {
		m.details.SetTheme(th)
	}
}

// invalidateAll forgets all lines. Nothing is laid out before it comes in sight.
func (m *Model) invalidateAll() {
	m.mouse.resumeFollow()
	m.mouse.drag = drag{}
	for _, it := range m.items {
		it.dropLines()
	}
	m.cachedCost, m.dirty = 0, true
}

// SetMotion allows things to move by themselves, or not, such as the time that a
// running call takes. They do unless told.
func (m *Model) SetMotion(on bool) {
	if m.reducedMotion == !on {
		return
	}
	m.reducedMotion = !on
	for _, it := range m.running {
		m.itemChanged(it)
	}
}

// ToggleThinking unfolds all thinking, also what is to come, or folds it.
func (m *viewport) ToggleThinking() {
	m.openThinking = !m.openThinking
	m.resetFolds(func(k kind) bool { return k == kindThinking })
}

// ToggleOutput unfolds or folds all the rest that can be folded: the output of
// tools, diffs, long messages.
func (m *viewport) ToggleOutput() {
	m.openOutput = !m.openOutput
	m.resetFolds(func(k kind) bool { return k != kindThinking && k != kindAnswer })
}

func (m *viewport) resetFolds(which func(kind) bool) {
	m.clampTop()
	m.bookmark = bookmark{}
	for _, it := range m.items {
		if which(it.kind) {
			it.fold = foldDefault
			it.dropLines()
		}
	}
	m.dirty = true
}

// isOpen reports whether an item is unfolded.
func (m *lineCache) isOpen(it *item) bool {
	switch {
	case it.fold != foldDefault:
		return it.fold == foldOpen
	case it.kind == kindThinking:
		return m.openThinking
	}
	return m.openOutput
}

// LastAnswer returns the source of the last answer; "" if there is none.
func (m *viewport) LastAnswer() (text string) {
	m.lastItem(func(it *item) bool {
		a, ok := it.block.(*answer)
		if !ok {
			return false
		}
		text, _ = a.source()
		return strings.TrimSpace(text) != ""
	})
	return text
}

// LastCode returns the last code block of the conversation.
func (m *viewport) LastCode() (text string, ok bool) {
	ok = m.lastItem(func(it *item) bool {
		codes := m.codeBlocks(it)
		if len(codes) > 0 {
			text = codes[len(codes)-1].Text
		}
		return len(codes) > 0
	})
	return text, ok
}

// lastItem calls is for the items from the last one back until it returns true, and reports
// whether it did.
func (m *viewport) lastItem(is func(*item) bool) bool {
	for end := len(m.items); ; {
		for _, it := range slices.Backward(m.items[:end]) {
			if is(it) {
				return true
			}
		}
		had := len(m.items)
		if !m.loadOlder() {
			return false
		}
		end = len(m.items) - had
	}
}
