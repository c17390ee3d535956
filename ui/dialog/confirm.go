package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/safe"
	"parley/ui/theme"
)

// Confirmed is the answer to a Confirm of this kind.
type Confirmed struct {
	Kind string
	Yes  bool
}

// A Confirmation is a question with two answers. No is selected at the start,
// and is what leaving means, so that no key pressed too early does harm.
type Confirmation struct {
	base
	scroll
	kind, text string
	answers    [2]string // yes, no
	no         bool      // no is selected
	rows       []string  // text, laid out for the width
}

// Confirm asks text, which may have several lines; yes and no say what the
// answers do.
func Confirm(kind, text, yes, no string, th *theme.Theme) *Confirmation {
	c := &Confirmation{base: newBase(th), kind: kind, text: safe.Text(text), answers: [2]string{safe.Line(yes), safe.Line(no)}, no: true}
	c.arrange()
	return c
}

func (c *Confirmation) arrange() {
	c.rows = strings.Split(ansi.Wrap(strings.ReplaceAll(c.text, "\t", "    "), max(c.width, 1), ""), "\n")
}

// SetSize gives the width and the most rows.
func (c *Confirmation) SetSize(width, height int) {
	if c.resize(width, height) {
		c.arrange()
	}
}

// Height is that of the text, the answers, a row between them, and the keys.
func (c *Confirmation) Height() int { return min(len(c.rows)+3, c.height) }

// visible is how many rows of the text are in sight.
func (c *Confirmation) visible() int { return max(c.Height()-3, min(c.height, 1)) }

// Update scrolls, selects and answers.
func (c *Confirmation) Update(msg tea.Msg) tea.Cmd {
	if c.over {
		return nil
	}
	c.view = ""
	key, ok := msg.(tea.KeyPressMsg)
	switch {
	case c.key(msg, c.Keys, len(c.rows), c.visible()):
	case !ok:
	case is(key, c.Keys.Yes):
		return c.answer(Confirmed{c.kind, true})
	case is(key, c.Keys.No), is(key, c.Keys.Close):
		return c.answer(Confirmed{c.kind, false})
	case is(key, c.Keys.Accept):
		return c.answer(Confirmed{c.kind, !c.no})
	case is(key, c.Keys.Next), is(key, c.Keys.Previous):
		c.no = !c.no
	}
	return nil
}

// View is the question above its answers.
func (c *Confirmation) View() string {
	if c.view != "" {
		return c.view
	}
	visible := c.visible()
	c.fit(len(c.rows), visible)
	var rows []string
	for _, row := range c.rows[c.top:min(c.top+visible, len(c.rows))] {
		rows = append(rows, c.theme.Text.Render(ansi.Truncate(row, c.width, "…")))
	}
	if c.height > visible+2 {
		rows = append(rows, "")
	}
	line := ""
	for i, answer := range c.answers {
		look, selected := c.theme.Text, c.no == (i == 1)
		if selected {
			look = c.theme.Strong
		}
		line += c.sign(selected) + look.Render(answer) + "  "
	}
	rows = append(rows, ansi.Truncate(line, c.width, "…"))
	pairs := []string{first(c.Keys.Yes), c.answers[0], first(c.Keys.No), c.answers[1]}
	if len(c.rows) > visible {
		pairs = append(pairs, first(c.Keys.Up)+"/"+first(c.Keys.Down), "scroll")
	}
	c.view = frame(c.Height(), "", rows, c.hint(c.theme.Dim, pairs...))
	return c.view
}
