package dialog

import (
	"cmp"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/describe"
	"parley/ui/textwrap"
	"parley/ui/theme"
	"parley/ui/tui/diffview"
)

// styleOf returns the style of th for a line.
func styleOf(s describe.Style, th *theme.Theme) lipgloss.Style {
	return [...]lipgloss.Style{th.Text, th.Dim, th.Strong, th.Good, th.Bad, th.Warn}[s]
}

// A row is a line, or a piece of a line, that fits the width.
type row struct {
	describe.Line
	rest bool // the row continues the one above
	diff int  // number of the row in the diff, from 1; 0 for none
}

// rowsOf returns lines in rows; shown are the rows of the diff.
func rowsOf(lines []describe.Line, width int, shown []string) (rows []row) {
	for _, l := range lines {
		if l.Style != describe.Diff {
			rows = append(rows, wrap([]describe.Line{l}, width)...)
			continue
		}
		for i := range shown {
			rows = append(rows, row{Line: l, diff: i + 1})
		}
	}
	return rows
}

// renderDiff returns the diff of lines, whole, as in the conversation.
func renderDiff(lines []describe.Line, file string, width int, th *theme.Theme) []string {
	for _, l := range lines {
		if l.Style == describe.Diff {
			d := diffview.Read(l.Text, 0)
			d.File = cmp.Or(d.File, file)
			return d.Render(diffview.View{Styles: diffview.NewStyles(th), Width: width, Wrap: true}, d.Len())
		}
	}
	return nil
}

// wrap wraps lines to width cells, at any character. Commands must be shown as they are, not wrapped
// like prose.
func wrap(lines []describe.Line, width int) []row {
	var rows []row
	for _, l := range lines {
		room := max(width-ansi.StringWidth(l.Gutter), 1)
		first := true
		for rest := strings.ReplaceAll(l.Text, "\t", "    "); first || rest != ""; first = false {
			size, _ := textwrap.Fit(rest, room)
			r := row{Line: l, rest: !first}
			r.Text, rest = rest[:size], rest[size:]
			rows = append(rows, r)
		}
	}
	return rows
}

// draw renders the row in at most width cells.
func (r row) draw(width int, th *theme.Theme) string {
	gutter := r.Gutter
	if r.rest && gutter != "" {
		gutter = strings.Repeat(" ", ansi.StringWidth(gutter)-2) + "↪ "
	}
	out := th.Faint.Render(gutter)
	style := styleOf(r.Style, th)
	if !r.Exact || describe.IsPlain(r.Text) {
		return ansi.Truncate(out+style.Render(r.Text), width, "…")
	}
	for rest := r.Text; rest != ""; {
		n := strings.IndexFunc(rest, func(c rune) bool { return c > 0x7f })
		if n != 0 {
			if n < 0 {
				n = len(rest)
			}
			out += style.Render(rest[:n])
			rest = rest[n:]
			continue
		}
		n = strings.IndexFunc(rest, func(c rune) bool { return c <= 0x7f })
		if n < 0 {
			n = len(rest)
		}
		out += theme.NewSGR(th.Warn.Underline(true)).Apply(rest[:n])
		rest = rest[n:]
	}
	return ansi.Truncate(out, width, "…")
}

// cell returns text aligned in column i, or as letters.
func (t table) cell(i int, c Column, text string) string {
	wide := t.wide[i]
	if t.letters && len(c.Letters) > 0 {
		words := strings.Fields(text)
		out := ""
		for _, l := range c.Letters {
			sign := " "
			if slices.Contains(words, l[0]) {
				sign = l[1]
			}
			out += sign
		}
		text = out
	}
	text = ansi.Truncate(text, wide, "…")
	space := strings.Repeat(" ", max(wide-textwrap.Width(text), 0))
	if c.Left {
		return text + space
	}
	return space + text
}

// commonWidth returns the greatest of widths. If it and a few others are more than half as wide again
// as the rest, it returns the greatest of the rest, but at least some.
func commonWidth(widths []int, some int) int {
	slices.SortFunc(widths, func(a, b int) int { return b - a })
	if len(widths) == 0 {
		return 0
	}
	if rest := widths[max(min(len(widths)-1, 1), len(widths)/10)]; len(widths) > 3 && 2*widths[0] > 3*rest {
		return max(rest, min(widths[0], some))
	}
	return widths[0]
}

// wholePieces returns the first pieces of a note that fit, and "…" for the others. It truncates the
// first piece if even that does not fit.
func wholePieces(note string, wide int) string {
	const gap, more = " · ", " …"
	if textwrap.Width(note) <= wide {
		return note
	}
	for at := strings.LastIndex(note, gap); at >= 0; at = strings.LastIndex(note, gap) {
		if note = note[:at]; textwrap.Width(note+more) <= wide {
			return note + more
		}
	}
	return ansi.Truncate(note, wide, "…")
}

// pinnedFirst compares for sorting: true comes first.
func pinnedFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// pinSign returns the sign before a pinned item.
func pinSign(pinned bool) string {
	if pinned {
		return "* "
	}
	return ""
}
