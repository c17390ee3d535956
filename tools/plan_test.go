package tools

import (
	"encoding/json"
	"errors"
	"parley/tools/act"
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
	policy := NewPolicy(act.ModeAsk)
	s.SetPolicy(policy)
	plan := func(text string) (*act.Action, error) {
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
		if err != nil || a.Title != c.title || a.Proposal != "" || policy.Decide(a) != act.Allow {
			t.Errorf("%q: %+v, %v", c.text, a, err)
			continue
		}
		if out := a.Run(t.Context(), nil); out.Failed || out.Text != c.text {
			t.Errorf("%q: the model is told %+v", c.text, out)
		}
	}

	policy.SetMode(act.ModePlan)
	a, err := plan(text)
	if err != nil || a.Proposal != text || policy.Decide(a) != act.Ask {
		t.Fatalf("while planning: %+v, %v, %s", a, err, policy.Decide(a))
	}
	if one, err := plan("- [ ] mend it"); err != nil || one.Title != "1 step" {
		t.Errorf("a plan of one step: %+v, %v", one, err)
	}
	for _, c := range []struct{ mode, to, want act.Mode }{{act.ModePlan, act.ModeAsk, act.ModeAsk}, {act.ModePlan, act.ModeAuto, act.ModeAuto}, {act.ModeReadOnly, act.ModeAuto, act.ModeReadOnly}} {
		policy.SetMode(c.mode)
		if got := policy.Accept(c.to); got != c.want || policy.Mode() != c.want {
			t.Errorf("accepted in %s, to %s: the mode is %s", c.mode, c.to, policy.Mode())
		}
	}
}

// A step is told by its mark alone, as every front end shows it.
func TestPlanStep(t *testing.T) {
	for line, want := range map[string]string{
		"- [ ] a": " ||a", "* [x]  b ": "x||b", "+[X] c\n": "x||c", "-[>] now": ">||now", "\t- [>] d": ">|\t|d", "- [ ]": " ||",
		"- [?] a": "", "[ ] a": "", "- a": "", "": "", "-": "", "- [x": "",
	} {
		got := ""
		if mark, indent, text := act.PlanStep(line); mark != 0 {
			got = string(mark) + "|" + indent + "|" + text
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}
