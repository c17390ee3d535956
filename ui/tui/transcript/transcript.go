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

// A Model is the scrollable conversation. It belongs to one goroutine.
type Model struct {
	theme         *theme.Theme
	styler        *styler
	width, height int
	now           time.Time // of the last Tick

	items      []*item
	byID       map[key]*item
	running    []*item // tool calls whose time passes
	nextSeq    int     // of the next item
	lastID     int     // ids that NewID gave; Clear keeps it
	messageSeq int     // of the message that blocks belong to
	cachedCost int     // weight of the items that hold lines, about

	openThinking, openOutput bool
	reducedMotion            bool // nothing moves by itself

	// Where the reader is. At the bottom (follow), top is found anew for each
	// frame; elsewhere it stands.
	follow   bool
	top      rowPos
	bookmark bookmark // what stood at top before the width changed
	seenSeq  int      // seq of the last item when the reader left the bottom
	newLines int      // lines that arrived since, below what is in sight
	pending  []*item  // changed since the last frame, while the reader is elsewhere

	browsing bool
	cursor   int // of items
	code     int // the code block chosen in it; -1 for none
	anchor   int // the other end of what is selected; -1 for nothing
	search   search
	details  *detailView // shown instead of the rest
	mouse    mouse
	Now      func() time.Time // tells one click from two; time.Now if it is not set

	dirty bool // view is no longer true
	view  string
	buf   []byte
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
	m.theme, m.styler = th, newStyler(th)
	m.Clear()
	return m
}

// NewID returns an id for a block that no other block has had or will have, also
// after Clear. Callers use no other ids: addresses, indexes and ids of providers
// come again.
func (m *Model) NewID() string {
	m.lastID++
	return strconv.Itoa(m.lastID)
}

// Clear forgets the conversation, not the size or what is folded.
func (m *Model) Clear() {
	m.items, m.byID, m.running, m.pending = nil, map[key]*item{}, nil, nil
	m.cachedCost, m.cursor, m.code, m.anchor = 0, 0, -1, -1
	m.details, m.search, m.mouse = nil, search{last: m.search.last, hit: -1}, mouse{}
	m.Tag(0)
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
	m.resumeFollow()
	m.mouse = mouse{}
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
		m.markChanged(it)
	}
}

// ToggleThinking unfolds all thinking, also what is to come, or folds it.
func (m *Model) ToggleThinking() {
	m.openThinking = !m.openThinking
	m.resetFolds(func(k kind) bool { return k == kindThinking })
}

// ToggleOutput unfolds or folds all the rest that can be folded: the output of
// tools, diffs, long messages.
func (m *Model) ToggleOutput() {
	m.openOutput = !m.openOutput
	m.resetFolds(func(k kind) bool { return k != kindThinking && k != kindAnswer })
}

func (m *Model) resetFolds(which func(kind) bool) {
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
func (m *Model) isOpen(it *item) bool {
	switch {
	case it.fold != foldDefault:
		return it.fold == foldOpen
	case it.kind == kindThinking:
		return m.openThinking
	}
	return m.openOutput
}

// LastAnswer returns the source of the last answer; "" if there is none.
func (m *Model) LastAnswer() string {
	for _, it := range slices.Backward(m.items) {
		if a, ok := it.block.(*answer); ok {
			if text, _ := a.source(); strings.TrimSpace(text) != "" {
				return text
			}
		}
	}
	return ""
}

// LastCode returns the last code block of the conversation.
func (m *Model) LastCode() (string, bool) {
	for _, it := range slices.Backward(m.items) {
		if codes := m.codeBlocks(it); len(codes) > 0 {
			return codes[len(codes)-1].Text, true
		}
	}
	return "", false
}
