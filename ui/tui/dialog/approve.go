package dialog

import (
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools"
	"parley/ui/describe"
	"parley/ui/theme"
)

// AnsweredMsg holds what a user said to the call with this id.
type AnsweredMsg struct {
	ID     string
	Answer tools.Approval
}

// UnhandledKeyMsg hands back a key or a paste that was on its way to the composer when
// an approval took its place.
type UnhandledKeyMsg struct{ Msg tea.Msg }

// An Editor edits the arguments of a call; the composer is one. What it gets by
// SetValue must come back from Value byte for byte.
type Editor interface {
	SetSize(width, maxHeight int)
	SetTheme(*theme.Theme)
	Update(tea.Msg) tea.Cmd
	View() string
	Height() int
	Cursor() (x, y int, ok bool)
	SetValue(string)
	Value() string
}

// An Approval shows a tool call whole and waits for consent, with a list of the
// answers or the letters of them (see approve_choices.go). The keys that allow are
// inert until every row was painted and settleDelay has passed (see Drawn), and while
// somebody types. What is typed before they work comes back as UnhandledKeyMsg; what
// is typed later, and is no key of the question, is dropped, as its place is out of
// sight. Scrolling is not typing. What is to be allowed for good is shown as the rule
// that it makes, on a page of its own; see approve_rule.go.
type Approval struct {
	base
	window
	readGate
	Workspace string // shown in the title
	Editor    Editor // nil: arguments cannot be edited

	id       string
	action   *tools.Action
	state    state
	selected describe.Choice // what enter answers; NoChoice: nothing, somebody writes
	details  bool
	rows     []row
	headless bool   // the title is too wide for a row of its own, and the first of the rows
	bright   bool   // the last View showed keys that work
	woke     bool   // the keys that allow have worked
	hinted   string // what the last key did not do

	draftAnswer
}

// A draftAnswer is what the user has said so far beside yes and no.
type draftAnswer struct {
	always  ruleChoice
	network bool // the command may reach the network this time
	note    textField
	edited  string // the argument that Editor holds; "" for all of them
	left    string // what Editor held when esc left it, which it gets again
	fault   string // what is wrong with the edited arguments
}

type state uint8

const (
	reviewing state = iota
	editing
	noting
	choosing
)

// Approve asks whether a may run. Id comes back with the answer. Now is the current time; later
// times come from the field Now, which is time.Now unless it is set.
func Approve(id string, a *tools.Action, now time.Time, th *theme.Theme) *Approval {
	d := &Approval{base: newBase(th), readGate: readGate{Now: time.Now, opened: now, typedAt: now}, id: id, action: a, selected: describe.AllowOnce}
	d.Keys.Up.SetKeys("up") // the palette and others open over an approval
	d.Keys.Down.SetKeys("down")
	d.arrange()
	return d
}

// arrange lays the text out anew; none of it counts as seen then.
func (a *Approval) arrange() {
	lines := describe.Action(a.action, a.details)
	cells := ansi.StringWidth(a.title())
	if shield := ansi.StringWidth(a.sandboxText()); shield > 0 {
		cells += titleGap + shield
	}
	a.headless = cells > a.width
	if a.headless {
		head := []describe.Line{{Text: a.title(), Style: describe.Strong, Exact: true}}
		if a.action.Command != "" {
			head = append(head, describe.Line{Text: a.sandboxText(), Style: a.sandboxStyle()})
		}
		lines = append(head, lines...)
	}
	a.rows = wrap(lines, a.width)
	a.start(len(a.rows))
	a.view = ""
	a.clampTop(len(a.rows), a.visible())
}

// SetSize gives the width and the most rows. Text that was seen whole stays
// seen; otherwise another width begins anew.
func (a *Approval) SetSize(width, height int) {
	old := a.width
	if !a.resize(width, height) {
		return
	}
	if old == a.width {
		return
	}
	whole, at := a.unseen == 0, a.seenAllAt
	a.arrange()
	if whole {
		a.seenAllAt = at
		a.markAllSeen()
	}
}

// Uncover shows a again as it was left when another dialog took its place.
func (a *Approval) Uncover(now time.Time) {
	a.uncover(now)
	a.always.drawnAt = time.Time{}
	a.view, a.hinted, a.woke = "", "", false
}

// SetTheme changes the looks.
func (a *Approval) SetTheme(th *theme.Theme) {
	a.base.SetTheme(th)
	if a.Editor != nil {
		a.Editor.SetTheme(th)
	}
}

// Height returns that of the text, its title and the keys.
func (a *Approval) Height() int {
	switch a.state {
	case editing:
		a.sizeEditor()
		return min(a.Editor.Height()+2, a.height)
	case noting:
		return min(3, a.height)
	case choosing:
		return min(len(a.always.rows(a))+2, a.height)
	}
	return min(len(a.rows)+a.chromeRows(), a.height)
}

// chromeRows returns how many rows stand around the text: the keys, the list of choices,
// and the title unless it is part of the text.
func (a *Approval) chromeRows() int { return frameRows(a) + a.listRows() }

func frameRows(a *Approval) int {
	if a.headless {
		return 1
	}
	return 2
}

// Scrolls reports whether there is more to be read than is in sight, or text to
// move in: keys that scroll belong to the question then.
func (a *Approval) Scrolls() bool {
	switch a.state {
	case editing:
		return true
	case noting:
		return false
	case choosing:
		return len(a.always.rows(a)) > contentRows(a.Height())
	}
	return len(a.rows) > a.visible()
}

