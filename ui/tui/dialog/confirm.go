package dialog

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/textwrap"
	"parley/ui/theme"
	"parley/ui/tui/band"
)

// A Confirmation is a question with two answers, yes and no, or with a list of answers. Leaving it
// gives the last answer. The other answers do not work until all of the text has been visible, and
// while the user types (see Drawn), so that a key meant for something else gives no consent.
type Confirmation struct {
	base
	window
	Gate      readGate                 // decides when keys may answer
	Harmless  bool                     // every answer can be undone, so all work at once
	Unasked   bool                     // it opened without a key of the user: only a lone letter after a pause answers it
	Answered  func(answer int) tea.Cmd // called with the index of the answer; 0 is yes
	text      string
	answers   []string // yes and no, or a list
	list      bool
	selected  int      // -1 for none
	OnTouched func()   // called at each key or paste; nil for none
	rows      []string // text, wrapped to the width
}

// Confirm asks text, which may have several lines. yes and no name the actions of the answers.
func Confirm(text, yes, no string, th *theme.Theme) *Confirmation {
	return newConfirmation(text, []string{yes, no}, th)
}

// Decide asks text with a list of answers. selected is the index of the selected one, -1 for none.
// Leaving gives the last answer.
func Decide(text string, answers []string, selected int, th *theme.Theme) *Confirmation {
	c := newConfirmation(text, answers, th)
	c.list, c.selected = true, selected
	return c
}

// newConfirmation returns a question whose last answer is selected.
func newConfirmation(text string, answers []string, th *theme.Theme) *Confirmation {
	c := &Confirmation{base: newQuestion(th), Gate: readGate{Now: time.Now}, text: sanitize.Text(text), selected: len(answers) - 1}
	c.content = c
	for _, a := range answers {
		c.answers = append(c.answers, sanitize.Line(a))
	}
	c.arrange()
	return c
}

// last returns the index of the last answer, which leaving gives.
func (c *Confirmation) last() int { return len(c.answers) - 1 }

// choose gives the answer with index n if it works now.
func (c *Confirmation) choose(n int) tea.Cmd {
	if n < 0 || n > c.last() || n != c.last() && !c.isArmed() {
		return c.Gate.onTyping()
	}
	c.done = true
	return c.Answered(n)
}

// textWidth returns the number of cells for text.
func (c *Confirmation) textWidth() int { return min(c.inner(), 100) }

// arrange wraps the text again, and marks all rows as unseen. Every row of a quoted line gets the
// quote mark.
func (c *Confirmation) arrange() {
	c.rows = textwrap.Quoted(c.text, sanitize.QuoteMark, c.textWidth())
	c.Gate.start(len(c.rows))
}

// SetSize sets the width and the maximum height. A new width marks all rows as unseen, unless all
// were seen.
func (c *Confirmation) SetSize(width, height int) {
	if c.resize(width, height) {
		c.Gate.rearrange(c.arrange)
	}
}

// Drawn records that the last View has reached the terminal. Its command redraws the dialog when the
// answers begin to work.
func (c *Confirmation) Drawn(now time.Time) tea.Cmd {
	if c.done || c.Harmless && !c.Unasked || c.width < minConsentWidth {
		return nil
	}
	c.Gate.onDrawn(now)
	return c.Gate.wake(now)
}

// isArmed reports whether all answers work.
func (c *Confirmation) isArmed() bool {
	return c.Harmless || c.width >= minConsentWidth && c.Gate.isArmed()
}

// wants returns the number of rows for the text, an empty row and the answers.
func (c *Confirmation) wants() (above, inBand int) { return 0, len(c.rows) + c.answerRows() + 1 }

// crowded reports whether empty rows would make the text scroll.
func (c *Confirmation) crowded() bool { return len(c.rows)+c.answerRows()+5 > c.height }

// answerRows returns the number of rows for the answers.
func (c *Confirmation) answerRows() int {
	if c.list {
		return len(c.answers)
	}
	return 1
}

// visible returns the number of visible text rows. In a low window no row is empty after them.
func (c *Confirmation) visible() int {
	const low = 8
	empty := 1
	if c.height < low {
		empty = 0
	}
	return max(c.rowsAbove(0)-c.answerRows()-empty, min(c.height, 1))
}

// Scrolls reports whether some of the text is hidden.
func (c *Confirmation) Scrolls() bool { return len(c.rows) > c.visible() }

