package app

import (
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session"
)

// A summary within a turn does not end it, just as tool results do not; a summary between turns does.
func TestTurnTime(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	node := func(seq int, role llm.Role, summary bool) session.Node {
		return session.Node{Seq: seq, At: at(seq), Summary: summary, Message: llm.Message{Role: role}}
	}
	within := []session.Node{
		node(1, llm.RoleUser, false), node(2, llm.RoleAssistant, false), node(3, llm.RoleTool, false), node(4, llm.RoleUser, true), node(5, llm.RoleAssistant, false),
	}
	behind := []session.Node{node(1, llm.RoleUser, false), node(2, llm.RoleAssistant, false), node(3, llm.RoleUser, true)}
	for _, test := range []struct {
		name     string
		path     []session.Node
		user     int
		from, to time.Time
	}{
		{"a summary within the turn", within, 1, at(1), time.Time{}},
		{"and a turn behind", append(within, node(6, llm.RoleUser, false)), 1, at(1), at(6)},
		{"a summary behind the turn", behind, 1, at(1), at(3)},
		{"no such message", behind, 9, time.Time{}, time.Time{}},
	} {
		if from, to := turnTime(test.path, test.user); from != test.from || to != test.to {
			t.Errorf("%s: %v to %v, want %v to %v", test.name, from, to, test.from, test.to)
		}
	}
}

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
		if got := (&TurnTotals{Sent: test.sent, Before: test.before}).Clock(now); got != test.want {
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
