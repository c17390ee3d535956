package dialog

import (
	"math"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// A UsageRow is what was used on a day, or by a model, ready to be shown.
type UsageRow struct {
	Label  string
	Tokens string
	Cached string
	Cost   string
	Amount float64 // how long its bar is beside the others
}

// UsageReport holds what was used.
type UsageReport struct {
	Title  string
	Lines  []string // such as this turn, this session, today
	Days   []UsageRow
	Models []UsageRow
	Note   string // what the figures leave out, such as "3 answers of unknown price"
}

// A UsagePanel shows what was used, by day or by model.
type UsagePanel struct {
	base
	window
	ASCII bool // bars of #, for terminals without block characters

	title, note string
	lines       []string
	pages       []usagePage // those that have rows
	page        int
	tallest     int      // rows of the longest page
	rows        []string // of the page, laid out for the width and the theme
}

// A usagePage is one way to look at what was used.
type usagePage struct {
	name string
	rows []UsageRow
	wide [4]int  // cells of the widest label, tokens, cached and cost
	most float64 // of the amounts
}

// Usage shows what was used.
func Usage(s UsageReport, th *theme.Theme) *UsagePanel {
	u := &UsagePanel{base: newBase(th), title: s.Title, note: sanitize.Line(s.Note)}
	for _, line := range s.Lines {
		u.lines = append(u.lines, sanitize.Line(line))
	}
	for _, p := range []usagePage{newUsagePages("by day", s.Days), newUsagePages("by model", s.Models)} {
		if len(p.rows) > 0 {
			u.pages = append(u.pages, p)
		}
		u.tallest = max(u.tallest, len(p.rows))
	}
	return u
}

// usageColumns lists the headings of what stands at the right.
var usageColumns = [...]string{"tokens", "cached", "cost"}

// newUsagePages makes rows printable and measures them.
func newUsagePages(name string, rows []UsageRow) usagePage {
	p := usagePage{name: name, rows: slices.Clone(rows)}
	for i, heading := range usageColumns {
		p.wide[i+1] = textwrap.Width(heading)
	}
	for i := range p.rows {
		r := &p.rows[i]
		*r = UsageRow{printableRow(r.Label), printableRow(r.Tokens), printableRow(r.Cached), printableRow(r.Cost), r.Amount}
		if !(r.Amount > 0) || math.IsInf(r.Amount, 0) { // NaN too
			r.Amount = 0
		}
		p.most = max(p.most, r.Amount)
		for j, text := range [...]string{r.Label, r.Tokens, r.Cached, r.Cost} {
			p.wide[j] = max(p.wide[j], textwrap.Width(text))
		}
	}
	return p
}

const (
	shortestBar = 8
	longestBar  = 30
)

// buildPages lays the page out.
func (u *UsagePanel) buildPages() {
	u.rows = u.rows[:0]
	for _, line := range u.lines {
		for _, row := range textwrap.Lines(line, max(u.width, 1)) {
			u.rows = append(u.rows, u.theme.Text.Render(ansi.Truncate(row, u.width, "…")))
		}
	}
	if len(u.rows) > 0 {
		u.rows = append(u.rows, "")
	}
	if len(u.pages) > 0 {
		u.rows = append(u.rows, u.table(u.pages[u.page])...)
	} else {
		u.rows = append(u.rows, u.theme.Dim.Render(ansi.Truncate("No usage yet", u.width, "…")))
	}
	if u.note != "" {
		u.rows = append(u.rows, "")
		for _, row := range textwrap.Lines(u.note, max(u.width, 1)) {
			u.rows = append(u.rows, u.theme.Dim.Render(ansi.Truncate(row, u.width, "…")))
		}
	}
}

// table draws the names of the pages, the headings, and the rows of one page.
func (u *UsagePanel) table(p usagePage) []string {
	label := min(p.wide[0], max(u.width*2/5, 10))
	bar := column{0, 1}
	if p.most > 0 {
		bar.width = shortestBar
	}
	cols, rest := fitColumns(u.width, label, bar, column{p.wide[1], 2}, column{p.wide[2], 3}, column{p.wide[3], 0})
	bar, cols = cols[0], cols[1:]
	if bar.width > 0 {
		bar.width = min(bar.width+rest-label, longestBar)
	}
	var rows []string
	if len(u.pages) > 1 {
		rows = append(rows, u.tabs())
	}
	draw := func(name, drawn, figures string) string {
		line := padRight(name, label)
		if bar.width > 0 {
			line += strings.Repeat(" ", columnGap) + padRight(drawn, bar.width)
		}
		return ansi.Truncate(line+figures, u.width, "…")
	}
	rows = append(rows, draw("", "", u.theme.Faint.Render(alignColumns(cols, usageColumns[:]...))))
	for _, r := range p.rows {
		name := u.theme.Text.Render(ansi.Truncate(r.Label, label, "…"))
		drawn := u.theme.Accent.Render(u.bar(r.Amount/p.most, bar.width))
		rows = append(rows, draw(name, drawn, u.theme.Text.Render(alignColumns(cols, r.Tokens, r.Cached, r.Cost))))
	}
	return rows
}

// tabs draws the names of the pages.
func (u *UsagePanel) tabs() string {
	line := ""
	for i, page := range u.pages {
		look := u.theme.Dim
		if i == u.page {
			look = u.theme.Strong
		}
		line += u.sign(i == u.page) + look.Render(page.name) + "  "
	}
	return ansi.Truncate(line, u.width, "…")
}

// barEighths end a bar, from one eighth of a cell to seven.
const barEighths = "▏▎▍▌▋▊▉"

// bar draws a share, from 0 to 1, of width cells. What is more than nothing can
// be seen.
func (u *UsagePanel) bar(share float64, width int) string {
	if width == 0 || !(share > 0) {
		return ""
	}
	if u.ASCII {
		return strings.Repeat("#", int(math.Ceil(share*float64(width))))
	}
	n := max(int(math.Round(share*float64(width)*8)), 1)
	out := strings.Repeat("█", n/8)
	if part := n % 8; part > 0 {
		out += string([]rune(barEighths)[part-1])
	}
	return out
}

// SetSize gives the width and the most rows.
func (u *UsagePanel) SetSize(width, height int) {
	if u.resize(width, height) {
		u.rows = nil
	}
}

// SetTheme changes the looks.
func (u *UsagePanel) SetTheme(th *theme.Theme) {
	u.base.SetTheme(th)
	u.rows = nil
}

// pageRows returns what is shown, laid out.
func (u *UsagePanel) pageRows() []string {
	if u.rows == nil {
		u.buildPages()
	}
	return u.rows
}

// Height returns that of the longer page, so that the screen does not jump between
// them.
func (u *UsagePanel) Height() int {
	rows := len(u.pageRows()) + 2
	if len(u.pages) > 0 {
		rows += u.tallest - len(u.pages[u.page].rows)
	}
	return min(rows, u.height)
}

// Update scrolls, turns the page and closes.
func (u *UsagePanel) Update(msg tea.Msg) tea.Cmd {
	if u.done {
		return nil
	}
	u.view = ""
	press, ok := msg.(tea.KeyPressMsg)
	switch {
	case u.key(msg, u.Keys.reading(), len(u.pageRows()), contentRows(u.Height())):
	case !ok:
	case key.Matches(press, u.Keys.Next):
		u.changePage(1)
	case key.Matches(press, u.Keys.Previous):
		u.changePage(-1)
	case key.Matches(press, u.Keys.Close), key.Matches(press, u.Keys.Accept), press.String() == "q":
		return u.answer(ClosedMsg{})
	}
	return nil
}

// changePage shows the page that is by away.
func (u *UsagePanel) changePage(by int) {
	if n := len(u.pages); n > 0 {
		u.page, u.rows = (u.page+by+n)%n, nil
	}
}

// View returns the visible part of the page.
func (u *UsagePanel) View() string {
	if u.view != "" {
		return u.view
	}
	rows, visible := u.pageRows(), contentRows(u.Height())
	u.clampTop(len(rows), visible)
	keys := []key.Binding{hint(u.Keys.Close, "close")}
	if n := len(u.pages); n > 1 {
		keys = append(keys, hint(u.Keys.Next, u.pages[(u.page+1)%n].name))
	}
	place := ""
	if len(rows) > visible {
		place = percent(u.top+visible, len(rows))
		keys = append(keys, hintText(u.Keys.Up.Help().Key+"/"+u.Keys.Down.Help().Key, "scroll"))
	}
	foot := u.keyHint(u.theme.Dim, keys...)
	u.view = frame(u.Height(), u.titleLine(u.title, place), rows[u.top:min(u.top+visible, len(rows))], foot)
	return u.view
}
