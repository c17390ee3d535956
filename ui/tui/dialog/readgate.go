package dialog

import (
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	// settleDelay sets how long the whole text must have been on the screen before a
	// key can allow it: a key on its way when it appeared meant something else.
	settleDelay = 300 * time.Millisecond
	// quietDelay sets how long no key must have come before one can answer: who is in
	// the middle of a sentence is not answering.
	quietDelay = 400 * time.Millisecond
	// minConsentWidth sets the width below which nothing can be allowed: a command in
	// pieces of a few cells cannot be read.
	minConsentWidth = 16
)

// A readGate keeps the keys that consent asleep until every row of the text was
// painted and settle has passed, and while somebody types. Scrolling is not
// typing.
type readGate struct {
	Now func() time.Time // time.Now, unless it is set

	shown       [2]int // rows of the last View: from, up to
	seen        []bool // rows that were painted
	unseen      int
	opened      time.Time // what is painted before does not count
	firstSeenAt time.Time // when the first row was painted; zero: not yet
	seenAllAt   time.Time // when the last row was painted; zero: not yet
	typedAt     time.Time // when the last key came that did not scroll; the question may have come upon a typist
	wakePending bool      // a settledMsg is on its way

	covered bool // another dialog lay over it: nothing answers before it was in sight again for settleDelay
	drawn   bool // it has a View since then
}

// settledMsg reports that keys of a question may have come to life.
type settledMsg struct{ of *readGate }

// start takes a text of so many rows, of which none counts as seen.
func (g *readGate) start(rows int) {
	g.seen, g.unseen = make([]bool, rows), rows
	g.shown, g.seenAllAt = [2]int{}, time.Time{}
}

// markAllSeen marks every row as painted before.
func (g *readGate) markAllSeen() {
	g.unseen = 0
	for i := range g.seen {
		g.seen[i] = true
	}
}

// uncover starts anew where another dialog lay over the text: what was read stays read,
// but a key that was meant for that dialog answers nothing.
func (g *readGate) uncover(now time.Time) {
	g.opened, g.typedAt = now, now
	g.firstSeenAt, g.seenAllAt = time.Time{}, time.Time{}
	g.shown, g.wakePending = [2]int{}, false
	g.covered, g.drawn = true, false
}

// isUncovered reports whether no key that comes now can have been meant for a dialog that
// lay over the text.
func (g *readGate) isUncovered() bool {
	return !g.covered || !g.firstSeenAt.IsZero() && g.Now().Sub(g.firstSeenAt) >= settleDelay
}

// onDrawn notes that the rows of the last View have reached the terminal, and
// reports whether some did so for the first time.
func (g *readGate) onDrawn(now time.Time) (news bool) {
	if g.shown[0] >= g.shown[1] || now.Before(g.opened) {
		return false
	}
	if g.firstSeenAt.IsZero() {
		g.firstSeenAt = now
	}
	for i := g.shown[0]; i < min(g.shown[1], len(g.seen)); i++ {
		if !g.seen[i] {
			g.seen[i], news = true, true
			g.unseen--
		}
	}
	if g.unseen == 0 && g.seenAllAt.IsZero() {
		g.seenAllAt = now
	}
	return news
}

// wake sends a settledMsg for when the keys that consent come to life.
func (g *readGate) wake(now time.Time) tea.Cmd {
	return g.wakeAt(now, g.seenAllAt, quietDelay-now.Sub(g.typedAt))
}

// wakeAt sends a settledMsg for when what was seen has settled and a pause is
// over.
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

// onTyping notes that somebody types.
func (g *readGate) onTyping() tea.Cmd {
	g.typedAt = g.Now()
	return g.wake(g.typedAt)
}

// isCalm reports whether a key was pressed in sight of the question, and not in
// the course of typing.
func (g *readGate) isCalm() bool {
	now := g.Now()
	return !g.firstSeenAt.IsZero() && now.Sub(g.firstSeenAt) >= settleDelay && now.Sub(g.typedAt) >= quietDelay
}

// isArmed reports whether the keys that consent work.
func (g *readGate) isArmed() bool {
	return g.unseen == 0 && !g.seenAllAt.IsZero() && g.Now().Sub(g.seenAllAt) >= settleDelay && g.isCalm()
}

// unreadHint returns the key that leads to what was not shown yet and what it is for, with
// the key that refuses behind it, or "". In a narrow window it says less.
func (g *readGate) unreadHint(k ScrollKeys, width int, below string, refuse key.Binding) string {
	up, down := g.seen[:min(g.shown[0], len(g.seen))], g.seen[min(g.shown[1], len(g.seen)):]
	page, todo := k.PageDown, below
	switch {
	case g.unseen == 0:
		return ""
	case slices.Contains(down, false):
	case slices.Contains(up, false):
		page, todo = k.PageUp, "scroll back: not all was shown"
	default:
		return ""
	}
	name, no := strings.Replace(page.Help().Key, "pgdown", "pgdn", 1), hints.ShortHelpView([]key.Binding{refuse})
	part := percent(len(g.seen)-g.unseen, len(g.seen))
	for _, said := range []string{" " + todo + " (" + part + ")", " " + part, ""} {
		line := name + said + " · " + no
		if ansi.StringWidth(line) <= width {
			return line
		}
	}
	return ansi.Truncate(no, width, "")
}
