package dialog

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools"
	"parley/ui/safe"
	"parley/ui/theme"
)

// AnsweredMsg is what a person said to the call with this id.
type AnsweredMsg struct {
	ID     string
	Answer tools.Answer
}

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

const (
	// settle is how long the whole text must have been on the screen before a
	// key can allow it: a key on its way when it appeared meant something else.
	settle = 300 * time.Millisecond
	// narrowest is the width below which nothing can be allowed: a command in
	// pieces of a few cells cannot be read.
	narrowest = 16
)

// An Approval shows a tool call whole and waits for consent. The keys that
// allow are inert until every row was painted and settle has passed; see
// Painted.
type Approval struct {
	base
	scroll
	Now       func() time.Time
	Workspace string // shown in the title
	Editor    Editor // nil: arguments cannot be edited

	id      string
	action  *tools.Action
	opened  time.Time
	state   state
	details bool
	rows    []row
	bright  bool // the last View showed keys that work

	shown  [2]int // rows of the last View: from, up to
	seen   []bool // rows that were painted
	unseen int
	first  time.Time // when the first row was painted; zero: not yet
	whole  time.Time // when the last row was painted; zero: not yet

	note   field
	edited string // the argument that Editor holds; "" for all of them
	fault  string // what is wrong with the edited arguments
}

type state uint8

const (
	reviewing state = iota
	editing
	noting
)

// settledMsg says that keys of the approval have come to life.
type settledMsg struct{ id string }

// Approve asks whether a may run. Now is the time, which the field Now tells from
// then on: time.Now, unless it is set.
func Approve(id string, a *tools.Action, now time.Time, th *theme.Theme) *Approval {
	d := &Approval{base: newBase(th), Now: time.Now, id: id, action: a, opened: now}
	d.arrange()
	return d
}

// arrange lays the text out anew; none of it counts as seen then.
func (a *Approval) arrange() {
	lines := describe(a.action, a.details)
	if ansi.StringWidth(a.title()) > a.width {
		lines = append([]line{{"", a.title(), strong, true}}, lines...)
	}
	a.rows = wrap(lines, a.width)
	a.seen, a.unseen = make([]bool, len(a.rows)), len(a.rows)
	a.shown, a.whole, a.view = [2]int{}, time.Time{}, ""
	a.fit(len(a.rows), a.visible())
}

// wants says what a tool asks for, by its access.
var wants = map[tools.Access]string{tools.Reads: " to read", tools.Writes: " to change files", tools.Runs: " to run"}

func (a *Approval) title() string {
	what := wants[a.action.Access]
	if a.action.Command != "" {
		what = " to run a command"
	}
	return "Allow " + safe.Line(reveal(a.action.Tool)) + what + "?"
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
	whole := a.whole
	a.arrange()
	if !whole.IsZero() {
		a.unseen, a.whole = 0, whole
	}
}

// SetTheme changes the looks.
func (a *Approval) SetTheme(th *theme.Theme) {
	a.base.SetTheme(th)
	if a.Editor != nil {
		a.Editor.SetTheme(th)
	}
}

// Height is that of the text, its title and the keys.
func (a *Approval) Height() int {
	switch a.state {
	case editing:
		a.sizeEditor()
		return min(a.Editor.Height()+2, a.height)
	case noting:
		return min(3, a.height)
	}
	return min(len(a.rows)+2, a.height)
}

func (a *Approval) sizeEditor() { a.Editor.SetSize(a.width, contentRows(a.height)) }

func (a *Approval) visible() int { return contentRows(min(len(a.rows)+2, a.height)) }

// Painted tells that the last View has reached the terminal. The command it
// returns paints again when the keys come to life.
func (a *Approval) Painted(now time.Time) tea.Cmd {
	if a.state != reviewing || a.shown[0] >= a.shown[1] || now.Before(a.opened) {
		return nil
	}
	wake := false
	if a.first.IsZero() {
		a.first, wake = now, true
	}
	for i := a.shown[0]; i < min(a.shown[1], len(a.seen)); i++ {
		if !a.seen[i] {
			a.seen[i] = true
			a.unseen--
			a.view = ""
		}
	}
	if a.unseen == 0 && a.whole.IsZero() {
		a.whole, wake = now, true
	}
	if !wake {
		return nil
	}
	return tea.Tick(settle, func(time.Time) tea.Msg { return settledMsg{a.id} })
}

// awake reports whether what was typed was typed in sight of the question.
func (a *Approval) awake() bool { return !a.first.IsZero() && a.Now().Sub(a.first) >= settle }

