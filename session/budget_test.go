package session_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/session/store"
)

// spends answers with text that costs a dollar and takes 100 tokens.
func spends() llmtest.Turn {
	return llmtest.Script(llm.Delta{Block: "1", Part: say("yes")}, llm.Usage{Input: 60, Output: 40, Cost: 1, Priced: true}, llm.Finish{Reason: llm.Stop})
}

// asksDear calls a tool, for a dollar.
func asksDear() llmtest.Turn {
	return llmtest.Script(llm.Delta{Block: "c", Part: llm.Part{Kind: llm.Call, ID: "1", Name: "read", Input: `{"path":"a.txt"}`}},
		llm.Usage{Input: 60, Output: 40, Cost: 1, Priced: true}, llm.Finish{Reason: llm.Calls})
}

// budgeted returns a session on the store in dir whose model spends a dollar each time.
func budgeted(t *testing.T, path string, attended bool, turns int, limits ...Limit) *Session {
	t.Helper()
	lib, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lib.Close() })
	var script []llmtest.Turn
	for range turns {
		script = append(script, spends())
	}
	s := New(Options{Model: endpoint("a/a", llmtest.New(script...)), Attended: attended, Limits: limits, Log: lib.Create(Info{})})
	t.Cleanup(func() { s.Close() })
	return s
}

// A limit of each period, in money and in tokens, is told at 80 % and ends what would be
// spent above it.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		limit   Limit
		answers int // before it is reached, of ten prompts
		notices int
	}{
		{Limit{Period: PerSession, Cost: 5}, 5, 1},
		{Limit{Period: PerSession, Tokens: 450}, 5, 1},
		{Limit{Period: PerDay, Cost: 2.5}, 3, 1},
		{Limit{Period: PerDay, Tokens: 101}, 2, 1},
		{Limit{Period: PerMonth, Cost: 10}, 10, 1},
		{Limit{Period: PerMonth, Provider: "a", Cost: 1}, 1, 0},
		{Limit{Period: PerMonth, Provider: "b", Cost: 1}, 10, 0},
		{Limit{Period: PerTurn, Cost: 1}, 10, 0},
		{Limit{}, 10, 0},
	} {
		t.Run(tt.limit.String(), func(t *testing.T) {
			s := budgeted(t, filepath.Join(t.TempDir(), "p.db"), false, 10, tt.limit)
			answers, notices := 0, 0
			for range 10 {
				events := play(t.Context(), s, nil, say("hi"))
				notices += len(eventsOf[llm.Notice](events))
				var reached *BudgetError
				if err := doneOf(t, events).Err; err == nil {
					answers++
				} else if !errors.Is(err, ErrBudget) || !errors.As(err, &reached) || !strings.Contains(err.Error(), tt.limit.String()) {
					t.Fatal(err)
				}
			}
			if answers != tt.answers || notices != tt.notices {
				t.Errorf("%d answers, told %d times", answers, notices)
			}
		})
	}
}

// A turn's limit ends the turn between two requests, and the results of its calls stay.
func TestTurnLimit(t *testing.T) {
	set, _ := workspace(t)
	s := New(Options{Model: endpoint("a/a", llmtest.New(asksDear(), asksDear(), spends())), Tools: set, Limits: []Limit{{Period: PerTurn, Cost: 2}}})
	events := play(t.Context(), s, allow, say("hi"))
	if err := doneOf(t, events).Err; !errors.Is(err, ErrBudget) || len(eventsOf[Result](events)) != 2 {
		t.Errorf("%v after %d results", err, len(eventsOf[Result](events)))
	}
}

