package dialog

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	// settleDelay is how long all of the text must have been visible before a key can allow it.
	// An earlier key was meant for something else.
	settleDelay = 300 * time.Millisecond
	// quietDelay is the pause in typing that must precede a key for it to answer.
	quietDelay = 400 * time.Millisecond
	// minConsentWidth is the width below which nothing can be allowed: a command broken into pieces
	// of a few cells is unreadable.
	minConsentWidth = 16
)

// A Lettered dialog is answered with letters, although the user may be starting to write. Overlay
// delays such a letter for a moment. A lone letter answers; one followed by others begins a text.
type Lettered interface {
	Dialog
	// LoneKey returns the effect of msg if no other key follows, or nil if msg is not a letter that
	// answers now. The time of the call decides.
	LoneKey(msg tea.Msg) func() tea.Cmd
	// Type handles a key or a paste as text: it answers nothing and goes to Root.Typed.
	Type(msg tea.Msg) tea.Cmd
}

var (
	_ Lettered = (*Approval)(nil)
	_ Lettered = (*Confirmation)(nil)
	_ Lettered = (*ModelQuestion)(nil)
)

// A readGate blocks the keys that consent until every row of the text has been drawn and settleDelay
// has passed, and while the user types. Scrolling is not typing.
type readGate struct {
	Now func() time.Time // clock, set to time.Now by the constructors

	shown       [2]int    // rows of the last View: first, and one past the last
	seen        []bool    // rows that were drawn
	unseen      int       // number of rows not drawn yet
	opened      time.Time // earlier drawings are ignored
	firstSeenAt time.Time // when the first row was drawn; zero before that
	seenAllAt   time.Time // when the last unseen row was drawn; zero before that
	typedAt     time.Time // last key that did not scroll; starts as opened, because the user may be typing then
	wakePending bool      // a settledMsg is on its way

	covered bool // another dialog covered it: no key answers until it has been visible again for settleDelay
	drawn   bool // View was called since it was covered
}

// settledMsg reports that keys of a question may have begun to work.
type settledMsg struct{ of *readGate }

// start begins a text with the given number of rows, none seen yet.
func (g *readGate) start(rows int) {
	g.seen, g.unseen = make([]bool, rows), rows
	g.shown, g.seenAllAt = [2]int{}, time.Time{}
}

// markAllSeen marks every row as seen.
func (g *readGate) markAllSeen() {
	g.unseen = 0
	for i := range g.seen {
		g.seen[i] = true
	}
}

// rearrange calls arrange, which restarts the same text at another width. If all rows were seen
// before, they stay seen.
func (g *readGate) rearrange(arrange func()) {
	whole, at := g.unseen == 0, g.seenAllAt
	if arrange(); whole {
		g.seenAllAt = at
		g.markAllSeen()
	}
}

// uncover restarts the delays after another dialog covered the text. Rows stay seen, but a key meant
// for that dialog does not answer.
func (g *readGate) uncover(now time.Time) {
	g.opened, g.typedAt = now, now
	g.firstSeenAt, g.seenAllAt = time.Time{}, time.Time{}
	g.shown, g.wakePending = [2]int{}, false
	g.covered, g.drawn = true, false
}

// isUncovered reports whether a key pressed now cannot be meant for a dialog that covered the text.
func (g *readGate) isUncovered() bool {
	return !g.covered || !g.firstSeenAt.IsZero() && g.Now().Sub(g.firstSeenAt) >= settleDelay
}

// onDrawn records that the rows of the last View have reached the terminal.
func (g *readGate) onDrawn(now time.Time) {
	if g.shown[0] >= g.shown[1] || now.Before(g.opened) {
		return
	}
	if g.firstSeenAt.IsZero() {
		g.firstSeenAt = now
	}
	for i := g.shown[0]; i < min(g.shown[1], len(g.seen)); i++ {
		if !g.seen[i] {
			g.seen[i] = true
			g.unseen--
		}
	}
	if g.unseen == 0 && g.seenAllAt.IsZero() {
		g.seenAllAt = now
	}
}

// wake sends a settledMsg when the keys that consent begin to work.
func (g *readGate) wake(now time.Time) tea.Cmd {
	return g.wakeAt(now, g.seenAllAt, quietDelay-now.Sub(g.typedAt))
}

// wakeAt sends a settledMsg settleDelay after seen, and not before pause has passed. It returns nil if
// seen is zero, the time has passed, or a message is already pending.
func (g *readGate) wakeAt(now, seen time.Time, pause time.Duration) tea.Cmd {
	if g.wakePending || seen.IsZero() {
		return nil
	}
	left := max(settleDelay-now.Sub(seen), pause)
	if left <= 0 {
		return nil
	}
	g.wakePending = true
	return tea.Tick(left, func(time.Time) tea.Msg { return settledMsg{g} })
}

// onTyping records that the user is typing.
func (g *readGate) onTyping() tea.Cmd {
	g.typedAt = g.Now()
	return g.wake(g.typedAt)
}

// isCalm reports whether a key pressed now comes after the question was visible for settleDelay,
// and after a pause in typing.
func (g *readGate) isCalm() bool {
	now := g.Now()
	return !g.firstSeenAt.IsZero() && now.Sub(g.firstSeenAt) >= settleDelay && now.Sub(g.typedAt) >= quietDelay
}

// isArmed reports whether the keys that consent work.
func (g *readGate) isArmed() bool {
	return g.unseen == 0 && !g.seenAllAt.IsZero() && g.Now().Sub(g.seenAllAt) >= settleDelay && g.isCalm()
}

// unreadHint returns a hint for the key that scrolls to unseen rows, followed by the key that
// refuses. It returns "" if all rows were seen or are visible. In a narrow window it is shorter.
func (g *readGate) unreadHint(width int, below string, refuse hint) string {
	up, down := g.seen[:min(g.shown[0], len(g.seen))], g.seen[min(g.shown[1], len(g.seen)):]
	page, todo := keyPageDown, below
	switch {
	case g.unseen == 0:
		return ""
	case slices.Contains(down, false):
	case slices.Contains(up, false):
		page, todo = keyPageUp, "scroll back: not all was shown"
	default:
		return ""
	}
	name, no := strings.Replace(page.String(), "pgdown", "pgdn", 1), joinHints(refuse)
	part := percent(len(g.seen)-g.unseen, len(g.seen))
	for _, said := range []string{" " + todo + " (" + part + ")", " " + part, ""} {
		line := name + said + " · " + no
		if ansi.StringWidth(line) <= width {
			return line
		}
	}
	return ansi.Truncate(no, width, "")
}
