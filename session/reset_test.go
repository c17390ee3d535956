package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
)

// limited is a failure whose provider says when its limit resets.
func limited(wait time.Duration) llmtest.Turn {
	return llmtest.Fail(&llm.Error{Fault: llm.Quota, Wait: wait})
}

// alone returns options for a model that no other replaces.
func alone(attended bool, turns ...llmtest.Turn) Options {
	return Options{Model: endpoint("a/a", llmtest.New(turns...)), Attended: attended}
}

// A turn continues when the limit resets: with a user, if the user chooses to wait; without, as far as MaxWait.
func TestLimitResets(t *testing.T) {
	const h = time.Hour
	network := llmtest.Fail(&llm.Error{Fault: llm.Network})
	for _, tt := range []struct {
		name    string
		user    bool
		most    time.Duration
		turns   []llmtest.Turn
		answers []Action
		took    time.Duration
		failed  bool
	}{
		{"user waits", true, 0, []llmtest.Turn{limited(3 * h)}, []Action{WaitAndTry}, 3 * h, false},
		{"user stops", true, 0, []llmtest.Turn{limited(3 * h)}, []Action{StopTurn}, 0, true},
		{"user has allowed it", true, 4 * h, []llmtest.Turn{limited(3 * h)}, nil, 3 * h, false},
		{"user has allowed less", true, h, []llmtest.Turn{limited(3 * h)}, []Action{StopTurn}, 0, true},
		{"nobody is there", false, 0, []llmtest.Turn{limited(3 * h)}, nil, 0, true},
		{"nobody is there, allowed", false, 3 * h, []llmtest.Turn{limited(3 * h)}, nil, 3 * h, false},
		{"nobody is there, allowed less", false, 3*h - 1, []llmtest.Turn{limited(3 * h)}, nil, 0, true},
		{"the limit stays, up to the sum", false, 3 * h, []llmtest.Turn{limited(h), limited(h), limited(h), limited(h)}, nil, 3 * h, true},
		{"each wait in vain is longer", false, h, []llmtest.Turn{limited(1), limited(1), limited(1), limited(1)}, nil, 7*time.Minute + 1, false},
		{"the time is not known", true, h, []llmtest.Turn{limited(0)}, nil, 0, true},
		{"in a week", true, 0, []llmtest.Turn{limited(7 * 24 * h)}, []Action{WaitAndTry}, 7 * 24 * h, false},
		{"in a year", true, 1 << 62, []llmtest.Turn{limited(365 * 24 * h)}, nil, 0, true},
		{"in the past", true, 1 << 62, []llmtest.Turn{limited(-h)}, nil, 0, true},
		{"the network comes back after the machine", true, 0, []llmtest.Turn{limited(h), network, network}, []Action{WaitAndTry}, h + 3*time.Minute, false},
		{"the network stays away", true, 0, slices.Concat([]llmtest.Turn{limited(h)}, slices.Repeat([]llmtest.Turn{network}, 6)), []Action{WaitAndTry}, h + 31*time.Minute, true},
		{"text was shown", false, 4 * h, []llmtest.Turn{llmtest.Fail(&llm.Error{Fault: llm.Quota, Wait: h}, stages["text"]...)}, nil, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := alone(tt.user, append(tt.turns, llmtest.Say("yes"))...)
				o.MaxWait = tt.most
				s, began := New(o), time.Now()
				events, questions := replies(t, s, tt.answers, say("hi"))
				done := doneOf(t, events)
				if took := time.Since(began); (took-tt.took).Round(time.Microsecond) != 0 || len(questions) != len(tt.answers) || (done.Err != nil) != tt.failed {
					t.Errorf("%v after %v, %d questions", done.Err, took, len(questions))
				}
				if path := s.History(); !tt.failed && (len(path) != 2 || path[1].Text() != "yes") {
					t.Errorf("%+v", path)
				}
				for _, q := range questions {
					if f := q.About.(Failure); q.Wait != 0 || q.Choices[q.Default].Action != StopTurn || f.To != "" || f.Until.Sub(began) != llm.WaitOf(f.Err) {
						t.Errorf("%+v", q)
					}
				}
			})
		})
	}
}

