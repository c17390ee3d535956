package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/safe"
	"parley/ui/theme"
)

// A Section is a group of bindings: keys, and what they do.
type Section struct {
	Title string
	Rows  [][2]string
}

// A Guide shows bindings in as many columns as fit.
type Guide struct {
	base
	scroll
	sections []Section
	rows     []string // laid out for the width and the theme
}

// Help shows the keys.
func Help(sections []Section, th *theme.Theme) *Guide {
	g := &Guide{base: newBase(th)}
	for _, s := range sections {
		clean := Section{Title: safe.Line(s.Title)}
		for _, r := range s.Rows {
			clean.Rows = append(clean.Rows, [2]string{safe.Line(r[0]), safe.Line(r[1])})
		}
		g.sections = append(g.sections, clean)
	}
	g.arrange()
	return g
}

// SetSize gives the width and the most rows.
func (g *Guide) SetSize(width, height int) {
	if g.resize(width, height) {
		g.arrange()
	}
}

// SetTheme changes the looks.
func (g *Guide) SetTheme(th *theme.Theme) {
	g.base.SetTheme(th)
	g.arrange()
}

// narrowColumn is how wide a column should be at least, and columnGap lies
// between two.
const (
	narrowColumn = 46
	columnGap    = 2
)

// arrange puts each section into the column that is the shortest so far.
func (g *Guide) arrange() {
	n := max(min(g.width/narrowColumn, len(g.sections)), 1)
	width := max((g.width-(n-1)*columnGap)/n, 0)
	columns := make([][]string, n)
	for _, s := range g.sections {
		short := 0
		for i := range columns {
			if len(columns[i]) < len(columns[short]) {
				short = i
			}
		}
		if len(columns[short]) > 0 {
			columns[short] = append(columns[short], "")
		}
		columns[short] = append(columns[short], g.section(s, width)...)
	}
	g.rows = g.rows[:0]
	for r := 0; ; r++ {
		line, any := "", false
		for i, c := range columns {
			cell := ""
			if r < len(c) {
				cell, any = c[r], true
			}
			if i < n-1 {
				cell += strings.Repeat(" ", max(width+columnGap-ansi.StringWidth(cell), 0))
			}
			line += cell
		}
		if !any {
			break
		}
		g.rows = append(g.rows, strings.TrimRight(line, " "))
	}
	g.fit(len(g.rows), g.visible())
}

// section is the title and one row per binding; keys that need more room than
// their column stand above what they do.
func (g *Guide) section(s Section, width int) []string {
	keys := 0
	for _, r := range s.Rows {
		keys = max(keys, ansi.StringWidth(r[0]))
	}
	keys = min(keys, width*2/5)
	rows := []string{g.theme.Strong.Render(ansi.Truncate(s.Title, width, "…"))}
	for _, r := range s.Rows {
		pad := keys + columnGap
		does := strings.Split(ansi.Wrap(r[1], max(width-pad, 1), ""), "\n")
		head := ansi.Truncate(r[0], width, "…")
		if ansi.StringWidth(head) > keys {
			rows = append(rows, g.theme.Accent.Render(head))
			head = ""
		}
		for i, line := range does {
			if i > 0 {
				head = ""
			}
			row := g.theme.Accent.Render(head) + strings.Repeat(" ", pad-ansi.StringWidth(head)) + g.theme.Text.Render(line)
			rows = append(rows, ansi.Truncate(row, width, "…"))
		}
	}
	return rows
}

// Height is that of the bindings, their title and the keys.
func (g *Guide) Height() int { return min(len(g.rows)+2, g.height) }

func (g *Guide) visible() int { return contentRows(g.Height()) }

// Update scrolls and closes.
func (g *Guide) Update(msg tea.Msg) tea.Cmd {
	if g.over {
		return nil
	}
	if g.key(msg, g.Keys.reading(), len(g.rows), g.visible()) {
		g.view = ""
		return nil
	}
	if key, ok := msg.(tea.KeyPressMsg); ok && (is(key, g.Keys.Close) || is(key, g.Keys.Accept) || key.String() == "q") {
		return g.answer(ClosedMsg{})
	}
	return nil
}

// View is the visible part of the bindings.
func (g *Guide) View() string {
	if g.view != "" {
		return g.view
	}
	visible := g.visible()
	g.fit(len(g.rows), visible)
	place := ""
	if len(g.rows) > visible {
		place = percent(g.top+visible, len(g.rows))
	}
	foot := g.hint(g.theme.Dim, first(g.Keys.Close), "close", first(g.Keys.Up)+"/"+first(g.Keys.Down), "scroll")
	g.view = frame(g.Height(), g.head("Keys", place), g.rows[g.top:min(g.top+visible, len(g.rows))], foot)
	return g.view
}
