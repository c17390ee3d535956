package tools

import (
	"parley/tools/act"
	"testing"
)

// A command that was allowed to run in the sandbox asks where there is none.
func TestRulesOfTheSandbox(t *testing.T) {
	for _, prefix := range []int{0, 2} {
		p := NewPolicy(act.ModeAsk)
		p.SetWorkspace("/work")
		held := &act.Action{Tool: "shell", Access: act.AccessRun, Command: "go test ./...", Sandboxed: true}
		if err := p.AllowAlways(held, prefix); err != nil {
			t.Fatal(err)
		}
		p.AllowForSession(held)
		if got := p.Decide(held); got != act.Allow {
			t.Errorf("prefix %d, held: %s", prefix, got)
		}
		if got := p.Decide(&act.Action{Tool: "shell", Access: act.AccessRun, Command: "go test ./..."}); got != act.Ask {
			t.Errorf("prefix %d, not held: %s", prefix, got)
		}
	}
}
