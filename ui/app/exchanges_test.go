package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/exchange"
)

// TestSaveExchange writes the shown exchange to a private file, and never overwrites one.
func TestSaveExchange(t *testing.T) {
	e := exchange.Exchange{ID: 2, Start: time.Unix(1e9, 0), Done: true,
		Request: exchange.Side{Body: `{"model":"gpt-x"}`}, Response: exchange.Side{Body: strings.Repeat("event: a\ndata: {}\n\n", 10)}}
	e.Sent, e.Got = int64(len(e.Request.Body)), int64(len(e.Response.Body))
	dir := t.TempDir()
	o := Options{Directory: dir}
	path, err := o.SaveExchange(e, "")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || filepath.Dir(path) != dir || !strings.Contains(string(b), e.Request.Body) || !strings.Contains(string(b), e.Response.Body[:80]) {
		t.Errorf("%s: %q, %v", path, b, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := o.SaveExchange(e, ""); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a second time: %v", err)
	}
	if path, err := o.SaveExchange(e, "mine.txt"); err != nil || path != filepath.Join(dir, "mine.txt") {
		t.Errorf("by name: %s, %v", path, err)
	}
}

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
