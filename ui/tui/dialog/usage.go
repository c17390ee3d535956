package dialog

import (
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/format"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// UsageReport holds the texts of a UsagePanel.
type UsageReport struct {
	Title string
	Lines []string // such as this turn, this session, today
	Pages []UsagePage
	Note  string // what the figures do not include, such as "3 requests have no known price"
}

// A UsagePage is one table of usage.
type UsagePage struct {
	Name string // such as "by day"
	format.Chart
}

// A UsagePanel shows usage, one page at a time.
type UsagePanel struct {
	base
	window

	title, note string
	lines       []string
	pages       []UsagePage // those that have rows
	page        int
	tallest     int      // rows of the longest page
	rows        []string // rendered for the page, the width and the theme; nil if these have changed
}

// Usage returns a panel of s.
func Usage(s UsageReport, th *theme.Theme) *UsagePanel {
	u := &UsagePanel{base: newBase(th), title: s.Title, note: sanitize.Line(s.Note)}
	for _, line := range s.Lines {
		u.lines = append(u.lines, sanitize.Line(line))
	}
	for _, p := range s.Pages {
		if len(p.Rows) == 0 {
			continue
		}
		p.Rows = slices.Clone(p.Rows)
		for i := range p.Rows {
			r := &p.Rows[i]
			r.Label, r.Figures = printableRow(r.Label), slices.Clone(r.Figures)
			for j := range r.Figures {
				r.Figures[j] = printableRow(r.Figures[j])
			}
		}
		u.pages = append(u.pages, p)
		u.tallest = max(u.tallest, chartRows(p))
	}
	return u
}

// chartRows returns how many rows a page has without its headings.
func chartRows(p UsagePage) int {
	if p.Total == nil {
		return len(p.Rows)
	}
	return len(p.Rows) + 1
}

// render fills u.rows.
func (u *UsagePanel) render() {
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
		if len(u.pages) > 1 {
			u.rows = append(u.rows, u.tabs())
		}
		style := format.ChartStyle{
			Text: func(s string) string { return u.theme.Text.Render(s) }, Bar: func(s string) string { return u.theme.Accent.Render(s) },
			Heading: func(s string) string { return u.theme.Faint.Render(s) },
		}
		for _, row := range u.pages[u.page].Lines(max(u.width, 1), style) {
			u.rows = append(u.rows, ansi.Truncate(row, u.width, "…"))
		}
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

// tabs returns the names of the pages. The current one is visible in any width.
func (u *UsagePanel) tabs() string {
	draw := func(from int) string {
		line := ""
		for i, page := range u.pages[from:] {
			style := u.theme.Dim
			if from+i == u.page {
				style = u.theme.Strong
			}
			line += u.sign(from+i == u.page) + style.Render(page.Name) + "  "
		}
		return line
	}
	used := 0
	for _, page := range u.pages[:u.page+1] {
		used += textwrap.Width(page.Name) + 4
	}
	from := 0
	for ; from < u.page && used > u.width; from++ {
		used -= textwrap.Width(u.pages[from].Name) + 4
	}
	return ansi.Truncate(draw(from), u.width, "…")
}

// SetSize sets the width and the maximum height.
func (u *UsagePanel) SetSize(width, height int) {
	if u.resize(width, height) {
		u.rows = nil
	}
}

// SetTheme changes the theme.
func (u *UsagePanel) SetTheme(th *theme.Theme) {
	u.base.SetTheme(th)
	u.rows = nil
}

// rendered returns all rows of the page.
func (u *UsagePanel) rendered() []string {
	if u.rows == nil {
		u.render()
	}
	return u.rows
}

// Height implements Dialog. It is that of the longest page, so that the screen does not jump between
// pages.
func (u *UsagePanel) Height() int {
	rows := len(u.rendered()) + 2
	if len(u.pages) > 0 {
		rows += u.tallest - chartRows(u.pages[u.page])
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
	case u.key(msg, u.Keys.reading(), len(u.rendered()), contentRows(u.Height())):
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

// changePage moves by pages forward, or backward if by is negative.
func (u *UsagePanel) changePage(by int) {
	if n := len(u.pages); n > 0 {
		u.page, u.rows = (u.page+by+n)%n, nil
	}
}

// View implements Dialog.
func (u *UsagePanel) View() string {
	if u.view != "" {
		return u.view
	}
	rows, visible := u.rendered(), contentRows(u.Height())
	u.clampTop(len(rows), visible)
	keys := []key.Binding{hint(u.Keys.Close, "close")}
	if n := len(u.pages); n > 1 {
		keys = append(keys, hint(u.Keys.Next, u.pages[(u.page+1)%n].Name))
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