// At 100 % a user is asked, and what they add holds.
func TestLimitIsRaised(t *testing.T) {
	for _, tt := range []struct {
		limit Limit
		want  Limit // raised once
		turns int
	}{
		{Limit{Period: PerDay, Cost: 3}, Limit{Period: PerDay, Cost: 4}, 4},
		{Limit{Period: PerSession, Tokens: 200}, Limit{Period: PerSession, Tokens: 300}, 3},
	} {
		s := budgeted(t, filepath.Join(t.TempDir(), "p.db"), true, 10, tt.limit)
		asked := 0
		for range tt.turns {
			events, questions := replies(t, s, []Action{RaiseLimit}, say("hi"))
			if err := doneOf(t, events).Err; err != nil {
				t.Fatal(err)
			}
			for asked += len(questions); len(questions) > 0; questions = nil {
				if o := questions[0].About.(Overspend); o.Limit.Period != tt.limit.Period {
					t.Errorf("asked about %v", o)
				}
				if got := s.Limits(); asked == 1 && (len(got) != 1 || got[0] != tt.want) {
					t.Errorf("%v, want %v", got, tt.want)
				}
			}
		}
		if _, questions := replies(t, s, []Action{StopTurn}, say("hi")); asked == 0 || len(questions) != 1 {
			t.Errorf("asked %d times", asked)
		}
	}
}

// Eight programs that spend from one day's limit at once spend above it at most what each had
// under way.
func TestLimitHoldsAcrossSessions(t *testing.T) {
	const all, limit = 8, 10
	path := filepath.Join(t.TempDir(), "p.db")
	var sessions []*Session
	for range all {
		sessions = append(sessions, budgeted(t, path, false, limit, Limit{Period: PerDay, Cost: limit}))
	}
	var group sync.WaitGroup
	for _, s := range sessions {
		group.Go(func() {
			for range limit {
				for e := range s.Turn(t.Context(), say("hi")) {
					if d, ok := e.(Done); ok && d.Err != nil && !errors.Is(d.Err, ErrBudget) {
						t.Error(d.Err)
					}
				}
			}
		})
	}
	group.Wait()
	used, err := sessions[0].Used(Limit{Period: PerDay})
	if err != nil || used.Cost < limit || used.Cost > limit+all {
		t.Errorf("%v spent of %d, %v", used.Cost, limit, err)
	}
}

// One request that may cost much is asked about before it is sent, once in a turn; where
// nobody can be asked it is told.
func TestExpense(t *testing.T) {
	for _, attended := range []bool{true, false} {
		set, _ := workspace(t)
		model := endpoint("a/a", llmtest.New(asksDear(), spends(), spends()))
		model.Cost = func(u llm.Usage) (float64, bool) { return float64(u.Input), true }
		s := New(Options{Model: model, Attended: attended, ConfirmCost: 4000, Tools: set})
		if events, asked := replies(t, s, []Action{StopTurn}, long(10)); len(asked)+len(eventsOf[llm.Notice](events)) != 0 {
			t.Errorf("asked %+v about little", asked)
		}
		events, asked := replies(t, s, []Action{SendAnyway}, long(4000))
		if told := len(eventsOf[llm.Notice](events)); attended != (len(asked) == 1) || attended == (told == 1) || doneOf(t, events).Err != nil {
			t.Errorf("attended %v: asked %d times, told %d times", attended, len(asked), told)
		}
	}
}

// Days and months begin at midnight of the clock.
func TestPeriodsBegin(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 30, 0, 0, time.Local)
	lib, _ := newTestStore(t)
	spend := func(at time.Time) {
		if err := lib.Ledger().Add(LedgerEntry{At: at, Model: "a/a", Purpose: PurposeAnswer, Usage: llm.Usage{Cost: 1, Priced: true}}); err != nil {
			t.Fatal(err)
		}
	}
	spend(now.Add(-time.Hour))
	spend(now)
	spend(now.Add(24 * time.Hour))
	s := New(Options{Model: endpoint("a/a", llmtest.New()), Log: lib.Create(Info{}), Now: func() time.Time { return now.Add(24 * time.Hour) }})
	for period, want := range map[Period]float64{PerDay: 1, PerMonth: 2} {
		if used, err := s.Used(Limit{Period: period}); err != nil || used.Cost != want {
			t.Error(fmt.Sprint(period, ": ", used.Cost, err))
		}
	}
}