func (a *Approval) sizeEditor() { a.Editor.SetSize(a.width, contentRows(a.height)) }

func (a *Approval) visible() int {
	return max(min(len(a.rows), a.height-a.chromeRows()), min(a.height, 1))
}

// Drawn notes that the last View has reached the terminal. The command it
// returns paints again when the keys come to life.
func (a *Approval) Drawn(now time.Time) tea.Cmd {
	if a.state != reviewing && a.drawn && a.firstSeenAt.IsZero() && a.height > 0 {
		a.firstSeenAt = now
	}
	switch a.state {
	case choosing:
		return a.ruleDrawn(now)
	case editing, noting:
		return nil
	}
	if a.onDrawn(now) {
		a.view = ""
	}
	return a.wake(now)
}

// wake sends a settledMsg for when the keys that allow come to life.
func (a *Approval) wake(now time.Time) tea.Cmd {
	if a.state == choosing {
		return a.wakeAt(now, a.always.drawnAt, 0)
	}
	return a.readGate.wake(now)
}

// isArmed reports whether the keys that allow work.
func (a *Approval) isArmed() bool {
	return a.width >= minConsentWidth && a.readGate.isArmed()
}

// Update scrolls, edits and answers.
func (a *Approval) Update(msg tea.Msg) tea.Cmd {
	if a.done {
		return nil
	}
	a.view = ""
	if settled, ok := msg.(settledMsg); ok {
		if settled.of != &a.readGate {
			return nil
		}
		a.wakePending = false
		return a.wake(a.Now())
	}
	if press, ok := msg.(tea.KeyPressMsg); ok {
		a.hinted = ""
		if !a.isUncovered() && key.Matches(press, a.Keys.Accept, a.Keys.Close, a.Keys.Dismiss) {
			return a.onTyping()
		}
	}
	switch a.state {
	case editing:
		return a.edit(msg)
	case noting:
		return a.denyWithNote(msg)
	case choosing:
		return a.updateRule(msg)
	}
	return a.review(msg)
}

// review takes a key or a paste while the question is shown. Esc denies as soon
// as anything of it was seen.
func (a *Approval) review(msg tea.Msg) tea.Cmd {
	if a.browse(msg) {
		return nil
	}
	press, ok := msg.(tea.KeyPressMsg)
	armed := a.isArmed()
	a.woke = a.woke || armed
	choice := choiceOf(a, press)
	switch {
	case !ok:
	case key.Matches(press, a.Keys.Dismiss) && !a.firstSeenAt.IsZero():
		return a.reply(tools.Approval{Verdict: tools.Deny})
	case choice == describe.DenyCall && a.isCalm(), armed && slices.Contains(choicesOf(a), choice):
		return takeChoice(a, choice)
	}
	return a.onOtherKey(msg)
}

// browse changes what is seen of the question, and reports whether msg was for
// that. A key that prints is, unless somebody types.
func (a *Approval) browse(msg tea.Msg) bool {
	if isPrintable(msg) && !a.isCalm() {
		return false
	}
	if press, ok := msg.(tea.KeyPressMsg); ok && key.Matches(press, a.Keys.Details) {
		a.details, a.top = !a.details, 0
		a.arrange()
		return true
	}
	return selectNext(a, msg) || a.key(msg, a.Keys.reading(), len(a.rows), a.visible())
}

// isPrintable reports whether msg is text that somebody wrote.
func isPrintable(msg tea.Msg) bool {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		return true
	case tea.KeyPressMsg:
		return msg.Text != ""
	}
	return false
}

// onOtherKey notes that somebody types, and hands back what: before the question
// could be answered that was meant for the composer.
func (a *Approval) onOtherKey(msg tea.Msg) tea.Cmd {
	press, pressed := msg.(tea.KeyPressMsg)
	if !pressed && !isPrintable(msg) {
		return nil
	}
	wake := a.onTyping()
	if !isPrintable(msg) {
		if pressed && a.woke && key.Matches(press, a.Keys.Accept) {
			a.hinted = a.answers(press)
		}
		return wake
	}
	a.SelectNone() // enter may be the end of what is being written
	if pressed && a.woke {
		a.hinted = a.answers(press)
		return wake
	}
	a.Say(UnhandledKeyMsg{msg})
	return wake
}

func (a *Approval) reply(answer tools.Approval) tea.Cmd {
	return a.answer(AnsweredMsg{ID: a.id, Answer: answer})
}

// denyWithNote takes words for the model; without any, enter denies as esc does.
func (a *Approval) denyWithNote(msg tea.Msg) tea.Cmd {
	if press, ok := msg.(tea.KeyPressMsg); ok {
		if key.Matches(press, a.Keys.Accept) {
			return a.reply(tools.Approval{Verdict: tools.Deny, Note: strings.TrimSpace(a.note.text)})
		}
		if key.Matches(press, a.Keys.Close) {
			return a.reply(tools.Approval{Verdict: tools.Deny})
		}
	}
	a.note.key(msg, a.Keys.FieldKeys)
	return nil
}

// Cursor stands where one writes: in the editor or in the note.
func (a *Approval) Cursor() (x, y int, ok bool) {
	if a.height == 0 {
		return 0, 0, false
	}
	below := 0 // rows above the content
	if a.Height() > 2 {
		below = 1
	}
	switch a.state {
	case editing:
		x, y, ok = a.Editor.Cursor()
		return x, y + below, ok
	case noting:
		return min(signWidth+ansi.StringWidth(a.note.visibleText(a.width-signWidth)), max(a.width-1, 0)), below, true
	}
	return 0, 0, false
}
