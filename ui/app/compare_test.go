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
