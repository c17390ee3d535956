// Package transcript shows the conversation on the screen: a list of blocks
// (user messages, thinking, answers, tool calls, notes) that the user scrolls
// while it grows.
//
//	calls of the root ──► blocks ──► lines, cached ──► visible rows ──► View
//
// Only changed blocks and visible rows cost time per frame; blocks far off the
// screen keep only their source. A position is a block and a line in it, so that
// changes above or below do not move the text being read. The window follows new
// text only if it is at the bottom. While browsing, a cursor is on a block, which
// can be copied and shown whole. All blocks can be searched. All text passed to
// the Model comes from outside and is sanitized here.
//
// A tool call shows the text that it will write while that arrives, the end of
// its output while it runs, then the result or the diff. Calls of one answer
// that only read are one line once they are done.
package transcript

import (
	"strconv"
	"strings"
	"time"

	"parley/ui/theme"
)

// A Model is the scrollable conversation. It belongs to one goroutine.
type Model struct {
	Blocks *Blocks
	Now    func() time.Time // clock for double clicks; New sets time.Now

	window  *viewport
	browser *browser
	search  *search
	mouse   *mouse
	details *detailView // shown instead of the conversation; nil for none

	view string
	buf  []byte
}

// Blocks holds the blocks in order. It reports each change to a listener.
type Blocks struct {
	items      []*item
	byID       map[key]*item
	running    []*item // running tool calls
	nextSeq    int
	lastID     int // last id from NewID; Clear keeps it
	messageSeq int // Seq of the message that new blocks belong to
	listener   listener
}

// A listener is notified of changes of Blocks.
type listener interface {
	itemChanged(*item)
	itemInserted(i int)    // at index i, before the end
	groupChanged(of *item) // the group may hide other calls now
}

// A viewport is the window on the lines, which it renders for one theme and width. While it follows
// new blocks (follow), top is computed for each frame; otherwise top stays.
type viewport struct {
	list          *Blocks
	theme         *theme.Theme
	styler        *styler
	width, height int
	now           time.Time // of the last Tick
	reducedMotion bool      // nothing moves by itself
	cachedCost    int       // approximate sum of the items' costs

	openThinking, openOutput bool

	searching bool // the last row belongs to a search
	follow    bool
	top       rowPos      // first visible row
	bookmark  bookmark    // position of top before the width changed
	seenSeq   int         // seq of the last item when follow ended
	newLines  int         // lines added since then, below the window
	pending   []*item     // items changed since the last frame, while not following
	pinned    func() bool // reports whether the window must not follow
	older     Older       // loads blocks before the first item
	head      int         // number of items at the beginning if blocks after them are not loaded; a note is in place of these
	dirty     bool        // the view is outdated
}

// A Tool holds the facts about a tool call; each update replaces all of them.
type Tool struct {
	Name     string
	Title    string // one-line summary, where Input does not provide it
	Input    string // arguments received so far: JSON, perhaps incomplete
	Status   Status
	Output   string        // the complete result
	Notes    string        // the end of Output that the program did not write, which folds do not count; "" for none
	Diff     string        // unified diff of the changes it made
	Started  time.Time     // when it began to run; zero before that
	Duration time.Duration // how long it ran; 0 until it has ended
	By       string        // model that was asked, and what it cost; "" for none
	Whole    bool          // Output is never folded
	Hint     string        // how to stop it, such as "esc stops", shown while it runs
	Call     string        // its id for a StopMsg; "": none can stop it
}

// Status is the status of a tool call.
type Status int

// The statuses.
const (
	Arriving Status = iota // its arguments are arriving
	AwaitingApproval
	Running
	Done
	Failed
	Denied
	Canceled
	Lost // parley ended while it ran; its effect is unknown
)

// NoteKind is the kind of a note, which decides its sign.
type NoteKind int

// The kinds of notes.
const (
	Info        NoteKind = iota // a dropped setting, a repaired call
	Retry                       // a request is sent again
	Switch                      // the model changed
	Warn                        // a warning: a budget, a missing sandbox
	Interrupted                 // the answer above was interrupted
)

// CopyMsg asks the root to copy text to the clipboard.
type CopyMsg struct {
	Text string
	What string // its kind, for the user: "answer", "code", "output"
}

// New returns an empty transcript.
func New(th *theme.Theme) *Model {
	m := &Model{Now: time.Now}
	m.Blocks = &Blocks{listener: m}
	m.window = &viewport{list: m.Blocks, theme: th, styler: newStyler(th), pinned: m.isPinned}
	m.browser = &browser{list: m.Blocks, window: m.window}
	m.search = &search{list: m.Blocks, window: m.window, browser: m.browser}
	m.mouse = &mouse{list: m.Blocks, window: m.window, browser: m.browser, now: func() time.Time { return m.Now() }}
	m.Clear()
	return m
}

// NewID returns an id for a block that is never used again, even after Clear. Callers use no
// other ids, because addresses, indexes and provider ids may repeat.
func (m *Blocks) NewID() string {
	m.lastID++
	return strconv.Itoa(m.lastID)
}

// current returns the Model that is shown: the details view if it is open.
func (m *Model) current() *Model {
	if m.details != nil {
		return m.details.model
	}
	return m
}

// Scroll scrolls by lines: down, or up if negative.
func (m *Model) Scroll(lines int) {
	m = m.current()
	if lines < 0 {
		m.mouse.followed = false
	}
	m.window.Scroll(lines)
}

