package blocks

import (
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session"
)

// The footer of a turn has the time of its prompt, and the date when it changes: from the prompt before, or for the
// first prompt from today.
func TestTotalsClock(t *testing.T) {
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.FixedZone("", 3600))
	day := time.Date(2026, 11, 20, 8, 30, 0, 0, time.UTC)
	for _, test := range []struct {
		name         string
		sent, before time.Time
		want         string
	}{
		{"unknown", time.Time{}, day, ""},
		{"first prompt", day, time.Time{}, "09:30"},
		{"first prompt, of another day", day.AddDate(0, 0, -1), time.Time{}, "2026-11-19 09:30"},
		{"same day", day, day.Add(-time.Hour), "09:30"},
		{"next day in the zone of now", day, day.Add(-10 * time.Hour), "2026-11-20 09:30"},
		{"same day in the zone of now", day, day.Add(-9 * time.Hour), "09:30"},
		{"same day, long ago", day.AddDate(-1, 0, 0), day.AddDate(-1, 0, 0), "09:30"},
	} {
		if got := (&Totals{Sent: test.sent, Before: test.before}).Clock(now); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// A notice of the sandbox is not repeated if the output of the command has it; warnings are.
func TestSandboxRepeats(t *testing.T) {
	for text, want := range map[string]bool{
		"the sandbox undid changes of .envrc": true, "CAUTION: .envrc was changed": false, "the sandbox undid changes of b": false,
	} {
		turn := Turn{}
		turn.Apply(session.Call{Part: llm.Part{Kind: llm.Call, ID: "1", Name: "shell"}}, time.Time{})
		turn.Apply(session.Result{Part: llm.Part{Kind: llm.Result, ID: "1", Text: "x\n[the sandbox undid changes of .envrc]\n[CAUTION: .envrc was changed]"}}, time.Time{})
		if c := turn.Apply(session.Sandbox{Text: text}, time.Time{}); len(c) != 1 || c[0].Repeats != want {
			t.Errorf("%s: %+v", text, c)
		}
	}
}

// The start of an activity stays as long as its kind and its tool do.
func TestActivityStart(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var a Activity
	for i, tt := range []struct {
		kind  ActivityKind
		tool  string
		since int // step at which it began
	}{{Running, "read", 0}, {Running, "read", 0}, {Running, "list", 2}, {Calling, "list", 3}, {Calling, "list", 3}} {
		a.set(tt.kind, tt.tool, at.Add(time.Duration(i)*time.Second))
		if want := at.Add(time.Duration(tt.since) * time.Second); a.Since != want || a.Kind != tt.kind {
			t.Errorf("step %d: %+v, want since %v", i, a, want)
		}
	}
}
