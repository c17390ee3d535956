// testdata holds the expected charts. go test ./ui/format -update rewrites it. Read the diff.

package format

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

var update = flag.Bool("update", false, "accept what charts look like")

// costs returns a chart like those of package usage.
func costs() Chart {
	return Chart{
		Heading: "model",
		Columns: []ChartColumn{{"requests", 3}, {"input", 1}, {"cached", 4}, {"output", 2}, {"cost", 0}},
		Rows: []ChartRow{
			{"anthropic/claude-opus-5", []string{"112", "4.1M", "80%", "210k", "$12.80"}, 12.8},
			{"openai/gpt-5.2", []string{"31", "900k", "55%", "18k", "$1.60"}, 1.6},
			{"モデル/日本語の長い名前", []string{"4", "10k", "", "812", "≥$0.01"}, .01},
			{"ollama/" + strings.Repeat("very-long-", 9), []string{"2", "2.0k", "", "12", "free"}, 0},
		},
		Total: []string{"149", "5.0M", "75%", "229k", "≥$14.41"},
	}
}

// TestChart compares charts at the widths of terminals and pipes, and without block characters.
func TestChart(t *testing.T) {
	var got strings.Builder
	show := func(name string, width int, style ChartStyle) {
		fmt.Fprintf(&got, "-- %s --\n%s\n", name, strings.Join(costs().Lines(width, style), "\n"))
	}
	for _, width := range []int{240, 120, 80, 60, 50, 40, 24} {
		show(fmt.Sprint(width), width, ChartStyle{})
	}
	show("pipe", 0, ChartStyle{})
	show("ASCII", 80, ChartStyle{ASCII: true})
	look := func(code string) func(string) string {
		return func(s string) string { return "\x1b[" + code + "m" + s + "\x1b[m" }
	}
	for _, line := range costs().Lines(60, ChartStyle{Text: look("1"), Bar: look("2"), Heading: look("3")}) {
		fmt.Fprintf(&got, "%q\n", line)
	}
	file := filepath.Join("testdata", "chart.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != got.String() {
		t.Errorf("%v: go test -update accepts\n%s", err, &got)
	}
}

// For any content, no line is wider than its terminal, the figures of all rows are aligned, and
// the cost is shown.
func TestChartFits(t *testing.T) {
	for width := 1; width <= 250; width++ {
		end := -1
		for i, line := range costs().Lines(width, ChartStyle{}) {
			if w := ansi.StringWidth(line); w > width {
				t.Errorf("%d cells: line %d has %d: %q", width, i, w, line)
			} else if end >= 0 && w != end && width >= 24 {
				t.Errorf("%d cells: line %d ends in %d, the one before in %d: %q", width, i, w, end, line)
			} else {
				end = w
			}
			if width >= 24 && i > 0 && !strings.HasSuffix(line, costs().Rows[min(i, 4)-1].Figures[4]) && !strings.HasSuffix(line, costs().Total[4]) {
				t.Errorf("%d cells: no cost in %q", width, line)
			}
		}
	}
}

// Bars are in proportion for any numbers.
func TestChartBars(t *testing.T) {
	for name, c := range map[string]struct {
		amounts []float64
		ascii   bool
		want    []string // with a bar of 8 cells
	}{
		"shares":        {[]float64{8, 4, 1}, false, []string{"████████", "████", "█"}},
		"eighths":       {[]float64{64, 9, 15}, false, []string{"████████", "█▏", "█▉"}},
		"hardly any":    {[]float64{1, 1e-9, 0}, false, []string{"████████", "▏", ""}},
		"ASCII":         {[]float64{8, 4, 1e-9, 0}, true, []string{"########", "####", "#", ""}},
		"free":          {[]float64{0, 0}, false, []string{"", ""}},
		"no numbers":    {[]float64{math.NaN(), math.Inf(1), math.Inf(-1), -3}, false, []string{"", "", "", ""}},
		"beside others": {[]float64{math.NaN(), 2, math.Inf(1), -3}, false, []string{"", "████████", "", ""}},
		"the largest":   {[]float64{math.MaxFloat64, math.MaxFloat64 / 2}, false, []string{"████████", "████"}},
		"the smallest":  {[]float64{math.SmallestNonzeroFloat64}, false, []string{"████████"}},
	} {
		t.Run(name, func(t *testing.T) {
			chart := Chart{Heading: "day", Columns: []ChartColumn{{Heading: "cost"}}}
			for _, amount := range c.amounts {
				chart.Rows = append(chart.Rows, ChartRow{Label: "day", Figures: []string{"x"}, Amount: amount})
			}
			lines := chart.Lines(len("day  12345678  cost"), ChartStyle{ASCII: c.ascii})
			for i, want := range c.want {
				got := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(lines[i+1], "day"), "x"))
				if got != want {
					t.Errorf("%v has the bar %q, want %q", c.amounts[i], got, want)
				}
			}
		})
	}
}

// A chart without rows has its headings, and rows may have fewer figures than there are columns.
func TestChartOfFew(t *testing.T) {
	columns := []ChartColumn{{"a", 0}, {"b", 0}}
	for _, c := range []struct {
		chart Chart
		style ChartStyle
		want  string
	}{
		{Chart{Heading: "day", Columns: columns}, ChartStyle{}, "day  a  b"},
		{Chart{Heading: "d", Columns: columns, Total: []string{"12"}}, ChartStyle{}, "d       a  b|total  12"},
		{Chart{Heading: "d", Columns: columns, Rows: []ChartRow{{Label: "mon", Figures: []string{"", "7"}, Amount: 7}}}, ChartStyle{Plain: true}, "d    a  b|mon     7"},
		{Chart{Columns: columns[:1], Rows: []ChartRow{{Label: "x", Amount: 2}, {Label: "y", Amount: 1}}}, ChartStyle{}, "                                   a|x  ██████████████████████████████|y  ███████████████"},
	} {
		if got := strings.Join(c.chart.Lines(36, c.style), "|"); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// A chart read aloud has one sentence per row, without unknown figures.
func TestChartText(t *testing.T) {
	lines := strings.Split(costs().Text(), "\n")
	for i, want := range []string{
		"anthropic/claude-opus-5: requests 112, input 4.1M, cached 80%, output 210k, cost $12.80.", "openai/gpt-5.2: requests 31, input 900k, cached 55%, output 18k, cost $1.60.",
		"モデル/日本語の長い名前: requests 4, input 10k, output 812, cost at least $0.01.",
	} {
		if lines[i] != want {
			t.Errorf("got %q, want %q", lines[i], want)
		}
	}
}
