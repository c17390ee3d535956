package session_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/session/settings"
)

// An answer that was stopped or broke off is paid for: its tokens count, as an
// estimate without a price, and the conversation keeps why it ended.
func TestCutAnswersCount(t *testing.T) {
	text := strings.Repeat("word ", 400)
	reported := func(_ context.Context, _ llm.Request, out *llm.Out) error {
		out.Send(llm.Usage{Input: 70, Output: 1, Cost: 0.5, Priced: true})
		out.Send(llm.Delta{Block: "a", Part: say(text)})
		return &llm.Error{Fault: llm.Network, Message: "gone"}
	}
	for name, tt := range map[string]struct {
		turn  llmtest.Turn
		want  llm.Usage
		broke string
	}{
		"stopped":           {llmtest.Hang(text), llm.Usage{Input: 1 + 10 + 1, Output: 500, Estimated: true}, ""},
		"parley ended":      {llmtest.Hang(text), llm.Usage{Input: 1 + 10 + 1, Output: 500, Estimated: true}, EndedText},
		"broke off":         {llmtest.Cut(text), llm.Usage{Input: 1 + 10 + 1, Output: 500, Estimated: true}, "stream ended"},
		"its start is told": {reported, llm.Usage{Input: 70, Output: 500, Cost: 0.5, Estimated: true}, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{Model: endpoint("m/0", llmtest.New(tt.turn)), EstimateTokens: func(text string) int { return len(text) / 4 }})
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			for e := range s.Turn(ctx, say("four")) {
				if d, ok := e.(llm.Delta); ok && d.Text != "" {
					switch tt.broke {
					case "":
						cancel(context.Canceled)
					case EndedText:
						cancel(ErrProgramEnded)
					}
				}
			}
			total, _ := s.Spending.Usage()
			path := s.Path()
			n := path[len(path)-1]
			if total != tt.want || n.Usage == nil || *n.Usage != tt.want {
				t.Errorf("counted %+v, kept %+v, want %+v", total, n.Usage, tt.want)
			}
			if !n.Interrupted || (n.InterruptedBy == "") != (tt.broke == "") || !strings.Contains(n.InterruptedBy, tt.broke) {
				t.Errorf("kept that it broke off for %q, want %q", n.InterruptedBy, tt.broke)
			}
		})
	}
}

// silent answers with text, and with what a server that counts nothing says of it.
func silent(text string, said ...llm.Event) llmtest.Turn {
	events := append([]llm.Event{llm.Delta{Block: "1", Part: say(text)}}, said...)
	return llmtest.Script(append(events, llm.Finish{Reason: llm.Stop})...)
}

// If a server counts nothing, input and output are estimated, at the model's price,
// and limits hold; without a price the user is told that they do not.
func TestServersThatCountNothing(t *testing.T) {
	text := strings.Repeat("word ", 400)
	for name, said := range map[string][]llm.Event{"nothing": nil, "zeros": {llm.Usage{Priced: true}}} {
		for _, priced := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", a price: ", priced), func(t *testing.T) {
				model := endpoint("m/0", llmtest.New(silent(text, said...), silent(text, said...)))
				if priced {
					model.Cost = func(u llm.Usage) (float64, bool) { return float64(u.Output) / 500, true }
				}
				s := New(Options{Model: model, Limits: []Limit{{Period: settings.PerSession, Cost: 1}}, EstimateTokens: func(text string) int { return len(text) / 4 }})
				told := notices(play(t.Context(), s, nil, say("four")))
				want := llm.Usage{Input: 1 + 10 + 1, Output: 500, Estimated: true}
				if priced {
					want.Cost, want.Priced = 1, true
				}
				path := s.Path()
				if got := path[len(path)-1].Usage; got == nil || *got != want {
					t.Errorf("counted %+v, want %+v", got, want)
				}
				if len(told) != 1 || priced != strings.HasPrefix(told[0], "session limit of $1.00 reached") {
					t.Errorf("told %q", told)
				}
				if err := doneOf(t, play(t.Context(), s, nil, say("again"))).Err; errors.Is(err, ErrBudget) != priced {
					t.Errorf("the second prompt: %v", err)
				}
			})
		}
	}
}

