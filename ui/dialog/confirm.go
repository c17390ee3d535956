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

// A Question has two answers. No is selected at the start, and is what leaving
// means, so that no key pressed too early does harm.
type Question struct {
	base
	scroll
	kind, text string
	answers    [2]string // yes, no
	no         bool      // no is selected
	rows       []string  // text, laid out for the width
}

// Confirm asks text, which may have several lines; yes and no say what the
// answers do.
func Confirm(kind, text, yes, no string, th *theme.Theme) *Question {
	q := &Question{base: newBase(th), kind: kind, text: safe.Text(text), answers: [2]string{safe.Line(yes), safe.Line(no)}, no: true}
	q.arrange()
	return q
}

func (q *Question) arrange() {
	q.rows = strings.Split(ansi.Wrap(strings.ReplaceAll(q.text, "\t", "    "), max(q.width, 1), ""), "\n")
}

// SetSize gives the width and the most rows.
func (q *Question) SetSize(width, height int) {
	if q.resize(width, height) {
		q.arrange()
	}
}

// Height is that of the text, the answers, a row between them, and the keys.
func (q *Question) Height() int { return min(len(q.rows)+3, q.height) }

// visible is how many rows of the text are in sight.
func (q *Question) visible() int { return max(q.Height()-3, min(q.height, 1)) }

// Update scrolls, selects and answers.
func (q *Question) Update(msg tea.Msg) tea.Cmd {
	if q.over {
		return nil
	}
	q.view = ""
	key, ok := msg.(tea.KeyPressMsg)
	switch {
	case q.key(msg, q.Keys, len(q.rows), q.visible()):
	case !ok:
	case is(key, q.Keys.Yes):
		return q.answer(Confirmed{q.kind, true})
	case is(key, q.Keys.No), is(key, q.Keys.Close):
		return q.answer(Confirmed{q.kind, false})
	case is(key, q.Keys.Accept):
		return q.answer(Confirmed{q.kind, !q.no})
	case is(key, q.Keys.Next), is(key, q.Keys.Previous):
		q.no = !q.no
	}
	return nil
}

// View is the question above its answers.
func (q *Question) View() string {
	if q.view != "" {
		return q.view
	}
	visible := q.visible()
	q.fit(len(q.rows), visible)
	var rows []string
	for _, row := range q.rows[q.top:min(q.top+visible, len(q.rows))] {
		rows = append(rows, q.theme.Text.Render(ansi.Truncate(row, q.width, "…")))
	}
	if q.height > visible+2 {
		rows = append(rows, "")
	}
	line := ""
	for i, answer := range q.answers {
		look, selected := q.theme.Text, q.no == (i == 1)
		if selected {
			look = q.theme.Strong
		}
		line += q.sign(selected) + look.Render(answer) + "  "
	}
	rows = append(rows, ansi.Truncate(line, q.width, "…"))
	pairs := []string{first(q.Keys.Yes), q.answers[0], first(q.Keys.No), q.answers[1]}
	if len(q.rows) > visible {
		pairs = append(pairs, first(q.Keys.Up)+"/"+first(q.Keys.Down), "scroll")
	}
	q.view = frame(q.Height(), "", rows, q.hint(q.theme.Dim, pairs...))
	return q.view
}