// Page scrolls by n windows, or parts of one: down, or up if negative.
func (m *Model) Page(n float64) { m.current().window.Page(n) }

// Top goes to the beginning.
func (m *Model) Top() {
	m = m.current()
	m.window.loadFirst()
	m.window.Top()
}

// Bottom scrolls to the end and follows new blocks.
func (m *Model) Bottom() { m.current().window.Bottom() }

// PrevUser goes to the user's message before the top row.
func (m *Model) PrevUser() {
	if m.details == nil {
		m.window.PrevUser()
	}
}

// NextUser goes to the user's message after the top row, or to the end.
func (m *Model) NextUser() {
	if m.details == nil {
		m.window.NextUser()
	}
}

// Clear removes all blocks. Size, theme and fold settings stay.
func (m *Model) Clear() {
	m.Blocks.items, m.Blocks.byID, m.Blocks.running, m.window.pending = nil, map[key]*item{}, nil, nil
	m.window.cachedCost, m.browser.cursor, m.browser.code, m.browser.anchor = 0, 0, -1, -1
	m.details, m.mouse.drag, m.window.older, m.window.head = nil, drag{}, Older{}, 0
	m.search.reset(m.search.last)
	m.Blocks.SetMessageSeq(0)
	m.Bottom()
}

// SetSize sets the size in cells. The text at the top stays in place.
func (m *Model) SetSize(width, height int) {
	width, height = max(width, 0), max(height, 0)
	if width == m.window.width && height == m.window.height {
		return
	}
	if width != m.window.width {
		m.window.saveBookmark()
		m.invalidateAll()
	}
	m.window.width, m.window.height, m.window.dirty = width, height, true
	if m.window.follow && m.window.older.Load != nil {
		m.window.fixTop()
	}
	if m.details != nil {
		m.details.model.SetSize(width, height)
	}
}

// SetTheme sets the theme.
func (m *Model) SetTheme(th *theme.Theme) {
	if th == m.window.theme {
		return
	}
	m.window.theme, m.window.styler = th, newStyler(th)
	m.invalidateAll()
	if m.details != nil {
		m.details.model.SetTheme(th)
	}
}

// invalidateAll drops all lines. They are rendered again when they become visible.
func (m *Model) invalidateAll() {
	m.mouse.resumeFollow()
	m.mouse.drag = drag{}
	for _, it := range m.Blocks.items {
		it.dropLines()
	}
	m.window.cachedCost, m.window.dirty = 0, true
}

// SetMotion sets whether anything moves by itself, such as the time of a running call. The
// default is on.
func (m *Model) SetMotion(on bool) {
	if m.window.reducedMotion == !on {
		return
	}
	m.window.reducedMotion = !on
	for _, it := range m.Blocks.running {
		m.itemChanged(it)
	}
}

// AtBottom reports whether the window follows new blocks.
func (m *Model) AtBottom() bool { return m.window.follow }

// ToggleThinking unfolds or folds all thinking blocks, including future ones.
func (m *Model) ToggleThinking() {
	m.window.openThinking = !m.window.openThinking
	m.window.resetFolds(func(k kind) bool { return k == kindThinking })
}

// ToggleOutput unfolds or folds all other blocks that can be folded: tool output, diffs,
// long messages.
func (m *Model) ToggleOutput() {
	m.window.openOutput = !m.window.openOutput
	m.window.resetFolds(func(k kind) bool { return k != kindThinking && k != kindAnswer })
}

func (m *viewport) resetFolds(which func(kind) bool) {
	m.clampTop()
	m.bookmark = bookmark{}
	for _, it := range m.list.items {
		if which(it.kind) {
			it.fold = foldDefault
			it.dropLines()
		}
	}
	m.dirty = true
}

// isOpen reports whether an item is unfolded.
func (m *viewport) isOpen(it *item) bool {
	switch {
	case it.fold != foldDefault:
		return it.fold == foldOpen
	case it.kind == kindThinking:
		return m.openThinking
	}
	return m.openOutput
}

// LastAnswer returns the source of the last answer; "" if there is none.
func (m *Model) LastAnswer() string { return m.AnswerBefore(1) }

// AnswerBefore returns the source of the nth answer from the end; "" if there is none.
func (m *Model) AnswerBefore(n int) string {
	text := ""
	found := m.window.lastItem(func(it *item) bool {
		a, ok := it.block.(*answer)
		if !ok {
			return false
		}
		if text, _ = a.source(); strings.TrimSpace(text) != "" {
			n--
		}
		return n == 0
	})
	if !found {
		return ""
	}
	return text
}

// LastCode returns the last code block of the conversation, false if there is none.
func (m *Model) LastCode() (text string, ok bool) {
	ok = m.window.lastItem(func(it *item) bool {
		codes := m.window.codeBlocks(it)
		if len(codes) > 0 {
			text = codes[len(codes)-1].Text
		}
		return len(codes) > 0
	})
	return text, ok
}

// lastItem calls is for the items, last first, until it returns true. It reports whether it did.
func (m *viewport) lastItem(is func(*item) bool) bool {
	for i, ok := m.step(len(m.list.items), -1); ok; i, ok = m.step(i, -1) {
		if is(m.list.items[i]) {
			return true
		}
	}
	return false
}
