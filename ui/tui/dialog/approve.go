package dialog

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/act"
	"parley/ui/describe"
	"parley/ui/theme"
)

// An Editor edits the arguments of a call; the composer is one. Value must return exactly the
// text passed to SetValue.
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

// An Approval shows all of a tool call and asks for approval, with a list of answers or a row of their
// letters (see approve_choices.go). The keys that allow do nothing until every row has been drawn and
// settleDelay has passed (see Drawn), and while the user types. Text that answers nothing goes to
// Root.Typed. The last line names the keys that answer, since the composer is hidden. Scrolling is not
// typing. Before the user always allows a call, the rule is shown on its own page; see approve_rule.go.
type Approval struct {
	base
	Gate      readGate           // decides when keys may answer
	Workspace string             // shown in the title
	Editor    Editor             // nil if arguments cannot be edited
	Policy    act.Policy         // provides the rules that can be stored
	Answered  func()             // called before Reply
	Reply     func(act.Approval) // receives the answer

	action   *act.Action
	state    state
	selected describe.Choice // answer of the enter key; NoChoice while the user types
	details  bool
	text     window // scroll position in rows
	rows     []row
	diff     []string // rows of the diff
	headless bool     // the title is too wide for its line and is part of rows
	woke     bool     // a key came while the call was visible: later keys without effect get a hint
	hinted   string   // why the last key had no effect; "" if it had one

	draft draftAnswer
}

// A draftAnswer holds the user's input for an answer that is not given yet.
type draftAnswer struct {
	always  ruleChoice
	network bool // allow the network for this call
	note    textField
	edited  string // name of the argument in Editor; "" for all arguments
	left    string // content of Editor when esc closed it, to be restored
	fault   string // error in the edited arguments; "" for none
}

type state uint8

const (
	reviewing state = iota
	editing
	noting
	choosing
)

// Approve returns a dialog that asks whether a may run. now is the current time; later times
// come from Gate.Now.
func Approve(a *act.Action, now time.Time, th *theme.Theme) *Approval {
	d := &Approval{base: newQuestion(th), Gate: readGate{Now: time.Now, opened: now, typedAt: now}, action: a, selected: describe.AllowOnce}
	d.content = d
	d.arrange()
	return d
}

// arrange wraps the text again, and marks all rows as unseen.
func (a *Approval) arrange() {
	lines := describe.Action(a.action, a.details)
	cells := ansi.StringWidth(a.title())
	if shield := ansi.StringWidth(a.sandboxText()); shield > 0 {
		cells += titleGap + shield
	}
	a.headless = cells > a.inner()
	if a.headless {
		head := []describe.Line{{Text: a.title(), Style: describe.Strong, Exact: true}}
		if a.action.Command != "" {
			head = append(head, describe.Line{Text: a.sandboxText(), Style: a.sandboxStyle()})
		}
		lines = append(head, lines...)
	}
	a.diff = renderDiff(lines, a.action.Path, a.width, a.theme)
	a.rows = rowsOf(lines, a.width, a.diff)
	a.Gate.start(len(a.rows))
	a.text.clampTop(len(a.rows), a.visible())
}

// SetSize sets the width and the maximum height. A new width marks all rows as unseen, unless all
// were seen.
func (a *Approval) SetSize(width, height int) {
	if a.resize(width, height) {
		a.Gate.rearrange(a.arrange)
	}
}

// Uncover shows a again after another dialog replaced it.
func (a *Approval) Uncover(now time.Time) {
	a.Gate.uncover(now)
	a.draft.always.drawnAt = time.Time{}
	a.hinted, a.woke = "", false
}

// SetTheme changes the theme, including that of the editor.
func (a *Approval) SetTheme(th *theme.Theme) {
	a.base.SetTheme(th)
	a.diff = renderDiff(describe.Action(a.action, a.details), a.action.Path, a.width, th)
	if a.Editor != nil {
		a.Editor.SetTheme(th)
	}
}

