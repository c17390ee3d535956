package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/safe"
	"parley/ui/theme"
)

// ConfirmedMsg answers a confirmation. Kind is the confirmation's.
type ConfirmedMsg struct {
	Kind string
	Yes  bool
}

// A Confirmation is a question of yes or no.
type Confirmation struct {
	base
	kind, question string
}

// Confirm asks a question.
func Confirm(kind, question string, th *theme.Theme) *Confirmation {
	return &Confirmation{base: newBase(th), kind: kind, question: safe.Text(question)}
}

// SetSize gives the width and the most rows.
func (c *Confirmation) SetSize(width, height int) { c.resize(width, height) }

func (c *Confirmation) rows() []string {
	return strings.Split(ansi.Wrap(strings.ReplaceAll(c.question, "\t", "    "), max(c.width, 1), ""), "\n")
}

// Height is that of the question and the keys.
func (c *Confirmation) Height() int { return min(len(c.rows())+1, c.height) }

// Update takes yes and no.
func (c *Confirmation) Update(msg tea.Msg) tea.Cmd {
	key, ok := msg.(tea.KeyPressMsg)
	switch {
	case !ok || c.over:
	case is(key, c.Keys.Yes):
		return c.answer(ConfirmedMsg{c.kind, true})
	case is(key, c.Keys.No):
		return c.answer(ConfirmedMsg{c.kind, false})
	case is(key, c.Keys.Close):
		return c.answer(ClosedMsg{})
	}
	return nil
}

// View is the question and the keys.
func (c *Confirmation) View() string {
	if c.view != "" || c.height == 0 {
		return c.view
	}
	rows := c.rows()
	rows = rows[:min(len(rows), max(c.Height()-1, 1))]
	for i, row := range rows {
		rows[i] = c.theme.Strong.Render(ansi.Truncate(row, c.width, "…"))
	}
	if c.Height() > 1 {
		rows = append(rows, c.hint(c.theme.Dim, first(c.Keys.Yes), "yes", first(c.Keys.No), "no", first(c.Keys.Close), "close"))
	}
	c.view = strings.Join(rows, "\n")
	return c.view
}
