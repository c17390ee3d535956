package dialog

import (
	"strings"
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

// A Confirmation is a question with two answers. No is selected at the start,
// and is what leaving means, at any time. Yes is inert until the text was on the
// screen whole, and while somebody types (see Drawn): a key on its way to
// something else gives no consent.
type Confirmation struct {
	base
	window
	readGate
	Harmless bool // yes does nothing that cannot be undone, and works at once
	text     string
	answers  [2]string // yes, no
	no       bool      // no is selected
	rows     []string  // text, laid out for the width
	bright   bool      // the last View showed that yes works
}

// Confirm asks text, which may have several lines; yes and no say what the
// answers do.
func Confirm(text, yes, no string, th *theme.Theme) *Confirmation {
	c := &Confirmation{base: newBase(th), readGate: readGate{Now: time.Now}, text: sanitize.Text(text), answers: [2]string{sanitize.Line(yes), sanitize.Line(no)}, no: true}
	c.arrange()
	return c
}

// arrange lays the text out anew; none of it counts as seen then.
func (c *Confirmation) arrange() {
	c.rows = textwrap.Lines(strings.ReplaceAll(c.text, "\t", "    "), max(c.width, 1))
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
func (c *Confirmation) Height() int { return min(len(c.rows)+3, c.height) }

// visible returns how many rows of the text are in sight.
func (c *Confirmation) visible() int { return max(c.Height()-3, min(c.height, 1)) }

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
	switch {
	case c.key(msg, c.Keys.ScrollKeys, len(c.rows), c.visible()):
		return nil
	case !ok && !prints(msg):
		return nil
	case key.Matches(press, c.Keys.No), key.Matches(press, c.Keys.Close), key.Matches(press, c.Keys.Accept) && c.no:
		return c.answer(Confirmed{false})
	case key.Matches(press, c.Keys.Yes) && c.isArmed(), key.Matches(press, c.Keys.Accept) && c.isArmed():
		return c.answer(Confirmed{true})
	case key.Matches(press, c.Keys.Next), key.Matches(press, c.Keys.Previous):
		c.no = !c.no
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
	rows = append(rows, ansi.Truncate(c.choices(), c.width, "…"))
	c.view = frame(c.Height(), "", rows, c.foot())
	return c.view
}

// choices returns the answers in a row. Yes is faint while it is inert.
func (c *Confirmation) choices() string {
	line := ""
	for i, answer := range c.answers {
		look, selected := c.theme.Text, c.no == (i == 1)
		switch {
		case i == 0 && !c.bright:
			look = c.theme.Faint
		case selected:
			look = c.theme.Strong
		}
		line += c.sign(selected) + look.Render(answer) + "  "
	}
	return line
}

// verb returns an answer as a key hint says it: without a capital.
func verb(answer string) string {
	first, size := utf8.DecodeRuneInString(answer)
	return string(unicode.ToLower(first)) + answer[size:]
}

// foot returns which keys work. They are faint while yes does not.
func (c *Confirmation) foot() string {
	yes, no := hint(c.Keys.Yes, verb(c.answers[0])), hint(c.Keys.No, verb(c.answers[1]))
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