// armed reports whether the keys that allow work.
func (a *Approval) armed() bool {
	return a.width >= narrowest && a.unseen == 0 && !a.whole.IsZero() && a.Now().Sub(a.whole) >= settle
}

// Update scrolls, edits and answers.
func (a *Approval) Update(msg tea.Msg) tea.Cmd {
	if a.over {
		return nil
	}
	a.view = ""
	switch a.state {
	case editing:
		return a.edit(msg)
	case noting:
		return a.denyWithNote(msg)
	}
	if a.key(msg, a.Keys, len(a.rows), a.visible()) {
		return nil
	}
	key, ok := msg.(tea.KeyPressMsg)
	switch {
	case !ok:
	case is(key, a.Keys.Close):
		return a.reply(tools.Answer{Verdict: tools.Deny})
	case is(key, a.Keys.Deny) && a.awake():
		a.state = noting
	case is(key, a.Keys.Details):
		a.details, a.top = !a.details, 0
		a.arrange()
	case !a.armed():
	case is(key, a.Keys.Once):
		return a.reply(tools.Answer{Verdict: tools.Allow})
	case is(key, a.Keys.Session):
		return a.reply(tools.Answer{Verdict: tools.Allow, Session: true})
	case is(key, a.Keys.Edit) && a.Editor != nil:
		a.startEdit()
	}
	return nil
}

func (a *Approval) reply(answer tools.Answer) tea.Cmd {
	return a.answer(AnsweredMsg{ID: a.id, Answer: answer})
}

// denyWithNote takes words for the model; without any, enter denies as esc does.
func (a *Approval) denyWithNote(msg tea.Msg) tea.Cmd {
	if key, ok := msg.(tea.KeyPressMsg); ok {
		if is(key, a.Keys.Accept) {
			return a.reply(tools.Answer{Verdict: tools.Deny, Note: strings.TrimSpace(a.note.text)})
		}
		if is(key, a.Keys.Close) {
			return a.reply(tools.Answer{Verdict: tools.Deny})
		}
	}
	a.note.key(msg, a.Keys)
	return nil
}

// View is the question.
func (a *Approval) View() string {
	if a.height == 0 {
		return ""
	}
	switch a.state {
	case editing:
		return a.viewEdit()
	case noting:
		line := a.theme.Text.Render(a.note.shown(a.width))
		foot := a.hint(a.theme.Dim, first(a.Keys.Accept), "deny, and tell the model this", first(a.Keys.Close), "just deny")
		return frame(a.Height(), a.head("Deny. Tell the model why?", ""), []string{line}, foot)
	}
	armed := a.armed() // as time alone may change that
	if a.view != "" && armed == a.bright {
		return a.view
	}
	a.bright = armed
	visible := a.visible()
	a.fit(len(a.rows), visible)
	a.shown = [2]int{a.top, min(a.top+visible, len(a.rows))}
	var rows []string
	for _, r := range a.rows[a.shown[0]:a.shown[1]] {
		rows = append(rows, r.draw(a.width, a.theme))
	}
	a.view = frame(a.Height(), a.head(a.title(), a.Workspace), rows, a.foot())
	return a.view
}

// foot says which keys work. They are dim while they do not.
func (a *Approval) foot() string {
	deny := []string{first(a.Keys.Deny), "deny"}
	if a.width < narrowest {
		return a.hint(a.theme.Warn, deny...)
	}
	if a.unseen > 0 && len(a.rows) > a.visible() {
		todo := "scroll to the end to allow"
		if a.top+a.visible() >= len(a.rows) {
			todo = "scroll back, not all was shown"
		}
		line := percent(len(a.rows)-a.unseen, len(a.rows)) + " — " + todo + " · " + strings.Join(deny, " ")
		return a.theme.Warn.Render(ansi.Truncate(line, a.width, "…"))
	}
	pairs := []string{first(a.Keys.Once), "once", first(a.Keys.Session), "this session"}
	pairs = append(pairs, deny...)
	if a.Editor != nil {
		pairs = append(pairs, first(a.Keys.Edit), "edit")
	}
	pairs = append(pairs, first(a.Keys.Details), "details")
	if !a.bright {
		return a.hint(a.theme.Faint, pairs...)
	}
	return a.hint(a.theme.Text, pairs...)
}

// percent is how much of total is done, 100 only when all of it is.
func percent(done, total int) string {
	return fmt.Sprintf("%d %%", min(done, total)*100/max(total, 1))
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
		return min(ansi.StringWidth(a.note.shown(a.width)), max(a.width-1, 0)), below, true
	}
	return 0, 0, false
}
