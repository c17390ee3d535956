package dialog

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/textwrap"
	"parley/ui/theme"
	"parley/ui/tui/band"
)

// A window is a scroll position in a list of rows.
type window struct{ top int }

// key handles scroll keys, and reports whether msg was one.
func (s *window) key(msg tea.Msg, mode scrollMode, total, visible int) bool {
	return s.step(msg, mode, total, visible, visible)
}

// step is like key, with the given page length.
func (s *window) step(msg tea.Msg, mode scrollMode, total, visible, page int) bool {
	page = max(page, 1)
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		switch msg.Button {
		case tea.MouseWheelUp:
			s.top -= 3
		case tea.MouseWheelDown:
			s.top += 3
		}
	case tea.KeyPressMsg:
		switch moveOf(msg, mode) {
		case keyUp:
			s.top--
		case keyDown:
			s.top++
		case keyPageUp:
			s.top -= page
		case keyPageDown:
			s.top += page
		case keyTop:
			s.top = 0
		case keyBottom:
			s.top = total
		default:
			return false
		}
	default:
		return false
	}
	s.clampTop(total, visible)
	return true
}

func (s *window) clampTop(total, visible int) { s.top = max(min(s.top, total-visible), 0) }

// A selectList is a window with a selected row.
type selectList struct {
	window
	selected int // index of the selected row
}

// move moves the selection, and reports whether msg is a key for it.
func (l *selectList) move(msg tea.Msg, mode scrollMode, total, visible int) bool {
	sel := window{l.selected}
	if !sel.step(msg, mode, total, 1, visible-1) {
		return false
	}
	l.selected = sel.top
	return true
}

// scrollTo scrolls as little as possible to show row at.
func (l *selectList) scrollTo(at, total, visible int) {
	l.top = max(min(l.top, at), at-visible+1)
	l.clampTop(total, visible)
}

// A compact list leaves some rows of the screen to the conversation.
type compact struct{}

// Compact marks the dialog as compact.
func (compact) Compact() {}

const queryGap = 2

// queryLine returns the row of a band with the query after the title, or a hint, and a count at the right
// if it fits.
func (b *base) queryLine(title, count string, query *textField) string {
	title = b.truncateTitle(title, query)
	typed := query.visibleText(b.inner() - ansi.StringWidth(title) - queryGap)
	line := b.theme.Strong.Render(title)
	if typed != "" {
		line += strings.Repeat(" ", queryGap) + b.theme.Accent.Render(typed)
	} else if ansi.StringWidth(title+count)+2*queryGap+len(typeToFilter) <= b.inner() {
		line += strings.Repeat(" ", queryGap) + b.theme.Dim.Render(typeToFilter)
	}
	gap := b.inner() - ansi.StringWidth(line) - ansi.StringWidth(count)
	if gap < queryGap+1 { // the cursor needs a cell
		return ansi.Truncate(line, b.inner(), "")
	}
	return line + strings.Repeat(" ", gap) + b.theme.Dim.Render(count)
}

// typeToFilter stands in place of a query.
const typeToFilter = "type to filter"

// queryCursor returns the position of the cursor in a queryLine; ok is false if it is not shown.
func (b *base) queryCursor(title string, query *textField) (x, y int, ok bool) {
	x = ansi.StringWidth(b.truncateTitle(title, query)) + queryGap
	x += ansi.StringWidth(query.visibleText(b.inner() - x))
	return b.bandColumn(x), b.bandRow(1, 0), b.Height() > 2
}

// bandColumn returns the column of the view for one of the text in the band.
func (b *base) bandColumn(x int) int { return max(min(band.Width+x, b.region-1), 0) }

// truncateTitle returns title truncated to leave space for the query, up to half of the row.
func (b *base) truncateTitle(title string, query *textField) string {
	typed := queryGap + ansi.StringWidth(sanitize.Line(query.text)) + 1 // the cursor
	return ansi.Truncate(sanitize.Line(title), max(b.inner()-typed, b.inner()/2, 1), "…")
}

const signWidth = 2 // width of sign, in cells

// sign returns the beginning of a selectable row.
func (b *base) sign(selected bool) string {
	if selected {
		return b.theme.Accent.Render("› ")
	}
	return "  "
}

// ground gives the selected row its background.
func (b *base) ground(row string, selected bool) string {
	if sel := theme.NewSGR(b.theme.Selected); selected && sel.On != "" {
		return sel.Under(padRight(row, b.width))
	}
	return row
}

// maxRowBytes is the maximum length of a text shown in one row, in bytes.
const maxRowBytes = 1000

// printableRow returns the beginning of s, sanitized for one row.
func printableRow(s string) string { return sanitize.Line(sanitize.TruncateBytes(s, maxRowBytes)) }

// padRight returns line padded with spaces to width.
func padRight(line string, width int) string {
	return line + strings.Repeat(" ", max(width-ansi.StringWidth(line), 0))
}

// A column is right-aligned at the end of the rows of a list. A lower rank is more important. A
// column of width 0 is not shown.
type column struct{ width, rank int }

// fitColumns returns all, with width 0 for columns that do not fit into room cells beside least cells
// for the rest of the row.
func fitColumns(room, least int, all ...column) []column {
	all = slices.Clone(all)
	for rank := range all {
		for i, c := range all {
			if c.rank != rank || c.width == 0 {
				continue
			}
			if room-c.width-columnGap < least {
				all[i].width = 0
				continue
			}
			room -= c.width + columnGap
		}
	}
	return all
}

// alignColumns returns texts as the columns of one row.
func alignColumns(columns []column, texts ...string) string {
	var out strings.Builder
	for i, c := range columns {
		if c.width == 0 {
			continue
		}
		text := ansi.Truncate(texts[i], c.width, "…")
		out.WriteString(strings.Repeat(" ", columnGap+max(c.width-textwrap.Width(text), 0)))
		out.WriteString(text)
	}
	return out.String()
}

// highlight returns title in the style plain, except for the characters that begin at the bytes in
// marks, which get the style found.
func highlight(title string, marks []int, plain, found theme.SGR) string {
	if len(marks) == 0 {
		return plain.Apply(title)
	}
	var out strings.Builder
	from, to := 0, 0 // range of marked characters that are not written yet
	for _, at := range marks {
		if at < to {
			continue // a later rune of the same character
		}
		if at > to {
			out.WriteString(found.Apply(title[from:to]))
			out.WriteString(plain.Apply(title[to:at]))
			from = at
		}
		size, _ := textwrap.Cluster(title[at:])
		to = at + size
	}
	out.WriteString(found.Apply(title[from:to]))
	out.WriteString(plain.Apply(title[to:]))
	return out.String()
}
