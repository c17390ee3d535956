package dialog

import (
	"math"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/theme"
)

// A SpendRow is what was used on a day, or by a model, ready to be shown.
type SpendRow struct {
	Label  string
	Tokens string
	Cached string
	Cost   string
	Amount float64 // how long its bar is beside the others
}

// Spending holds what was used.
type Spending struct {
	Title  string
	Lines  []string // such as this turn, this session, today
	Days   []SpendRow
	Models []SpendRow
	Note   string // what the figures leave out, such as "3 answers of unknown price"
}

// A UsagePanel shows what was used, by day or by model.
type UsagePanel struct {
	base
	scroll
	ASCII bool // bars of #, for terminals without block characters

	title, note string
	lines       []string
	pages       []spendPage // those that have rows
	page        int
	tallest     int      // rows of the longest page
	rows        []string // of the page, laid out for the width and the theme
}

// A spendPage is one way to look at what was used.
type spendPage struct {
	name string
	rows []SpendRow
	wide [4]int  // cells of the widest label, tokens, cached and cost
	most float64 // of the amounts
}

// Usage shows what was used.
func Usage(s Spending, th *theme.Theme) *UsagePanel {
	u := &UsagePanel{base: newBase(th), title: s.Title, note: sanitize.Line(s.Note)}
	for _, line := range s.Lines {
		u.lines = append(u.lines, sanitize.Line(line))
	}
	for _, p := range []spendPage{spending("by day", s.Days), spending("by model", s.Models)} {
		if len(p.rows) > 0 {
			u.pages = append(u.pages, p)
		}
		u.tallest = max(u.tallest, len(p.rows))
	}
	return u
}

// spendColumns lists the headings of what stands at the right.
var spendColumns = [...]string{"tokens", "cached", "cost"}

// spending makes rows printable and measures them.
func spending(name string, rows []SpendRow) spendPage {
	p := spendPage{name: name, rows: slices.Clone(rows)}
	for i, heading := range spendColumns {
		p.wide[i+1] = cells(heading)
	}
	for i := range p.rows {
		r := &p.rows[i]
		*r = SpendRow{short(r.Label), short(r.Tokens), short(r.Cached), short(r.Cost), r.Amount}
		if !(r.Amount > 0) || math.IsInf(r.Amount, 0) { // NaN too
			r.Amount = 0
		}
		p.most = max(p.most, r.Amount)
		for j, text := range [...]string{r.Label, r.Tokens, r.Cached, r.Cost} {
			p.wide[j] = max(p.wide[j], cells(text))
		}
	}
	return p
}

const (
	shortestBar = 8
	longestBar  = 30
)

// arrange lays the page out.
func (u *UsagePanel) arrange() {
	u.rows = u.rows[:0]
	for _, line := range u.lines {
		for row := range strings.SplitSeq(ansi.Wrap(line, max(u.width, 1), ""), "\n") {
			u.rows = append(u.rows, u.theme.Text.Render(ansi.Truncate(row, u.width, "…")))
		}
	}
	if len(u.rows) > 0 {
		u.rows = append(u.rows, "")
	}
	if len(u.pages) > 0 {
		u.rows = append(u.rows, u.table(u.pages[u.page])...)
	} else {
		u.rows = append(u.rows, u.theme.Dim.Render(ansi.Truncate("nothing was used yet", u.width, "…")))
	}
	if u.note != "" {
		u.rows = append(u.rows, "")
		for row := range strings.SplitSeq(ansi.Wrap(u.note, max(u.width, 1), ""), "\n") {
			u.rows = append(u.rows, u.theme.Dim.Render(ansi.Truncate(row, u.width, "…")))
		}
	}
}

// table draws the names of the pages, the headings, and the rows of one page.
func (u *UsagePanel) table(p spendPage) []string {
	label := min(p.wide[0], max(u.width*2/5, 10))
	bar := column{0, 1}
	if p.most > 0 {
		bar.wide = shortestBar
	}
	cols, rest := columns(u.width, label, bar, column{p.wide[1], 2}, column{p.wide[2], 3}, column{p.wide[3], 0})
	bar, cols = cols[0], cols[1:]
	if bar.wide > 0 {
		bar.wide = min(bar.wide+rest-label, longestBar)
	}
	var rows []string
	if len(u.pages) > 1 {
		rows = append(rows, u.tabs())
	}
	draw := func(name, drawn, figures string) string {
		line := padded(name, label)
		if bar.wide > 0 {
			line += strings.Repeat(" ", columnGap) + padded(drawn, bar.wide)
		}
		return ansi.Truncate(line+figures, u.width, "…")
	}
	rows = append(rows, draw("", "", u.theme.Faint.Render(aligned(cols, spendColumns[:]...))))
	for _, r := range p.rows {
		name := u.theme.Text.Render(ansi.Truncate(r.Label, label, "…"))
		drawn := u.theme.Accent.Render(u.bar(r.Amount/p.most, bar.wide))
		rows = append(rows, draw(name, drawn, u.theme.Text.Render(aligned(cols, r.Tokens, r.Cached, r.Cost))))
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

// eighths end a bar, from one eighth of a cell to seven.
const eighths = "▏▎▍▌▋▊▉"

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
		out += string([]rune(eighths)[part-1])
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

// laid returns what is shown, laid out.
func (u *UsagePanel) laid() []string {
	if u.rows == nil {
		u.arrange()
	}
	return u.rows
}

// Height returns that of the longer page, so that the screen does not jump between
// them.
func (u *UsagePanel) Height() int {
	rows := len(u.laid()) + 2
	if len(u.pages) > 0 {
		rows += u.tallest - len(u.pages[u.page].rows)
	}
	return min(rows, u.height)
}

// Update scrolls, turns the page and closes.
func (u *UsagePanel) Update(msg tea.Msg) tea.Cmd {
	if u.over {
		return nil
	}
	u.view = ""
	key, ok := msg.(tea.KeyPressMsg)
	switch {
	case u.key(msg, u.Keys.reading(), len(u.laid()), contentRows(u.Height())):
	case !ok:
	case is(key, u.Keys.Next):
		u.turn(1)
	case is(key, u.Keys.Previous):
		u.turn(-1)
	case is(key, u.Keys.Close), is(key, u.Keys.Accept), key.String() == "q":
		return u.answer(ClosedMsg{})
	}
	return nil
}

// turn shows the page that is by away.
func (u *UsagePanel) turn(by int) {
	if n := len(u.pages); n > 0 {
		u.page, u.rows = (u.page+by+n)%n, nil
	}
}

// View returns the visible part of the page.
func (u *UsagePanel) View() string {
	if u.view != "" {
		return u.view
	}
	rows, visible := u.laid(), contentRows(u.Height())
	u.fit(len(rows), visible)
	pairs := []string{first(u.Keys.Close), "close"}
	if n := len(u.pages); n > 1 {
		pairs = append(pairs, first(u.Keys.Next), u.pages[(u.page+1)%n].name)
	}
	place := ""
	if len(rows) > visible {
		place = percent(u.top+visible, len(rows))
		pairs = append(pairs, first(u.Keys.Up)+"/"+first(u.Keys.Down), "scroll")
	}
	foot := u.hint(u.theme.Dim, pairs...)
	u.view = frame(u.Height(), u.head(u.title, place), rows[u.top:min(u.top+visible, len(rows))], foot)
	return u.view
}
