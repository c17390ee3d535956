package dialog_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/ui/format"
	"parley/ui/theme"
	"parley/ui/tui/dialog"
)

func newUsagePages() dialog.UsageReport {
	s := dialog.UsageReport{
		Title: "Usage",
		Lines: []string{"this turn      12 K in, 800 out         $0.04", "this session   340 K in, 21 K out       $0.41", "today          1.2 M in, 90 K out       $2.10", "the cache missed once: $0.12 more"},
		Note:  "3 answers of unknown price are not counted",
	}
	chart := func(heading string) format.Chart {
		return format.Chart{Heading: heading, Columns: []format.ChartColumn{{Heading: "tokens", Rank: 1}, {Heading: "cached", Rank: 2}, {Heading: "cost"}}}
	}
	days, models := chart("day"), chart("model")
	for day := range 30 {
		days.Rows = append(days.Rows, format.ChartRow{Label: fmt.Sprintf("2026-11-%02d", 30-day), Figures: []string{"200 K", "70%", "$0.50"}, Amount: float64(day%7) / 2})
	}
	models.Rows = []format.ChartRow{
		{Label: "anthropic/claude-opus-5", Figures: []string{"4.1 M", "80%", "$12.80"}, Amount: 12.8},
		{Label: "openai/gpt-5.2", Figures: []string{"900 K", "55%", "$1.60"}, Amount: 1.6},
		{Label: "zai/glm-5", Figures: []string{"2 M", "", "free"}},
		{Label: "gemini/gemini-3-pro", Figures: []string{"10 K", "0%", "$0.01"}, Amount: .01},
	}
	s.Pages = []dialog.UsagePage{{Name: "by day", Chart: days}, {Name: "by model", Chart: models}, {Name: "by purpose"}}
	return s
}

func TestUsagePages(t *testing.T) {
	u := dialog.Usage(newUsagePages(), theme.Plain())
	expect(t, u, 80, 44, "› by day", "not: › by model", "2026-11-30", "the cache missed once", "3 answers of unknown price", "tab by model")
	before := u.Height()
	toPlainLines(t, u, "tab")
	expect(t, u, 80, 44, "› by model", "zai/glm-5", "free", "not: 2026-11-30", "tab by day")
	if u.Height() != before {
		t.Errorf("the page is turned, and the height goes from %d to %d", before, u.Height())
	}
	toPlainLines(t, u, "right")
	expect(t, u, 80, 44, "› by day")
	toPlainLines(t, u, "left", "shift+tab", "shift+tab")
	expect(t, u, 80, 44, "› by model")

	for _, key := range []string{"esc", "enter", "q"} {
		if got := press(t, dialog.Usage(newUsagePages(), theme.Plain()), "tab", key, key); got != (dialog.ClosedMsg{}) {
			t.Errorf("%s sends %#v", key, got)
		}
	}
}

func TestUsageCanBeReadWhole(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {50, 8}, {20, 5}} {
		u := dialog.Usage(newUsagePages(), theme.Plain())
		seen := screen(t, u, size[0], size[1])
		for range 60 {
			toPlainLines(t, u, "down")
			seen += screen(t, u, size[0], size[1])
		}
		for _, want := range []string{"this turn", "2026-11-01", "unknown"} {
			if !strings.Contains(seen, want) {
				t.Errorf("at %v %q cannot be found", size, want)
			}
		}
	}
}

func TestUsageOfWhatThereIs(t *testing.T) {
	only := dialog.Usage(dialog.UsageReport{Title: "Usage", Pages: newUsagePages().Pages[1:]}, theme.Plain())
	expect(t, only, 60, 12, "zai/glm-5", "not: by model", "not: tab")
	toPlainLines(t, only, "tab", "left")
	expect(t, only, 60, 12, "zai/glm-5")
	none := dialog.Usage(dialog.UsageReport{Title: "Usage"}, theme.Plain())
	toPlainLines(t, none, "tab", "left")
	expect(t, none, 60, 12, "No usage yet")
}

// The page that is shown is named however narrow it is.
func TestUsagePagesOfNarrowScreens(t *testing.T) {
	report := newUsagePages()
	for _, by := range []string{"by provider", "by folder", "by session", "by purpose"} {
		report.Pages = append(report.Pages, dialog.UsagePage{Name: by, Chart: report.Pages[1].Chart})
	}
	u := dialog.Usage(report, theme.Plain())
	for _, want := range []string{"by day", "by model", "by provider", "by folder", "by session", "by purpose", "by day"} {
		expect(t, u, 34, 40, "› "+want)
		toPlainLines(t, u, "tab")
	}
}
