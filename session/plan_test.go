package session_test

import (
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools"
	"parley/tools/act"
)

// While the model plans it changes nothing; the plan that the user accepts ends that.
func TestPlanMode(t *testing.T) {
	set, _ := workspace(t)
	write := `{"path":"new.txt","content":"x"}`
	plan := `{"text":"Write it.\n\n- [ ] new.txt"}`
	fake := llmtest.New(
		llmtest.Call(call("1", "write", write)),
		llmtest.Call(call("2", "plan", plan)),
		llmtest.Call(call("3", "plan", `{"text":"- [ ] a better one"}`)),
		llmtest.Call(call("4", "write", write)),
		llmtest.Say("done"))
	policy := tools.NewPolicy(act.ModePlan)
	set.SetPolicy(policy)
	s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: policy})
	var asked, results []string
	for e := range s.Turn(t.Context(), say("write it")) {
		switch e := e.(type) {
		case ApprovalRequest:
			asked = append(asked, e.Action.Proposal)
			if len(asked) == 1 {
				e.Reply(act.Approval{Verdict: act.Deny, Note: "make it better"})
			} else {
				e.Reply(act.Approval{Verdict: act.Allow, Session: true})
			}
		case Result:
			results = append(results, e.Part.Text)
		}
	}
	if want := []string{"Write it.\n\n- [ ] new.txt", "- [ ] a better one"}; !slices.Equal(asked, want) {
		t.Errorf("asked about %q, want %q", asked, want)
	}
	for i, want := range []string{"the approval mode is plan", "keep planning, and change nothing yet. They said: make it better", "The user accepted this plan", "new.txt"} {
		if i >= len(results) || !strings.Contains(results[i], want) {
			t.Fatalf("results %q, want %q in number %d", results, want, i+1)
		}
	}
	if policy.Mode() != act.ModeAuto {
		t.Errorf("the mode is %s", policy.Mode())
	}
	if rules := policy.Rules(); len(rules) > 0 {
		t.Errorf("accepting a plan left rules: %v", rules)
	}
}

// Of several plans in one answer the user is asked about the last. Accepting one leaves no other
// mode than that for planning.
func TestPlansOfOneAnswer(t *testing.T) {
	set, _ := workspace(t)
	fake := llmtest.New(llmtest.Call(call("1", "plan", `{"text":"- [ ] one"}`), call("2", "list", `{}`), call("3", "plan", `{"text":"- [ ] two"}`)), llmtest.Say("done"))
	policy := tools.NewPolicy(act.ModePlan)
	set.SetPolicy(policy)
	s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: policy})
	var asked []string
	told := ""
	for _, e := range play(t.Context(), s, func(r ApprovalRequest) act.Approval {
		asked = append(asked, r.Action.Proposal)
		policy.SetMode(act.ModeReadOnly)
		return act.Approval{Verdict: act.Allow, Session: true}
	}, say("write it")) {
		if n, ok := e.(llm.Notice); ok {
			told = n.Text
		}
		if r, ok := e.(Result); ok && r.Part.ID == "1" && !strings.Contains(r.Part.Text, "a later call") {
			t.Errorf("the first plan: %s", r.Part.Text)
		}
	}
	if !slices.Equal(asked, []string{"- [ ] two"}) {
		t.Errorf("asked about %q", asked)
	}
	if policy.Mode() != act.ModeReadOnly || !strings.Contains(told, "stays read-only") {
		t.Errorf("the mode is %s, told %q", policy.Mode(), told)
	}
}
