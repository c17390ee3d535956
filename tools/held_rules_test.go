package tools

import "testing"

// What was allowed to run in the sandbox asks where there is none.
func TestRulesOfTheSandbox(t *testing.T) {
	for _, prefix := range []int{0, 2} {
		p := NewPolicy(ModeAsk)
		p.SetWorkspace("/work")
		held := &Action{Tool: "shell", Access: AccessRun, Command: "go test ./...", Sandboxed: true}
		if err := p.AllowAlways(held, prefix); err != nil {
			t.Fatal(err)
		}
		p.AllowForSession(held)
		if got := p.Decide(held); got != Allow {
			t.Errorf("prefix %d, held: %s", prefix, got)
		}
		if got := p.Decide(&Action{Tool: "shell", Access: AccessRun, Command: "go test ./..."}); got != Ask {
			t.Errorf("prefix %d, not held: %s", prefix, got)
		}
	}
}
