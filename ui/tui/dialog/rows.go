package dialog

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/describe"
	"parley/ui/textwrap"
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
			size, _ := textwrap.Fit(rest, room)
			r := row{l, !first}
			r.Text, rest = rest[:size], rest[size:]
			rows = append(rows, r)
		}
	}
	return rows
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

// cell writes text into a column: at the right, at the left, or as letters.
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

// wholePieces returns as many pieces of a note as have room, the first of them in any case.
func wholePieces(note string, wide int) string {
	for textwrap.Width(note) > wide {
		at := strings.LastIndex(note, " · ")
		if at < 0 {
			return ansi.Truncate(note, wide, "…")
		}
		note = note[:at]
	}
	return note
}

// pinnedFirst compares for sorting.
func pinnedFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// pinSign stands before what is pinned.
func pinSign(pinned bool) string {
	if pinned {
		return "* "
	}
	return ""
}
