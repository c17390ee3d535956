package dialog_test

import (
	"math"
	"strings"
	"testing"

	"parley/ui/theme"
	"parley/ui/tui/dialog"
)

func newUsagePages() dialog.UsageReport {
	s := dialog.UsageReport{
		Title: "Usage",
		Lines: []string{"this turn      12 K in, 800 out         $0.04", "this session   340 K in, 21 K out       $0.41", "today          1.2 M in, 90 K out       $2.10", "the cache missed once: $0.12 more"},
		Models: []dialog.UsageRow{
			{Label: "anthropic/claude-opus-5", Tokens: "4.1 M", Cached: "80%", Cost: "$12.80", Amount: 12.8},
			{Label: "openai/gpt-5.2", Tokens: "900 K", Cached: "55%", Cost: "$1.60", Amount: 1.6},
			{Label: "zai/glm-5", Tokens: "2 M", Cost: "free"},
			{Label: "gemini/gemini-3-pro", Tokens: "10 K", Cached: "0%", Cost: "$0.01", Amount: .01},
		},
		Note: "3 answers of unknown price are not counted",
	}
	for day := range 30 {
		s.Days = append(s.Days, dialog.UsageRow{Label: "2026-11-" + string(rune('0'+(30-day)/10)) + string(rune('0'+(30-day)%10)), Tokens: "200 K", Cached: "70%", Cost: "$0.50", Amount: float64(day%7) / 2})
	}
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
	only := dialog.Usage(dialog.UsageReport{Title: "Usage", Models: newUsagePages().Models}, theme.Plain())
	expect(t, only, 60, 12, "zai/glm-5", "not: by model", "not: tab")
	toPlainLines(t, only, "tab", "left")
	expect(t, only, 60, 12, "zai/glm-5")
	none := dialog.Usage(dialog.UsageReport{Title: "Usage"}, theme.Plain())
	toPlainLines(t, none, "tab", "left")
	expect(t, none, 60, 12, "No usage yet")
}

// The bars of a table are in proportion, whatever numbers come.
func TestUsageBars(t *testing.T) {
	for name, c := range map[string]struct {
		amounts []float64
		ascii   bool
		want    []string // at a bar of 8 cells
	}{
		"shares":        {[]float64{8, 4, 1}, false, []string{"████████", "████", "█"}},
		"eighths":       {[]float64{64, 9, 15}, false, []string{"████████", "█▏", "█▉"}},
		"hardly any":    {[]float64{1, 1e-9, 0}, false, []string{"████████", "▏", ""}},
		"ASCII":         {[]float64{8, 4, 1e-9, 0}, true, []string{"########", "####", "#", ""}},
		"free":          {[]float64{0, 0}, false, []string{"", ""}},
		"no numbers":    {[]float64{math.NaN(), math.Inf(1), math.Inf(-1), -3}, false, []string{"", "", "", ""}},
		"beside others": {[]float64{math.NaN(), 2, -3}, false, []string{"", "████████", ""}},
		"the largest":   {[]float64{math.MaxFloat64, math.MaxFloat64 / 2}, false, []string{"████████", "████"}},
		"the smallest":  {[]float64{math.SmallestNonzeroFloat64}, false, []string{"████████"}},
	} {
		t.Run(name, func(t *testing.T) {
			var s dialog.UsageReport
			for _, amount := range c.amounts {
				s.Days = append(s.Days, dialog.UsageRow{Label: "day", Cost: "x", Amount: amount})
			}
			u := dialog.Usage(s, theme.Plain())
			u.ASCII = c.ascii
			shown := rows(t, u, len("day  12345678  cost"), len(c.amounts)+3)
			for i, want := range c.want {
				got := strings.TrimSuffix(strings.TrimPrefix(shown[i+2], "day"), "x")
				if got = strings.TrimSpace(got); got != want {
					t.Errorf("%v has the bar %q, want %q", c.amounts[i], got, want)
				}
			}
		})
	}
}
