package chat

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/ui/app/blocks"
)

// A footer has at most 60 cells; the least important parts are omitted first.
func TestFooter(t *testing.T) {
	usage := llm.Usage{Input: 12_345, CacheRead: 11_000, Output: 678, Cost: 0.0412, Priced: true}
	now := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, model string
		usage       llm.Usage
		took        time.Duration
		want        string
	}{
		{"all there is room for", "a/b", llm.Usage{Input: 9, Output: 3}, 0, "b · 9 in · 3 out"},
		{"much of everything", "openai/gpt-6.1-sol", usage, 12 * time.Second, "gpt-6.1-sol · 09:30 · 12k in (89% cached) · 678 out · $0.04"},
		{"a missed cache", "a/b", usage, 12 * time.Second, "b · 09:30 · cache missed · $0.04 · first token 0.8 s"},
		{"a long name", "gateway/" + strings.Repeat("long-", 20), usage, 12 * time.Second, ""},
	} {
		tally := blocks.Totals{Model: tt.model, Answered: true, Usage: tt.usage, CacheMissed: tt.name == "a missed cache"}
		if tt.took > 0 {
			tally.TTFT, tally.Sent = 800*time.Millisecond, now
		}
		forms := footer(&tally, now)
		got := forms[0]
		if tt.want != "" && got != tt.want || ansi.StringWidth(got) > maxFooter || !strings.ContainsAny(got, "$9") {
			t.Errorf("%s: %q (%d cells), want %q", tt.name, got, ansi.StringWidth(got), tt.want)
		}
		tally.TTFT = leastTime - 1
		if quick := footer(&tally, now)[0]; strings.Contains(quick, "first token") {
			t.Errorf("%s: %q tells of no time", tt.name, quick)
		}
		if tt.took > 0 && tt.want != "" && !tally.CacheMissed {
			if want := "gpt-6.1-sol · 09:30 · 12k in · 678 out · $0.04"; forms[len(forms)-1] != want {
				t.Errorf("%s: the shortest form is %q, want %q", tt.name, forms[len(forms)-1], want)
			}
		}
	}
}