// wants returns the number of rows for the text, and for the title and the choices.
func (a *Approval) wants() (above, inBand int) {
	switch a.state {
	case editing:
		a.fitEditor()
		return 0, 1 + a.Editor.Height()
	case noting:
		return 0, 2
	case choosing:
		return 0, 1 + len(a.draft.always.rows(a))
	}
	return len(a.rows), a.titleRows() + a.listRows()
}

// crowded reports whether empty rows would make the text scroll.
func (a *Approval) crowded() bool {
	return a.state == reviewing && len(a.rows)+len(choicesOf(a))+6 > a.height
}

// fitEditor sets the size of the editor.
func (a *Approval) fitEditor() { a.Editor.SetSize(a.inner(), a.mostRows()) }

// titleRows returns the number of rows for the title in the band: none if it is part of the text.
func (a *Approval) titleRows() int {
	if a.headless && a.state == reviewing {
		return 0
	}
	return 1
}

// mostRows returns how many rows of text fit beside the title and the keys.
func (a *Approval) mostRows() int {
	return max(a.height-a.space()-a.titleRows()-1, min(a.height, 1))
}

// Scrolls reports whether scroll keys belong to the approval, because some rows are hidden or
// text is being edited.
func (a *Approval) Scrolls() bool {
	switch a.state {
	case editing:
		return true
	case noting:
		return false
	case choosing:
		return len(a.draft.always.rows(a)) > a.mostRows()
	}
	return len(a.rows) > a.visible()
}

func (a *Approval) visible() int {
	return max(min(len(a.rows), a.mostRows()-a.listRows()), min(a.height, 1))
}

// Drawn records that the last View has reached the terminal. Its command redraws the dialog when the
// keys begin to work.
func (a *Approval) Drawn(now time.Time) tea.Cmd {
	if a.state != reviewing && a.Gate.drawn && a.Gate.firstSeenAt.IsZero() && a.height > 0 {
		a.Gate.firstSeenAt = now
	}
	switch a.state {
	case choosing:
		if a.Gate.drawn && a.draft.always.drawnAt.IsZero() && a.height > 2 {
			a.draft.always.drawnAt = now
		}
		return a.wake(now)
	case editing, noting:
		return nil
	}
	a.Gate.onDrawn(now)
	return a.wake(now)
}

// wake sends a settledMsg when the keys that allow begin to work.
func (a *Approval) wake(now time.Time) tea.Cmd {
	if a.state == choosing {
		return a.Gate.wakeAt(now, a.draft.always.drawnAt, quietDelay-now.Sub(a.Gate.typedAt))
	}
	return a.Gate.wake(now)
}

// isArmed reports whether the keys that allow work.
func (a *Approval) isArmed() bool {
	if a.state == choosing {
		return a.ruleArmed()
	}
	return a.width >= minConsentWidth && a.Gate.isArmed()
}