// handle handles keys that scroll, select or answer.
func (c *Confirmation) handle(msg tea.Msg) tea.Cmd {
	if settled, ok := msg.(settledMsg); ok {
		if settled.of != &c.Gate {
			return nil
		}
		c.Gate.wakePending = false
		return c.Gate.wake(c.Gate.Now())
	}
	press, ok := msg.(tea.KeyPressMsg)
	if (ok || isPrintable(msg)) && c.OnTouched != nil {
		c.OnTouched()
	}
	if act := c.LoneKey(msg); act != nil {
		return act()
	}
	switch {
	case isPrintable(msg) && c.takesText():
		return c.Type(msg)
	case (!c.list || c.Scrolls()) && c.key(msg, scrollMode{}, len(c.rows), c.visible()):
		return nil
	case !ok && !isPrintable(msg):
		return nil
	case pressed(press, keyClose), !c.list && pressed(press, keyNo):
		return c.choose(c.last())
	case pressed(press, keyAccept):
		return c.choose(c.selected)
	case !c.list && pressed(press, keyYes):
		return c.choose(0)
	case pressed(press, keyNext), c.list && pressed(press, keyDown):
		c.selected = (c.selected + 1) % len(c.answers)
		return c.onSelecting()
	case pressed(press, keyPrevious), c.list && pressed(press, keyUp):
		c.selected = (max(c.selected, 0) + c.last()) % len(c.answers)
		return c.onSelecting()
	}
	return c.Gate.onTyping()
}

// takesText reports whether text that answers nothing goes to the composer: the user may have
// been writing when the question came.
func (c *Confirmation) takesText() bool { return c.list || c.Unasked }

// LoneKey implements Lettered: the letters of an unasked question work after a pause, and the digits of a
// list once its answers work.
func (c *Confirmation) LoneKey(msg tea.Msg) func() tea.Cmd {
	press, ok := msg.(tea.KeyPressMsg)
	if !ok || c.done || !c.takesText() || !isPrintable(msg) {
		return nil
	}
	n := -1
	switch {
	case c.list && c.isArmed() && len(press.Text) == 1:
		n = strings.Index("123456789"[:min(len(c.answers), 9)], press.Text)
	case c.list || !c.Gate.isCalm():
	case pressed(press, keyYes):
		n = 0
	case pressed(press, keyNo):
		n = c.last()
	}
	if n < 0 {
		return nil
	}
	worked := n == c.last() || c.isArmed()
	return func() tea.Cmd {
		if !worked {
			return c.Gate.onTyping()
		}
		return c.choose(n)
	}
}

// Type implements Lettered.
func (c *Confirmation) Type(msg tea.Msg) tea.Cmd {
	c.selected = -1 // enter would be meant for the text
	return tea.Batch(c.root.Typed(msg), c.Gate.onTyping())
}

// onSelecting handles a change of the selection. In a row it counts as typing. In a list it does not,
// because arrow keys type no text.
func (c *Confirmation) onSelecting() tea.Cmd {
	if c.list {
		return nil
	}
	return c.Gate.onTyping()
}

func (c *Confirmation) draw() (above, rows []string, foot string) {
	visible := c.visible()
	c.clampTop(len(c.rows), visible)
	c.Gate.shown = [2]int{c.top, min(c.top+visible, len(c.rows))}
	for _, row := range c.rows[c.Gate.shown[0]:c.Gate.shown[1]] {
		rows = append(rows, c.theme.Text.Render(ansi.Truncate(row, c.inner(), "…")))
	}
	if c.rowsAbove(0) > visible+c.answerRows() {
		rows = append(rows, "")
	}
	for _, row := range c.choices() {
		rows = append(rows, ansi.Truncate(row, max(c.region-band.Width, 0), "…")) // may use the edge
	}
	return nil, rows, c.foot()
}

// choices returns the answers, in a row or as a list. Answers that do not work yet are faint.
func (c *Confirmation) choices() (rows []string) {
	line := ""
	for i, answer := range c.answers {
		style, selected := c.theme.Text, i == c.selected
		switch {
		case i != c.last() && !c.isArmed():
			style = c.theme.Faint
		case selected:
			style = c.theme.Strong
		}
		if c.list {
			rows = append(rows, c.sign(selected)+style.Render(strconv.Itoa(i+1)+"  "+answer))
			continue
		}
		line += c.sign(selected) + style.Render(answer) + "  "
	}
	if c.list {
		return rows
	}
	return []string{line}
}

// verb returns an answer for a key hint, in lower case.
func verb(answer string) string {
	first, size := utf8.DecodeRuneInString(answer)
	return string(unicode.ToLower(first)) + answer[size:]
}

// foot returns the key hints, faint while the keys do not work, or the reason why they do not.
func (c *Confirmation) foot() string {
	yes, no := keyYes.hint(verb(c.answers[0])), keyNo.hint(verb(c.answers[c.last()]))
	if c.list {
		yes, no = keyAccept.hint("choose"), keyClose.hint(verb(c.answers[c.last()]))
		if c.selected < 0 { // enter chooses nothing
			yes = scrollHint("select")
		}
	}
	style := c.theme.Dim
	if !c.isArmed() {
		if c.width < minConsentWidth {
			return c.keyHint(c.theme.Warn, no)
		}
		if line := c.Gate.unreadHint(c.footWidth(), "read to the end", no); line != "" {
			return c.theme.Warn.Render(line)
		}
		style = c.theme.Faint
	}
	keys := []hint{yes, no}
	if len(c.rows) > c.visible() {
		keys = append(keys, scrollHint("scroll"))
	}
	return c.keyHint(style, keys...)
}
