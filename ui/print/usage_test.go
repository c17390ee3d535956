package print

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
)

// Figures stand below each other whatever the names are.
func TestUsageIsAligned(t *testing.T) {
	var spent []session.DailyUsage
	for _, name := range []string{"short", "日本語の会話、とても長い", strings.Repeat("long/", 40), "e\u0301\x1b[31m"} {
		spent = append(spent, session.DailyUsage{Session: name, Answers: 1, Usage: llm.Usage{Input: 1200, Output: 5}})
	}
	text := spending(spent, app.UsageGroups["session"], false)
	at := -1
	for line := range strings.Lines(text) {
		before, _, ok := strings.Cut(line, " answer")
		before = strings.TrimRight(before, "0123456789")
		if w := ansi.StringWidth(before); !ok || at >= 0 && w != at {
			t.Errorf("the figures of %q begin in cell %d, not %d\n%s", line, w, at, text)
		} else {
			at = w
		}
	}
	if n := strings.Count(text, "\n"); n != len(spent)+1 {
		t.Errorf("%d lines:\n%s", n, text)
	}
}