// While the machine sleeps, timers stand still; a clock may be set forward and back.
func TestClockJumps(t *testing.T) {
	for _, tt := range []struct{ jump, took time.Duration }{
		{0, time.Hour},
		{59 * time.Minute, time.Minute},                  // the machine slept
		{24 * time.Hour, 10*time.Second + 5*time.Second}, // it woke up the next day
		{-24 * time.Hour, time.Hour},                     // the clock was wrong
	} {
		t.Run(fmt.Sprint(tt.jump), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				o := alone(false, limited(time.Hour), llmtest.Say("yes"))
				o.MaxWait = time.Hour
				o.Now = func() time.Time {
					if time.Since(began) > 10*time.Second {
						return time.Now().Add(tt.jump)
					}
					return time.Now()
				}
				done := doneOf(t, play(t.Context(), New(o), nil, say("hi")))
				if took := time.Since(began); done.Err != nil || (took-tt.took).Abs() > 0 {
					t.Errorf("%v after %v, want %v", done.Err, took, tt.took)
				}
			})
		})
	}
}

// After the user stopped, the turn can still wait for the reset and be retried; a retry, another model or a prompt
// ends that.
func TestTurnAfterReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(alone(true, limited(3*time.Hour), limited(time.Hour), llmtest.Say("yes")))
		if !s.LimitReset().IsZero() {
			t.Error("a limit is known before the first turn")
		}
		began := time.Now()
		replies(t, s, []Action{StopTurn}, say("hi"))
		time.Sleep(time.Hour)
		if left := time.Until(s.LimitReset()); left != 2*time.Hour {
			t.Errorf("the limit resets in %v", left)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		if done := doneOf(t, slices.Collect(s.TurnAfterReset(ctx))); !errors.Is(done.Err, context.Canceled) || time.Since(began) != 61*time.Minute {
			t.Errorf("%v after %v", done.Err, time.Since(began))
		}
		events, questions := repliesTo(t, s.TurnAfterReset(t.Context()), []Action{WaitAndTry})
		if path := s.History(); doneOf(t, events).Err != nil || len(questions) != 1 || len(path) != 2 || time.Since(began) != 4*time.Hour {
			t.Errorf("%v, %d questions, %+v after %v", doneOf(t, events).Err, len(questions), path, time.Since(began))
		}
		if retries := eventsOf[llm.Retry](events); len(retries) != 2 || retries[0].Fault != llm.Quota || retries[0].Until.Sub(began) != 3*time.Hour || retries[0].Wait != 119*time.Minute {
			t.Errorf("%+v", retries)
		}
		if !s.LimitReset().IsZero() {
			t.Error("the limit is still known after an answer")
		}
	})
}

// A wait ends when the user does not want it, which does not count as a wait in vain, or chooses another model.
func TestResetIsNotAwaited(t *testing.T) {
	for name, end := range map[string]func(*Session, *llm.Pulse){
		"now":           func(_ *Session, p *llm.Pulse) { p.RetryNow() },
		"another model": func(s *Session, _ *llm.Pulse) { s.SetModel(endpoint("b/b", llmtest.New(llmtest.Say("b")))) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(alone(true, limited(3*time.Hour), limited(time.Second), llmtest.Say("a")))
				ctx, pulse := llm.WithPulse(t.Context(), 0)
				time.AfterFunc(time.Minute, func() { end(s, pulse) })
				began := time.Now()
				events, _ := repliesIn(t, ctx, s, []Action{WaitAndTry, WaitAndTry}, say("hi"))
				path := s.History()
				if took := time.Since(began); doneOf(t, events).Err != nil || took > time.Minute+5*time.Second || len(path) != 2 || path[1].Model != s.Model().Name {
					t.Errorf("%v after %v: %+v", doneOf(t, events).Err, took, path)
				}
			})
		})
	}
}