// So is what is asked beside the conversation: a summary, a verdict, a title.
func TestRequestsAsideThatAreNotCounted(t *testing.T) {
	price := func(u llm.Usage) (float64, bool) { return float64(u.Output), true }
	tokens := func(text string) int { return len(text) }
	t.Run("summary", func(t *testing.T) {
		model := endpoint("m/0", llmtest.New(spends(), spends(), silent("short")))
		model.Cost = price
		s := New(Options{Model: model, EstimateTokens: tokens})
		play(t.Context(), s, nil, say(strings.Repeat("long ", 100)))
		play(t.Context(), s, nil, say("two"))
		summarize(t, s)
		if total, _ := s.Spending.Usage(); total.Cost != 2+5 || !total.Priced {
			t.Errorf("counted %+v", total)
		}
	})
	t.Run("title", func(t *testing.T) {
		lib, _ := newTestStore(t)
		s := New(Options{Model: endpoint("m/0", llmtest.New(spends())), Log: lib.Create(Info{}), EstimateTokens: tokens, Config: Config{TitleModel: "m/t"},
			OpenModel: func(string) (llm.Endpoint, error) {
				model := endpoint("m/t", llmtest.New(silent("Title")))
				model.Cost = price
				return model, nil
			}})
		defer s.Close()
		play(t.Context(), s, nil, say("hi"))
		if err := s.Beside.WriteTitle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if sum, err := lib.Ledger().Spent(time.Time{}, time.Time{}, ""); err != nil || sum.Usage.Cost != 1+5 || sum.Unpriced != 0 {
			t.Errorf("counted %+v, %v", sum, err)
		}
	})
	t.Run("judge", func(t *testing.T) {
		judge := endpoint("m/j", llmtest.New(silent(`{"winner":"A","reason":"better"}`)))
		judge.Cost = price
		s := New(Options{Model: endpoint("m/0", llmtest.New()), EstimateTokens: tokens})
		models := []llm.Endpoint{endpoint("c/1", llmtest.New(spends())), endpoint("c/2", llmtest.New(spends()))}
		for range s.Compare(t.Context(), models, &judge, say("which?")) {
		}
		if total, _ := s.Spending.Usage(); total.Cost != 2+32 {
			t.Errorf("counted %+v", total)
		}
	})
}

// Figures that cannot be are not counted: they neither give back what was spent, nor break a
// sum.
func TestFiguresThatCannotBe(t *testing.T) {
	for _, absurd := range []llm.Usage{
		{Input: -1 << 40, Output: -5, CacheRead: -3, Cost: -1000, Priced: true}, {Input: 60, Output: 40, Cost: math.NaN(), Priced: true},
		{Input: math.MaxInt, Output: math.MaxInt, Cost: math.Inf(1), Priced: true}, {Input: 1, Output: 1, Cost: 1e300, Priced: true},
	} {
		s := budgeted(t, filepath.Join(llmtest.Folder(t), "p.db"), false, 0, Limit{Period: settings.PerSession, Cost: 2}, Limit{Period: settings.PerDay, Cost: 3})
		s.SetModel(endpoint("a/a", llmtest.New(spends(), silent("x", absurd), spends(), spends())))
		for range 3 {
			play(t.Context(), s, nil, say("hi"))
		}
		total, last := s.Spending.Usage()
		if total.Cost != 2 || total.Input < 120 || total.Output < 80 || last.Input < 0 {
			t.Errorf("%+v: counted %+v", absurd, total)
		}
		if err := doneOf(t, play(t.Context(), s, nil, say("hi"))).Err; !errors.Is(err, ErrBudget) {
			t.Errorf("%+v: the limit does not hold: %v", absurd, err)
		}
	}
}

// unaccounted are answers that share a response without any usage.
type unaccounted struct{ sharing }

func (u unaccounted) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		for e, err := range u.sharing.Stream(ctx, req) {
			if _, usage := e.(llm.Usage); !usage && !yield(e, err) {
				return
			}
		}
	}
}

// Answers that share a response of a server that counts nothing are estimated once, all of
// them; answers of their own each.
func TestEstimatesOfSharedResponses(t *testing.T) {
	a, b := endpoint("m/a", unaccounted{}), endpoint("m/b", unaccounted{})
	s := New(Options{Model: a, EstimateTokens: func(text string) int { return 10 * len(text) / 6 }})
	for range s.Compare(t.Context(), []llm.Endpoint{a, a, b, a}, nil, say("which?")) {
	}
	counted := 0
	for _, n := range s.Nodes() {
		if n.Usage != nil {
			counted++
		}
	}
	alone := 10 * len("alone") / 6
	if u, _ := s.Spending.Usage(); counted != 2 || u.Output != 3*10+alone {
		t.Errorf("%d counted: %+v", counted, u)
	}
}