// handle handles keys that scroll, edit or answer.
func (a *Approval) handle(msg tea.Msg) tea.Cmd {
	if settled, ok := msg.(settledMsg); ok {
		if settled.of != &a.Gate {
			return nil
		}
		a.Gate.wakePending = false
		return a.wake(a.Gate.Now())
	}
	if press, ok := msg.(tea.KeyPressMsg); ok {
		a.hinted = ""
		if !a.Gate.isUncovered() && pressed(press, keyAccept, keyClose, keyDismiss) {
			return a.Gate.onTyping()
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

// review handles a key or a paste while the call is shown. Esc denies as soon as any row was drawn.
func (a *Approval) review(msg tea.Msg) tea.Cmd {
	press, ok := msg.(tea.KeyPressMsg)
	a.woke = a.woke || ok && a.Gate.isCalm()
	if act := a.LoneKey(msg); act != nil {
		return act()
	}
	switch {
	case a.browse(msg), !ok && !isPrintable(msg):
		return nil
	case ok && pressed(press, keyDismiss) && !a.Gate.firstSeenAt.IsZero():
		return a.reply(act.Approval{Verdict: act.Deny})
	case isPrintable(msg):
		return a.Type(msg)
	case works(a, choiceOf(a, press)):
		return takeChoice(a, choiceOf(a, press))
	case pressed(press, keyAccept, keyAllEdits) && a.woke:
		a.hinted = a.answers(press)
	}
	return a.Gate.onTyping()
}

// works reports whether an answer is accepted now.
func works(a *Approval, c describe.Choice) bool {
	return c == describe.DenyCall && a.Gate.isCalm() || a.isArmed() && slices.Contains(choicesOf(a), c)
}

// LoneKey implements Lettered: the letters of answers, and the scroll letter, work after a pause.
func (a *Approval) LoneKey(msg tea.Msg) func() tea.Cmd {
	press, ok := msg.(tea.KeyPressMsg)
	if !ok || !isPrintable(msg) || a.done || a.state != reviewing || !a.Gate.isCalm() {
		return nil
	}
	choice := choiceOf(a, press)
	worked := works(a, choice)
	switch {
	case choice == describe.NoChoice && !pressed(press, keyLast):
		return nil
	case choice == describe.NoChoice:
		return func() tea.Cmd { a.browse(msg); return nil }
	}
	return func() tea.Cmd {
		a.woke, a.hinted = true, ""
		if worked && works(a, choice) {
			return takeChoice(a, choice)
		}
		a.hinted = a.answers(press)
		a.SelectNone() // enter may end a text that the user is writing
		return a.Gate.onTyping()
	}
}

// Type implements Lettered.
func (a *Approval) Type(msg tea.Msg) tea.Cmd {
	a.SelectNone() // enter may end a text that the user is writing
	if a.woke = a.woke || a.Gate.isCalm(); a.woke {
		a.hinted = a.answers(tea.KeyPressMsg{})
		if more := " · text goes to the input"; ansi.StringWidth(a.hinted+more) <= a.footWidth() {
			a.hinted += more
		}
	}
	return tea.Batch(a.root.Typed(msg), a.Gate.onTyping())
}

// browse handles keys that scroll, select or show details, and reports whether msg was one. Letters
// work only if the user is not typing.
func (a *Approval) browse(msg tea.Msg) bool {
	if isPrintable(msg) && !a.Gate.isCalm() {
		return false
	}
	if press, ok := msg.(tea.KeyPressMsg); ok && pressed(press, keyDetails) {
		a.details, a.text.top = !a.details, 0
		a.arrange()
		return true
	}
	return selectNext(a, msg) || a.text.key(msg, scrollMode{reading: true, covering: true}, len(a.rows), a.visible())
}

// isPrintable reports whether msg is text typed or pasted by the user.
func isPrintable(msg tea.Msg) bool {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		return true
	case tea.KeyPressMsg:
		return msg.Text != ""
	}
	return false
}

func (a *Approval) reply(answer act.Approval) tea.Cmd {
	a.done = true
	a.Answered()
	a.Reply(answer)
	return nil
}

// denyWithNote handles keys while the reason for a denial is typed. Enter without a reason denies, as
// esc does.
func (a *Approval) denyWithNote(msg tea.Msg) tea.Cmd {
	if press, ok := msg.(tea.KeyPressMsg); ok {
		if pressed(press, keyAccept) {
			return a.reply(act.Approval{Verdict: act.Deny, Note: strings.TrimSpace(a.draft.note.text)})
		}
		if pressed(press, keyClose) {
			return a.reply(act.Approval{Verdict: act.Deny})
		}
	}
	a.draft.note.key(msg)
	return nil
}

// Cursor implements Dialog. The cursor is in the editor or in the note.
func (a *Approval) Cursor() (x, y int, ok bool) {
	if a.height == 0 {
		return 0, 0, false
	}
	switch a.state {
	case editing:
		x, y, ok = a.Editor.Cursor()
		return a.bandColumn(x), a.bandRow(a.Editor.Height(), y), ok
	case noting:
		return a.bandColumn(signWidth + ansi.StringWidth(a.draft.note.visibleText(a.inner()-signWidth))), a.bandRow(1, 0), true
	}
	return 0, 0, false
}
