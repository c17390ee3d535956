package tools

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// A plan is kept in sight as it is, and says how far it is.
func TestPlan(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	policy := NewPolicy(ModeAsk)
	s.SetPolicy(policy)
	plan := func(text string) (*Action, error) {
		input, _ := json.Marshal(map[string]string{"text": text})
		return s.Plan(t.Context(), "plan", string(input))
	}
	const text = "Mend the parser.\n\n- [x] read it\n- [>] write a test\n- [ ] mend it"
	for _, c := range []struct{ text, title, refusal string }{
		{text, "1 of 3 done · write a test", ""},
		{"- [ ] a\n- [ ] b", "0 of 2 done", ""},
		{"  \n", "", "the plan is empty"},
		{"first this, then that", "", "has no steps"},
	} {
		a, err := plan(c.text)
		var no *Refusal
		if c.refusal != "" {
			if !errors.As(err, &no) || !strings.Contains(no.Text, c.refusal) {
				t.Errorf("%q: %v, want a refusal with %q", c.text, err, c.refusal)
			}
			continue
		}
		if err != nil || a.Title != c.title || a.Proposal != "" || policy.Decide(a) != Allow {
			t.Errorf("%q: %+v, %v", c.text, a, err)
			continue
		}
		if out := a.Run(t.Context(), nil); out.Failed || out.Text != c.text {
			t.Errorf("%q: the model is told %+v", c.text, out)
		}
	}

	policy.SetMode(ModePlan)
	a, err := plan(text)
	if err != nil || a.Proposal != text || policy.Decide(a) != Ask {
		t.Fatalf("while planning: %+v, %v, %s", a, err, policy.Decide(a))
	}
	for _, c := range []struct {
		edits bool
		want  Mode
	}{{false, ModeAsk}, {true, ModeAuto}} {
		policy.SetMode(ModePlan)
		if policy.Accept(c.edits); policy.Mode() != c.want {
			t.Errorf("accepted with edits %v, the mode is %s", c.edits, policy.Mode())
		}
	}
}
