package session_test

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"slices"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
)

// TestCheckAfterError: a check runs at the end of a turn that tries again after an error, but not after a cancellation.
func TestCheckAfterError(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		s := New(Options{Model: endpoint("m/x", llmtest.New(func(context.Context, llm.Request, *llm.Out) error {
			if cancels {
				cancel()
			}
			return &llm.Error{Fault: llm.Network, Message: "down"}
		}, llmtest.Say("done")))})
		ran := 0
		s.Check.Set(func(context.Context, func(Event)) ([]llm.Part, error) { ran++; return nil, nil })
		for e := range s.Turn(ctx, say("go")) {
			if d, ok := e.(Done); ok && (d.Err == nil || ran > 0) {
				t.Errorf("ended with %v after %d runs", d.Err, ran)
			}
		}
		cancel()
		for range s.Turn(t.Context()) {
		}
		if kept := ran == 1; kept == cancels || s.Unanswered() {
			t.Errorf("canceled %v: the check ran %d times", cancels, ran)
		}
		s.Close()
	}
}

// TestRemovedCheck: a check that is removed while it runs is not answered.
func TestRemovedCheck(t *testing.T) {
	model := llmtest.New(llmtest.Say("done"))
	s := New(Options{Model: endpoint("m/x", model)})
	defer s.Close()
	s.Check.Set(func(context.Context, func(Event)) ([]llm.Part, error) {
		s.Check.Set(nil)
		return []llm.Part{say("it failed")}, nil
	})
	for e := range s.Turn(t.Context(), say("go")) {
		if d, ok := e.(Done); ok && (d.Err != nil || len(model.Requests()) != 1) {
			t.Errorf("ended with %v after %d requests", d.Err, len(model.Requests()))
		}
	}
}

// TestRunningCheck: a check is taken only by a turn that calls it before it ends.
func TestRunningCheck(t *testing.T) {
	a, b := endpoint("m/a", llmtest.New(llmtest.Say("a"))), endpoint("m/b", llmtest.New(llmtest.Say("b")))
	answer := func(s *Session, ctx context.Context) iter.Seq[Event] { return s.Turn(ctx, say("go")) }
	for name, test := range map[string]struct {
		turn func(*Session, context.Context) iter.Seq[Event]
		at   Event // when the check is set
		stop bool  // cancel the turn before
		runs int   // of the check; 0: it is not taken
	}{
		"an answer": {answer, Step{}, false, 1},
		"canceled":  {answer, Step{}, true, 0},
		"ended":     {answer, Done{}, false, 0},
		"a comparison": {func(s *Session, ctx context.Context) iter.Seq[Event] {
			return s.Compare(ctx, []llm.Endpoint{a, b}, nil, say("go"))
		}, CandidateEvent{}, false, 0},
		"instead of a check that refuses": {func(s *Session, ctx context.Context) iter.Seq[Event] {
			s.Check.Set(func(_ context.Context, emit func(Event)) ([]llm.Part, error) {
				emit(Sandbox{Text: "runs"})
				return nil, errors.New("refused")
			})
			return answer(s, ctx)
		}, Sandbox{}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{Model: endpoint("m/x", llmtest.New(llmtest.Say("done"), llmtest.Say("done")))})
			defer s.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			taken, ran := []bool(nil), 0
			for e := range test.turn(s, ctx) {
				if reflect.TypeOf(e) != reflect.TypeOf(test.at) || taken != nil {
					continue
				}
				if test.stop {
					cancel()
				}
				taken = append(taken, s.Check.SetRunning(func(context.Context, func(Event)) ([]llm.Part, error) { ran++; return nil, nil }))
			}
			if want := []bool{test.runs > 0}; !slices.Equal(taken, want) || ran != test.runs {
				t.Errorf("taken %v, want %v; ran %d times", taken, want, ran)
			}
			for range s.Turn(t.Context(), say("next")) {
			}
			if ran != test.runs {
				t.Error("the next turn ran it")
			}
		})
	}
}
