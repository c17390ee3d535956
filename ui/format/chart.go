package format

import (
	"math"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A Chart is a table whose rows have a label, a bar and figures. Each of its texts must be
// one printable line.
type Chart struct {
	Heading string // heading of the labels
	Columns []ChartColumn
	Rows    []ChartRow
	Total   []string // figures of all rows together; nil for none
}

// A ChartColumn is a column of figures.
type ChartColumn struct {
	Heading string
	Rank    int // columns of a higher rank are omitted first if space is tight
}

// A ChartRow is one row.
type ChartRow struct {
	Label   string
	Figures []string // one for each column
	Amount  float64  // length of its bar, relative to other rows
}

// ChartStyle holds the styles of the parts of a chart. A nil function leaves text unchanged.
type ChartStyle struct {
	Text, Bar, Heading func(string) string
	Plain              bool // no bars
	ASCII              bool // bars of #, for terminals without block characters
}

// Widths in cells: of the gap between columns, of bars, and of truncated labels.
const (
	chartGap      = 2
	shortestBar   = 8
	longestBar    = 30
	shortestLabel = 10
	longestLabel  = 56
	allCells      = 1000 // width of a chart without a limit
)

// chartLayout holds the width of each part, in cells; 0 means omitted.
type chartLayout struct {
	label, bar int
	columns    []int
}

// Lines returns the chart in lines of at most width cells. In a narrow chart it omits columns
// of high rank first, then bars. Width 0 means no limit, and no bars.
func (c Chart) Lines(width int, style ChartStyle) []string {
	if width <= 0 {
		width, style.Plain = allCells, true
	}
	at := c.layout(width, style)
	most := c.most()
	draw := func(look func(string) string, label, bar string, figures []string) string {
		var line strings.Builder
		cell := func(look func(string) string, text string, cells int, right bool) {
			text = ansi.Truncate(text, cells, "…")
			pad := strings.Repeat(" ", max(cells-ansi.StringWidth(text), 0))
			if look != nil && text != "" {
				text = look(text)
			}
			if right {
				line.WriteString(pad + text)
			} else {
				line.WriteString(text + pad)
			}
		}
		cell(look, label, at.label, false)
		gap := strings.Repeat(" ", chartGap)
		if at.bar > 0 {
			line.WriteString(gap)
			cell(style.Bar, bar, at.bar, false)
		}
		for i, cells := range at.columns {
			if cells > 0 {
				line.WriteString(gap)
				cell(look, at.text(figures, i), cells, true)
			}
		}
		return ansi.Truncate(strings.TrimRight(line.String(), " "), width, "…")
	}
	headings := make([]string, len(c.Columns))
	for i, column := range c.Columns {
		headings[i] = column.Heading
	}
	lines := []string{draw(style.Heading, c.Heading, "", headings)}
	for _, r := range c.Rows {
		lines = append(lines, draw(style.Text, r.Label, bar(r.Amount/most, at.bar, style.ASCII), r.Figures))
	}
	if c.Total != nil {
		lines = append(lines, draw(style.Text, "total", "", c.Total))
	}
	return lines
}

// Text returns the chart for reading aloud, one sentence per row.
func (c Chart) Text() string {
	var text strings.Builder
	for _, r := range c.Rows {
		var words []string
		for i, figure := range r.Figures {
			if figure != "" {
				words = append(words, c.Columns[i].Heading+" "+strings.Replace(figure, "≥", "at least ", 1))
			}
		}
		text.WriteString(r.Label + ": " + strings.Join(words, ", ") + ".\n")
	}
	return text.String()
}

// text returns the figure of a column; "" if the row has none.
func (l chartLayout) text(figures []string, i int) string {
	if i >= len(figures) {
		return ""
	}
	return figures[i]
}

// layout computes the width of each part: figures first, by rank, then bars, and labels get the
// rest; bars also get the space that labels do not need.
func (c Chart) layout(width int, style ChartStyle) chartLayout {
	at := chartLayout{columns: make([]int, len(c.Columns))}
	wanted := ansi.StringWidth(c.Heading)
	grow := func(figures []string) {
		for i := range at.columns {
			at.columns[i] = max(at.columns[i], ansi.StringWidth(at.text(figures, i)))
		}
	}
	for i, column := range c.Columns {
		at.columns[i] = ansi.StringWidth(column.Heading)
	}
	for _, r := range c.Rows {
		wanted = max(wanted, ansi.StringWidth(r.Label))
		grow(r.Figures)
	}
	if grow(c.Total); c.Total != nil {
		wanted = max(wanted, len("total"))
	}
	wanted = min(wanted, longestLabel)
	least := min(wanted, max(width*2/5, shortestLabel))
	rest := width - least
	for rank := range len(c.Columns) {
		for i, column := range c.Columns {
			switch {
			case column.Rank != rank:
			case rank > 0 && rest < at.columns[i]+chartGap:
				at.columns[i] = 0
			default:
				rest -= at.columns[i] + chartGap
			}
		}
		if rank == 0 && !style.Plain && c.most() > 0 && rest >= shortestBar+chartGap {
			at.bar = shortestBar
			rest -= shortestBar + chartGap
		}
	}
	at.label = max(min(wanted, least+max(rest, 0)), 1)
	rest -= at.label - least
	if at.bar > 0 {
		at.bar = min(at.bar+max(rest, 0), longestBar)
	}
	return at
}

// most returns the largest amount.
func (c Chart) most() (most float64) {
	for _, r := range c.Rows {
		if !math.IsInf(r.Amount, 0) && r.Amount > most { // excludes NaN too
			most = r.Amount
		}
	}
	return most
}

// barEighths holds the ends of bars, from one to seven eighths of a cell.
const barEighths = "▏▎▍▌▋▊▉"

// bar draws a share, from 0 to 1, in width cells. A positive share is always visible.
func bar(share float64, width int, ascii bool) string {
	if width == 0 || !(share > 0) || math.IsInf(share, 0) {
		return ""
	}
	if ascii {
		return strings.Repeat("#", int(math.Ceil(share*float64(width))))
	}
	n := max(int(math.Round(share*float64(width)*8)), 1)
	out := strings.Repeat("█", n/8)
	if part := n % 8; part > 0 {
		out += string([]rune(barEighths)[part-1])
	}
	return out
}
