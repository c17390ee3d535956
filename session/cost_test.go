package session_test

import (
	"context"
	"testing"

	"parley/providers/llm"
	. "parley/session"
)

// repeating answers with the same delta so many times.
type repeating struct{ deltas int }

func (m repeating) Stream(context.Context, llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		var event llm.Event = llm.Delta{Block: "b", Part: llm.Part{Kind: llm.Text, Text: "word "}}
		for range m.deltas {
			if !yield(event, nil) {
				return
			}
		}
		yield(llm.Finish{Reason: llm.Stop}, nil)
	}
}

// A delta is handed on as it came, and added to the answer: one that is longer by a
// thousand of them costs no further allocations but those by which its text grows.
func TestDeltaCost(t *testing.T) {
	cost := func(deltas int) float64 {
		return testing.AllocsPerRun(10, func() {
			s := New(Options{Model: llm.Endpoint{Model: repeating{deltas}, Name: "x/y"}})
			shown := 0
			for e := range s.Turn(context.Background(), say("go on")) {
				if _, ok := e.(llm.Delta); ok {
					shown++
				}
			}
			if shown != deltas {
				t.Fatalf("%d of %d deltas", shown, deltas)
			}
		})
	}
	if few, many := cost(1000), cost(2000); many > few+50 {
		t.Errorf("%.0f allocations for 1,000 deltas, %.0f for 2,000", few, many)
	}
}
