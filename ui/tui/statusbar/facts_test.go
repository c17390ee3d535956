package statusbar

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"parley/ui/theme"
)

// Each fact alone is the right side of a wide line.
func TestFacts(t *testing.T) {
	for _, c := range []struct {
		info Info
		want string
	}{
		{Info{}, ""},
		{Info{Queue: 1}, "1 queued"},
		{Info{Queue: 2}, "2 queued"},
		{Info{Jobs: 1}, "1 job"},
		{Info{Jobs: 2}, "2 jobs"},
		{Info{Tokens: 1}, "1 token"},
		{Info{Tokens: 2}, "2 tokens"},
		{Info{Draft: 999}, ""},
		{Info{Draft: 1000}, "~1.0k tokens"},
		{Info{Priced: true}, "$0.00"},
		{Info{Priced: true, Cost: 0.00004}, "<$0.0001"},
		{Info{Priced: true, Cost: 0.00005}, "$0.0001"},
		{Info{Priced: true, Cost: 0.0099}, "$0.0099"},
		{Info{Priced: true, Cost: 0.01}, "$0.01"},
		{Info{Cost: 0.5}, "≥$0.50"},
		{Info{Cost: 0.00004}, "≥$0.0001"},
		{Info{State: "thinking", Elapsed: 999 * time.Millisecond}, "thinking"},
		{Info{State: "thinking", Elapsed: time.Second}, "thinking 1 s"},
		{Info{State: "thinking", Stop: "esc stops"}, "thinking esc stops"},
		{Info{Elapsed: time.Minute}, ""},
		{Info{Mode: "ask"}, "ask"},
		{Info{Mode: "edits"}, "edits allowed"},
		{Info{Mode: "read-only"}, "read-only"},
		{Info{Mode: "yolo"}, "yolo"},
		{Info{Window: 100}, "0% of 100"},
		{Info{Window: 100, Tokens: 50}, "50% of 100"},
	} {
		c.info.Model = "m"
		got := strings.TrimSpace(strings.TrimPrefix(ansi.Strip(View(c.info, nil, 60, theme.Dark())), "m"))
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.info, got, c.want)
		}
	}
}

// States that wait, and modes by what they allow, have their own colors.
func TestColors(t *testing.T) {
	th := theme.Dark()
	for _, c := range []struct {
		info Info
		want string
	}{
		{Info{State: "thinking"}, th.Voice.Render("thinking")},
		{Info{State: "asks", Waiting: true}, th.Warn.Render("asks")},
		{Info{State: "retrying", Retrying: true}, th.Warn.Render("retrying")},
		{Info{Mode: "ask"}, th.Dim.Render("ask")},
		{Info{Mode: "auto"}, th.Accent.Render("auto")},
		{Info{Mode: "edits"}, th.Accent.Render("edits allowed")},
		{Info{Mode: "plan"}, th.Voice.Render("plan")},
		{Info{Mode: "read-only"}, th.Voice.Render("read-only")},
		{Info{Mode: "yolo"}, th.Bad.Bold(true).Render("yolo")},
	} {
		if got := View(c.info, nil, 60, th); !strings.HasSuffix(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.info, got, c.want)
		}
	}
}
