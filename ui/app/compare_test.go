package app

import (
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session"
)

// The figures of an answer identify its model: they are hidden as long as the names.
func TestBlindAnswersSayNothingOfTheirFigures(t *testing.T) {
	answer := func(n int) session.CandidateEvent {
		usage := llm.Usage{Input: 10, Output: 1234, Cost: 0.5, Priced: true}
		return session.CandidateEvent{N: n, Done: true, Event: session.Response{Seq: 1, Usage: usage, UsageKnown: true, Duration: 7 * time.Second}}
	}
	for _, blind := range []bool{true, false} {
		c := NewComparison(&ComparedPrompt{Names: []string{"a/1", "b/2"}, Blind: blind})
		c.Apply(answer(0))
		const figures = "done · 1.2k out · $0.5000 · 7.0 s"
		want := figures
		if blind {
			want = "done"
		}
		if c[0].State != want {
			t.Errorf("blind %v: %q, want %q", blind, c[0].State, want)
		}
		said := c.Reveal(&App{})
		if c[0].State != figures || c[1].State != candidateWaiting || blind != strings.Contains(said, "A was a/1") {
			t.Errorf("blind %v: afterwards %q and %q, said %q", blind, c[0].State, c[1].State, said)
		}
	}
}

// A candidate follows its events; one that was not asked when the comparison ended is skipped.
func TestCandidates(t *testing.T) {
	c := NewComparison(&ComparedPrompt{Names: []string{"a/1", "b/2"}})
	if c.Apply(session.CandidateEvent{N: -1}) != nil || c.Apply(session.CandidateEvent{N: 2}) != nil {
		t.Error("a candidate that there is none of is changed")
	}
	response := session.Response{Duration: 7 * time.Second, UsageKnown: true, Usage: llm.Usage{Output: 3}}
	for _, tt := range []struct {
		event session.CandidateEvent
		state string
		done  bool
	}{
		{session.CandidateEvent{Event: session.Step{Model: "a/1"}}, candidateWaiting, false},
		{session.CandidateEvent{Event: session.Call{Part: llm.Part{Name: "read"}}}, "calling read", false},
		{session.CandidateEvent{Event: session.Step{Model: "c/3"}}, "calling read", false},
		{session.CandidateEvent{Event: response}, "calling read", false},
		{session.CandidateEvent{Event: response, Done: true}, "done · 6 out · 7.0 s", true},
	} {
		if one := c.Apply(tt.event); one != c[0] || one.State != tt.state || one.Done != tt.done {
			t.Errorf("%+v: state %q, done %v, want %q, %v", tt.event, one.State, one.Done, tt.state, tt.done)
		}
	}
	if c[0].Name != "c/3" || c[0].Label != "c/3" {
		t.Errorf("the fallback model is called %q, %q", c[0].Name, c[0].Label)
	}
	if !c.AllAsked() {
		t.Error("a waiting candidate counts as skipped")
	}
	if c.MarkDone(); c[0].State != "done · 6 out · 7.0 s" || c[1].State != candidateSkipped || c.AllAsked() {
		t.Errorf("at the end: %q and %q", c[0].State, c[1].State)
	}
}

func TestVerdictText(t *testing.T) {
	for _, tt := range []struct {
		winner int
		short  bool
		want   string
	}{
		{0, false, "Judge j: A, m · r"}, {1, true, "Judge j: B · r"}, {-1, false, "Judge j: no answer is better · r"},
	} {
		if got := VerdictText(session.Verdict{Winner: tt.winner, Judge: "j", Model: "m", Reason: "r"}, tt.short); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}
