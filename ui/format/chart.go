package format

import (
	"math"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A Chart is a table whose rows have a label, a bar and figures. Its texts are one line each
// and may be shown as they are.
type Chart struct {
	Heading string // of the labels
	Columns []ChartColumn
	Rows    []ChartRow
	Total   []string // figures of all rows together; nil: none are shown
}

// A ChartColumn is a column of figures.
type ChartColumn struct {
	Heading string
	Rank    int // columns of a higher rank are left out first where there is no room
}

// A ChartRow is one row.
type ChartRow struct {
	Label   string
	Figures []string // one for each column
	Amount  float64  // how long its bar is beside those of other rows
}

// ChartStyle holds how the parts of a chart look. Functions that are nil leave them as they are.
type ChartStyle struct {
	Text, Bar, Heading func(string) string
	Plain              bool // no bars
	ASCII              bool // bars of #, for terminals without block characters
}

// Cells of a chart: between its columns, of its bars, and of labels that are cut.
const (
	chartGap      = 2
	shortestBar   = 8
	longestBar    = 30
	shortestLabel = 10
	longestLabel  = 56
	allCells      = 1000 // of a chart that may have any width
)

// chartLayout is how many cells each part has; 0: it is left out.
type chartLayout struct {
	label, bar int
	columns    []int
}

// Lines lays the chart out in lines of at most width cells: columns of high rank are left out
// where it is narrow, then bars are. 0 is as wide as it needs to be, without bars.
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

// Text returns the chart to be read aloud: a sentence for each row.
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

// layout gives each part its cells: figures first, by their rank, then bars, and labels what is
// left; the bars get what the labels do not need.
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
		if !math.IsInf(r.Amount, 0) && r.Amount > most { // no NaN either
			most = r.Amount
		}
	}
	return most
}

// barEighths end a bar, from one eighth of a cell to seven.
const barEighths = "▏▎▍▌▋▊▉"

// bar draws a share of 1 in width cells. What is more than nothing can be seen.
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
