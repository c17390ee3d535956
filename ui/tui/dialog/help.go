package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/format"
	"parley/ui/fuzzy"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// A Section is a group of key bindings. Each row holds keys and their action.
type Section struct {
	Title string
	Rows  [][2]string
}

// A helpDialog shows key bindings in as many columns as fit. Typing filters them.
type helpDialog struct {
	base
	window
	sections []Section
	query    textField
	rows     []string // for the current query, width and theme
	all      int      // number of rows without a query
}

const helpTitle = "Keys"

// Help returns a dialog that shows sections.
func Help(sections []Section, th *theme.Theme) Dialog {
	g := &helpDialog{base: newBase(th)}
	g.content = g
	for _, s := range sections {
		clean := Section{Title: sanitize.Line(s.Title)}
		for _, r := range s.Rows {
			clean.Rows = append(clean.Rows, [2]string{sanitize.Line(r[0]), format.Capital(sanitize.Line(r[1]))})
		}
		g.sections = append(g.sections, clean)
	}
	g.arrange()
	return g
}

// SetSize sets the width and the maximum height.
func (g *helpDialog) SetSize(width, height int) {
	if g.resize(width, height) {
		g.arrange()
	}
}

// found returns the bindings that contain every word of the query, section titles included.
func (g *helpDialog) found() []Section {
	words := strings.Fields(strings.ToLower(g.query.text))
	if len(words) == 0 {
		return g.sections
	}
	var out []Section
	for _, s := range g.sections {
		match := Section{Title: s.Title}
		for _, r := range s.Rows {
			if fuzzy.ContainsAll(strings.ToLower(s.Title+" "+r[0]+" "+r[1]), words) {
				match.Rows = append(match.Rows, r)
			}
		}
		if len(match.Rows) > 0 {
			out = append(out, match)
		}
	}
	return out
}

// SetTheme changes the theme.
func (g *helpDialog) SetTheme(th *theme.Theme) {
	g.base.SetTheme(th)
	g.arrange()
}

// narrowColumn is the minimum width of a column, and columnGap the gap between two.
const (
	narrowColumn = 46
	columnGap    = 2
)

// arrange puts each section into the shortest column so far.
func (g *helpDialog) arrange() {
	sections := g.found()
	n := max(min(g.width/narrowColumn, len(sections)), 1)
	width := max((g.width-(n-1)*columnGap)/n, 0)
	columns := make([][]string, n)
	for _, s := range sections {
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
	if g.query.text == "" {
		g.all = len(g.rows)
	}
	g.clampTop(len(g.rows), g.visible())
}

// section returns the title and one row per binding. Keys that do not fit their column get their
// own row.
func (g *helpDialog) section(s Section, width int) []string {
	keys := 0
	for _, r := range s.Rows {
		keys = max(keys, ansi.StringWidth(r[0]))
	}
	keys = min(keys, width*2/5)
	rows := []string{g.theme.Strong.Render(ansi.Truncate(s.Title, width, "…"))}
	for _, r := range s.Rows {
		pad := keys + columnGap
		does := textwrap.Lines(r[1], max(width-pad, 1))
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

// wants does not depend on the query, so that the screen does not jump while the user types.
func (g *helpDialog) wants() (above, inBand int) { return max(g.all, len(g.rows)), 1 }

func (g *helpDialog) visible() int { return g.rowsAbove(1) }

// handle handles keys that scroll, search or close.
func (g *helpDialog) handle(msg tea.Msg) tea.Cmd {
	if press, ok := msg.(tea.KeyPressMsg); ok && (pressed(press, keyClose) || pressed(press, keyAccept)) {
		return g.leave(Left{})
	}
	if !g.key(msg, scrollMode{}, len(g.rows), g.visible()) && g.query.key(msg) {
		g.top = 0
		g.arrange()
	}
	return nil
}

func (g *helpDialog) draw() (rows, inBand []string, foot string) {
	visible := g.visible()
	g.clampTop(len(g.rows), visible)
	place := ""
	if len(g.rows) > visible {
		place = percent(g.top+visible, len(g.rows))
	}
	rows = g.rows[g.top:min(g.top+visible, len(g.rows))]
	if len(rows) == 0 {
		rows = []string{g.theme.Dim.Render(ansi.Truncate("  No key matches", g.width, "…"))}
	}
	foot = g.keyHints(keyClose.hint("close"), scrollHint("scroll"))
	return rows, []string{g.queryLine(helpTitle, place, &g.query)}, foot
}

// Cursor implements Dialog. The cursor is after the query.
func (g *helpDialog) Cursor() (x, y int, ok bool) {
	return g.queryCursor(helpTitle, &g.query)
}
