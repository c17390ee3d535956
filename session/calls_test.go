package session_test

import (
	"strings"
	"testing"

	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools"
)

func TestStopCalls(t *testing.T) {
	set, _ := workspace(t)
	fake := llmtest.New(
		llmtest.Call(call("1", "shell", `{"command":"echo begun; sleep 60"}`), call("2", "shell", `{"command":"echo next"}`)),
		llmtest.Say("I see"))
	s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(tools.ModeYolo)})
	if n := s.StopCalls(); n != 0 {
		t.Errorf("%d calls were stopped before any ran", n)
	}
	var got []Result
	var done Done
	for e := range s.Turn(t.Context(), say("hi")) {
		switch e := e.(type) {
		case Progress:
			if strings.Contains(e.Text, "begun") {
				if n := s.StopCalls(); n != 1 {
					t.Errorf("%d calls were stopped, want 1", n)
				}
				if n := s.StopCalls(); n != 0 {
					t.Errorf("a call was stopped twice: %d", n)
				}
			}
		case Result:
			got = append(got, e)
		case Done:
			done = e
		}
	}
	if done.Err != nil || done.Steps != 2 {
		t.Errorf("the turn ended with %v after %d steps: it has to go on", done.Err, done.Steps)
	}
	if len(got) != 2 {
		t.Fatalf("%d results, want 2: %+v", len(got), got)
	}
	first, second := got[0], got[1]
	if !first.Stopped || !first.Part.Failed || !strings.HasPrefix(first.Part.Text, "The user stopped this call") || !strings.Contains(first.Part.Text, "begun") {
		t.Errorf("the model is to know who stopped it, and what it said until then: %+v", first)
	}
	if second.Stopped || second.Part.Failed || !strings.HasPrefix(second.Part.Text, "next") {
		t.Errorf("the call after it is to run: %+v", second)
	}
	if out := s.Path()[2].Results; !out["1"].Stopped || out["2"].Stopped {
		t.Errorf("kept as %+v", out)
	}
	if err := valid(s.History()); err != nil {
		t.Error(err)
	}
	if sent := fake.Requests()[1].Messages; sent[2].Parts[0].Text != first.Part.Text {
		t.Errorf("the model was told %q, want %q", sent[2].Parts[0].Text, first.Part.Text)
	}
}
