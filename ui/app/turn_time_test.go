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
