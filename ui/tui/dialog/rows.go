package dialog

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/describe"
	"parley/ui/theme"
)

// styleOf returns the style of the theme for a line.
func styleOf(s describe.Style, th *theme.Theme) lipgloss.Style {
	return [...]lipgloss.Style{th.Text, th.Dim, th.Strong, th.Good, th.Bad, th.Warn}[s]
}

// A row is a piece of a line that fits the width.
type row struct {
	describe.Line
	rest bool // it continues the row above
}

// wrap cuts lines into rows of at most width cells, at any character: what will
// run is shown as it is, not set as prose.
func wrap(lines []describe.Line, width int) []row {
	var rows []row
	for _, l := range lines {
		room := max(width-ansi.StringWidth(l.Gutter), 1)
		first := true
		for rest := strings.ReplaceAll(l.Text, "\t", "    "); first || rest != ""; first = false {
			var piece string
			piece, rest = cut(rest, room)
			r := row{l, !first}
			r.Text = piece
			rows = append(rows, r)
		}
	}
	return rows
}

// cut splits s behind as many characters as fit into width cells, but at least
// one.
func cut(s string, width int) (piece, rest string) {
	used, at := 0, 0
	for at < len(s) {
		char, cells := s[at:at+1], 1
		if s[at] >= 0x7f || at+1 < len(s) && s[at+1] >= 0x7f {
			char, cells = ansi.FirstGraphemeCluster(s[at:], ansi.GraphemeWidth)
		}
		if used+cells > width && at > 0 {
			break
		}
		used += cells
		at += len(char)
	}
	return s[:at], s[at:]
}

// draw returns a row in at most width cells.
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
