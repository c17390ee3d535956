package dialog

import (
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// Confirmed holds the answer to a Confirm.
type Confirmed struct{ Yes bool }

// Decided holds the answer to a Decide: its index.
type Decided struct{ Answer int }

// A Confirmation is a question with two answers, yes and no, or with a list of them. The last
// one is what leaving means, at any time. The others are inert until the text was on the
// screen whole, and while somebody types (see Drawn): a key on its way to
// something else gives no consent.
type Confirmation struct {
	base
	window
	readGate
	Harmless  bool // no answer does what cannot be undone: they work at once
	text      string
	answers   []string // yes, no; of a list, each has a number
	list      bool
	selected  int      // -1: none
	OnTouched func()   // is called when the user deals with a list; nil: nothing is
	rows      []string // text, laid out for the width
	bright    bool     // the last View showed that the answers work
}

// Confirm asks text, which may have several lines; yes and no say what the
// answers do.
func Confirm(text, yes, no string, th *theme.Theme) *Confirmation {
	return newConfirmation(text, []string{yes, no}, th)
}

// Decide asks text with a list of answers, of which one is selected; -1: none is. The last
// one is what leaving means.
func Decide(text string, answers []string, selected int, th *theme.Theme) *Confirmation {
	c := newConfirmation(text, answers, th)
	c.list, c.selected = true, selected
	return c
}

// newConfirmation returns a question whose last answer is selected.
func newConfirmation(text string, answers []string, th *theme.Theme) *Confirmation {
	c := &Confirmation{base: newBase(th), readGate: readGate{Now: time.Now}, text: sanitize.Text(text), selected: len(answers) - 1}
	for _, a := range answers {
		c.answers = append(c.answers, sanitize.Line(a))
	}
	c.arrange()
	return c
}

// last returns the index of the answer that leaving means.
func (c *Confirmation) last() int { return len(c.answers) - 1 }

// choose answers with the nth answer, if that works now.
func (c *Confirmation) choose(n int) tea.Cmd {
	switch {
	case n < 0 || n > c.last() || n != c.last() && !c.isArmed():
		return c.onTyping()
	case c.list:
		return c.answer(Decided{n})
	}
	return c.answer(Confirmed{n == 0})
}

// arrange lays the text out anew; none of it counts as seen then. Each row of a line that is quoted
// has its mark.
func (c *Confirmation) arrange() {
	c.rows = textwrap.Quoted(c.text, sanitize.QuoteMark, c.width)
	c.start(len(c.rows))
}

// SetSize gives the width and the most rows. Text that was seen whole stays
// seen; otherwise another width begins anew.
func (c *Confirmation) SetSize(width, height int) {
	old, whole := c.width, c.seenAllAt
	if !c.resize(width, height) || old == c.width {
		return
	}
	c.arrange()
	if !whole.IsZero() {
		c.seenAllAt = whole
		c.markAllSeen()
	}
}

// Drawn notes that the last View has reached the terminal. The command it
// returns paints again when yes comes to life.
func (c *Confirmation) Drawn(now time.Time) tea.Cmd {
	if c.done || c.Harmless || c.width < minConsentWidth {
		return nil
	}
	if c.onDrawn(now) {
		c.view = ""
	}
	return c.wake(now)
}

// isArmed reports whether yes works.
func (c *Confirmation) isArmed() bool {
	return c.Harmless || c.width >= minConsentWidth && c.readGate.isArmed()
}

// Height returns that of the text, the answers, a row between them, and the keys.
func (c *Confirmation) Height() int { return min(len(c.rows)+c.answerRows()+2, c.height) }

// answerRows returns how many rows the answers take.
func (c *Confirmation) answerRows() int {
	if c.list {
		return len(c.answers)
	}
	return 1
}

// visible returns how many rows of the text are in sight.
func (c *Confirmation) visible() int { return max(c.Height()-c.answerRows()-2, min(c.height, 1)) }

// Scrolls reports whether there is more to be read than is in sight.
func (c *Confirmation) Scrolls() bool { return len(c.rows) > c.visible() }

// Update scrolls, selects and answers.
func (c *Confirmation) Update(msg tea.Msg) tea.Cmd {
	if c.done {
		return nil
	}
	c.view = ""
	if settled, ok := msg.(settledMsg); ok {
		if settled.of != &c.readGate {
			return nil
		}
		c.wakePending = false
		return c.wake(c.Now())
	}
	press, ok := msg.(tea.KeyPressMsg)
	if (ok || isPrintable(msg)) && c.OnTouched != nil {
		c.OnTouched()
	}
	if c.Leaves(msg) {
		c.selected = -1 // enter is for what is written
		return c.onTyping()
	}
	switch {
	case (!c.list || c.Scrolls()) && c.key(msg, c.Keys.ScrollKeys, len(c.rows), c.visible()):
		return nil
	case !ok && !isPrintable(msg):
		return nil
	case key.Matches(press, c.Keys.Close), !c.list && key.Matches(press, c.Keys.No):
		return c.choose(c.last())
	case key.Matches(press, c.Keys.Accept):
		return c.choose(c.selected)
	case !c.list && key.Matches(press, c.Keys.Yes):
		return c.choose(0)
	case c.list && len(press.Text) == 1 && press.Text[0] >= '1' && press.Text[0] <= '9':
		return c.choose(int(press.Text[0] - '1'))
	case key.Matches(press, c.Keys.Next), c.list && key.Matches(press, c.Keys.Down):
		c.selected = (c.selected + 1) % len(c.answers)
		return c.onSelecting()
	case key.Matches(press, c.Keys.Previous), c.list && key.Matches(press, c.Keys.Up):
		c.selected = (max(c.selected, 0) + c.last()) % len(c.answers)
		return c.onSelecting()
	}
	return c.onTyping()
}

// Leaves reports whether msg is no answer to a list, but something that is written: its
// owner keeps that.
func (c *Confirmation) Leaves(msg tea.Msg) bool {
	press, ok := msg.(tea.KeyPressMsg)
	digit := ok && len(press.Text) == 1 && press.Text[0] >= '1' && int(press.Text[0]-'0') <= len(c.answers)
	return c.list && isPrintable(msg) && !(digit && c.isArmed())
}

// onSelecting notes that another answer was selected: in a list, nobody types with arrows.
func (c *Confirmation) onSelecting() tea.Cmd {
	if c.list {
		return nil
	}
	return c.onTyping()
}

// View returns the question above its answers.
func (c *Confirmation) View() string {
	armed := c.isArmed() // as time alone may change that
	if c.view != "" && armed == c.bright {
		return c.view
	}
	c.bright = armed
	visible := c.visible()
	c.clampTop(len(c.rows), visible)
	var rows []string
	c.shown = [2]int{c.top, min(c.top+visible, len(c.rows))}
	for _, row := range c.rows[c.shown[0]:c.shown[1]] {
		rows = append(rows, c.theme.Text.Render(ansi.Truncate(row, c.width, "…")))
	}
	if c.height > visible+2 {
		rows = append(rows, "")
	}
	for _, row := range c.choices() {
		rows = append(rows, ansi.Truncate(row, c.width, "…"))
	}
	c.view = frame(c.Height(), "", rows, c.foot())
	return c.view
}

// choices returns the answers, in a row or as a list. They are faint while they are inert.
func (c *Confirmation) choices() (rows []string) {
	line := ""
	for i, answer := range c.answers {
		look, selected := c.theme.Text, i == c.selected
		switch {
		case i != c.last() && !c.bright:
			look = c.theme.Faint
		case selected:
			look = c.theme.Strong
		}
		if c.list {
			rows = append(rows, c.sign(selected)+look.Render(strconv.Itoa(i+1)+"  "+answer))
			continue
		}
		line += c.sign(selected) + look.Render(answer) + "  "
	}
	if c.list {
		return rows
	}
	return []string{line}
}

// verb returns an answer as a key hint says it: without a capital.
func verb(answer string) string {
	first, size := utf8.DecodeRuneInString(answer)
	return string(unicode.ToLower(first)) + answer[size:]
}

// foot returns which keys work. They are faint while yes does not.
func (c *Confirmation) foot() string {
	yes, no := hint(c.Keys.Yes, verb(c.answers[0])), hint(c.Keys.No, verb(c.answers[c.last()]))
	if c.list {
		yes, no = hint(c.Keys.Accept, "choose"), hint(c.Keys.Close, verb(c.answers[c.last()]))
		if c.selected < 0 { // enter chooses nothing
			yes = hintText(c.Keys.Up.Help().Key+"/"+c.Keys.Down.Help().Key, "select")
		}
	}
	look := c.theme.Dim
	if !c.bright {
		if c.width < minConsentWidth {
			return c.keyHint(c.theme.Warn, no)
		}
		if line := c.unreadHint(c.Keys.ScrollKeys, c.width, "read to the end", no); line != "" {
			return c.theme.Warn.Render(line)
		}
		look = c.theme.Faint
	}
	keys := []key.Binding{yes, no}
	if len(c.rows) > c.visible() {
		keys = append(keys, hintText(c.Keys.Up.Help().Key+"/"+c.Keys.Down.Help().Key, "scroll"))
	}
	return c.keyHint(look, keys...)
}
