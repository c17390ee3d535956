package session_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
)

// fallbackModels returns a chain that is the same for every need.
func fallbackModels(names ...string) func(FallbackNeed) []string {
	return func(FallbackNeed) []string { return names }
}

// chain returns options with the model a/a, and those that may go on with what it leaves.
func chain(attended bool, scripts map[string]*llmtest.Fake) Options {
	open := func(name string) (llm.Endpoint, error) {
		m := scripts[name]
		if m == nil {
			return llm.Endpoint{}, errors.New("no key")
		}
		return endpoint(name, m), nil
	}
	first, _ := open("a/a")
	return Options{Model: first, Attended: attended, Fallback: fallbackModels("bad/bad", "b/b", "c/c"), OpenModel: open}
}

// replies plays a turn, and answers each question with the action that it is given in turn;
// "" leaves it to its countdown.
func replies(t *testing.T, s *Session, actions []Action, parts ...llm.Part) (events []Event, questions []Question) {
	t.Helper()
	return repliesIn(t, t.Context(), s, actions, parts...)
}

// repliesIn does so in a context of the caller's.
func repliesIn(t *testing.T, ctx context.Context, s *Session, actions []Action, parts ...llm.Part) (events []Event, questions []Question) {
	t.Helper()
	return repliesTo(t, s.Turn(ctx, parts...), actions)
}

// repliesTo does so to the questions of turn.
func repliesTo(t *testing.T, turn iter.Seq[Event], actions []Action) (events []Event, questions []Question) {
	t.Helper()
	for e := range turn {
		events = append(events, e)
		if q, ok := e.(Question); ok {
			q.MarkShown()
			n := len(questions)
			questions = append(questions, q)
			if n < len(actions) && actions[n] != "" {
				i := slices.IndexFunc(q.Choices, func(c Choice) bool { return c.Action == actions[n] })
				if i < 0 {
					t.Fatalf("%s is not among %+v", actions[n], q.Choices)
				}
				q.Reply(i)
			} else if q.Wait == 0 {
				t.Errorf("asked again: %+v", q)
				q.Reply(len(q.Choices) - 1)
			}
		}
	}
	return events, questions
}

// eventsOf returns the events of a type.
func eventsOf[T any](events []Event) (list []T) {
	for _, e := range events {
		if e, ok := e.(T); ok {
			list = append(list, e)
		}
	}
	return list
}

// A stage is where in an answer a model fails.
var stages = map[string][]llm.Event{
	"before anything": nil,
	"thinking":        {llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "hm"}}},
	"text":            {llm.Delta{Block: "a", Part: say("half")}},
	"call":            {llm.Delta{Block: "c", Part: llm.Part{Kind: llm.Call, ID: "1", Name: "read", Input: `{"path":"a.t`}}},
}

// Whatever fails, wherever, through a chain of three: the conversation stays valid, the text
// that was shown is not written anew without a word, and no call of a broken answer runs.
func TestFallback(t *testing.T) {
	goesOn := map[llm.Fault]bool{
		llm.Quota: true, llm.RateLimit: true, llm.Server: true, llm.Network: true, llm.Authentication: true, llm.Permission: true,
		llm.ModelNotFound: true, llm.ContextOverflow: false, llm.ContentFilter: false, llm.InvalidRequest: false, llm.Unsupported: false, llm.Unknown: false,
	} // to a model whose window is not known to be larger, an overflow does not
	for fault, want := range goesOn {
		for stage, begins := range stages {
			t.Run(fmt.Sprint(fault, " at ", stage), func(t *testing.T) {
				failure := &llm.Error{Fault: fault, Message: "no"}
				set, _ := workspace(t)
				models := map[string]*llmtest.Fake{
					"a/a": llmtest.New(llmtest.Fail(failure, begins...)), "b/b": llmtest.New(llmtest.Fail(failure)),
					"c/c": llmtest.New(llmtest.Call(call("1", "read", `{"path":"a.txt"}`)), llmtest.Say("whole")),
				}
				o := chain(false, models)
				o.Tools = set
				s := New(o)
				events := play(t.Context(), s, allow, say("hi"))
				done, path := doneOf(t, events), s.History()
				last := path[len(path)-1]
				if want && stage != "text" {
					if done.Err != nil || last.Text() != "whole" || last.Model != "c/c" || len(eventsOf[Fallback](events)) != 2 || len(eventsOf[Result](events)) != 1 {
						t.Errorf("%v, %+v, %d calls ran", done.Err, last, len(eventsOf[Result](events)))
					}
				} else if !errors.Is(done.Err, failure) || len(eventsOf[Fallback](events)) > 0 || len(eventsOf[Result](events)) > 0 {
					t.Errorf("%v, %+v", done.Err, eventsOf[Fallback](events))
				}
				if s.Model().Name != "a/a" {
					t.Errorf("%s is chosen now", s.Model().Name)
				}
			})
		}
	}
}

// A chain may name models by other names than their own: each is asked once.
func TestFallbackByOtherNames(t *testing.T) {
	down := &llm.Error{Fault: llm.Server}
	b := llmtest.New(llmtest.Fail(down))
	o := chain(false, map[string]*llmtest.Fake{"a/a": llmtest.New(llmtest.Fail(down))})
	o.Fallback = fallbackModels("b", "a", "bee")
	open := o.OpenModel
	o.OpenModel = func(name string) (llm.Endpoint, error) {
		if name == "a" {
			return open("a/a")
		}
		return endpoint("b/default", b), nil
	}
	s := New(o)
	if events := play(t.Context(), s, nil, say("hi")); len(b.Requests()) != 1 || len(eventsOf[Fallback](events)) != 1 || !errors.Is(doneOf(t, events).Err, down) {
		t.Errorf("%d requests, %v", len(b.Requests()), doneOf(t, events).Err)
	}
}

// A countdown begins when the question is in sight, not before.
func TestCountdownWaitsToBeShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(chain(true, map[string]*llmtest.Fake{"a/a": llmtest.New(llmtest.Fail(&llm.Error{Fault: llm.Quota})), "b/b": llmtest.New(llmtest.Say("b"))}))
		began := time.Now()
		for e := range s.Turn(t.Context(), say("hi")) {
			switch e := e.(type) {
			case Question:
				time.AfterFunc(time.Hour, e.MarkShown)
			case Done:
				if took := time.Since(began); e.Err != nil || took != time.Hour+5*time.Second {
					t.Errorf("%v after %v", e.Err, took)
				}
			}
		}
	})
}

// A wrong key of a provider is not tried with another of its models.
func TestFallbackToAnotherProvider(t *testing.T) {
	models := map[string]*llmtest.Fake{"a/a": llmtest.New(llmtest.Fail(&llm.Error{Fault: llm.Authentication})), "a/b": llmtest.New(), "b/b": llmtest.New(llmtest.Say("yes"))}
	o := chain(false, models)
	o.Fallback = fallbackModels("a/b", "b/b")
	s := New(o)
	if done := doneOf(t, play(t.Context(), s, nil, say("hi"))); done.Err != nil || len(models["a/b"].Requests()) > 0 {
		t.Error(done.Err)
	}
}

// The chosen model is asked again with the next prompt, once its cooldown is over. That grows
// while it keeps failing, and is forgotten once it answers, or is chosen.
func TestCooldown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := llmtest.Fail(&llm.Error{Fault: llm.Server, Message: "down"})
		a := llmtest.New(down, down, llmtest.Say("back"), down, llmtest.Say("chosen"))
		b := llmtest.New(slices.Repeat([]llmtest.Turn{llmtest.Say("b")}, 20)...)
		s := New(chain(false, map[string]*llmtest.Fake{"a/a": a, "b/b": b}))
		ask := func(want string, requests int, said ...any) {
			t.Helper()
			events := play(t.Context(), s, nil, say("hi"))
			path := s.History()
			if got := path[len(path)-1].Model; got != want || len(a.Requests()) != requests {
				t.Errorf("%s answered after %d requests to a, want %s and %d", got, len(a.Requests()), want, requests)
			}
			for i, f := range eventsOf[Fallback](events) {
				if len(said) <= i || f.To != "b/b" || f.Fault != llm.Server || f.Until.IsZero() == said[i].(bool) {
					t.Errorf("told %+v", f)
				}
			}
		}
		ask("b/b", 1, false) // it failed now
		ask("b/b", 1, true)  // and is not asked
		time.Sleep(31 * time.Second)
		ask("b/b", 2, false)
		time.Sleep(31 * time.Second)
		ask("b/b", 2, true) // twice as long
		time.Sleep(30 * time.Second)
		ask("a/a", 3)
		ask("b/b", 4, false)
		if !s.EndCooldown() || s.EndCooldown() {
			t.Error("its cooldown did not end")
		}
		ask("a/a", 5)
	})
}

// While every model rests, the chosen one is asked all the same; and being offline for long
// does not keep it from being asked soon after.
func TestEverythingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		offline := slices.Repeat([]llmtest.Turn{llmtest.Fail(&llm.Error{Fault: llm.Network})}, 20)
		a := llmtest.New(append(slices.Clone(offline), llmtest.Say("back"))...)
		s := New(chain(false, map[string]*llmtest.Fake{"a/a": a, "b/b": llmtest.New(slices.Repeat(offline, 2)...)}))
		for range 20 {
			if done := doneOf(t, play(t.Context(), s, nil, say("hi"))); llm.FaultOf(done.Err) != llm.Network {
				t.Fatal(done.Err)
			}
		}
		time.Sleep(2*time.Minute + time.Second)
		if done := doneOf(t, play(t.Context(), s, nil, say("hi"))); done.Err != nil || len(a.Requests()) != 21 {
			t.Errorf("%v after %d requests to a", done.Err, len(a.Requests()))
		}
	})
}

// A stand-in answers every step of its turn, and the return of the chosen one is told.
func TestStandInFinishesItsTurn(t *testing.T) {
	set, _ := workspace(t)
	a := llmtest.New(llmtest.Fail(&llm.Error{Fault: llm.Quota}), llmtest.Say("back"))
	b := llmtest.New(llmtest.Call(call("1", "read", `{"path":"a.txt"}`)), llmtest.Say("b"))
	o := chain(false, map[string]*llmtest.Fake{"a/a": a, "b/b": b})
	o.Tools = set
	s := New(o)
	if play(t.Context(), s, allow, say("hi")); len(b.Requests()) != 2 || len(a.Requests()) != 1 {
		t.Errorf("%d requests to a, %d to b", len(a.Requests()), len(b.Requests()))
	}
	s.EndCooldown()
	events := play(t.Context(), s, allow, say("again"))
	if got := eventsOf[ModelSwitched](events); len(got) != 1 || got[0].From != "b/b" || got[0].To != "a/a" {
		t.Errorf("told %+v", got)
	}
}

// With a user, another model goes on by itself after a countdown, at once, or never; after
// text that was shown only by their word.
func TestFallbackQuestion(t *testing.T) {
	limited := &llm.Error{Fault: llm.RateLimit, Wait: 90 * time.Second}
	for _, tt := range []struct {
		name    string
		first   llmtest.Turn
		answers []Action
		want    string // model that answered; "" for the error
		took    time.Duration
	}{
		{"countdown", llmtest.Fail(limited), []Action{""}, "b/b", 5 * time.Second},
		{"now", llmtest.Fail(limited), []Action{SwitchModel}, "b/b", 0},
		{"wait", llmtest.Fail(limited), []Action{WaitAndTry}, "a/a", 90 * time.Second},
		{"wait, then now", llmtest.Fail(limited), []Action{WaitAndTry}, "a/a", time.Second},
		{"wait, then stop", llmtest.Fail(limited), []Action{WaitAndTry}, "", time.Second},
		{"stop", llmtest.Fail(limited), []Action{StopTurn}, "", 0},
		{"text: again", llmtest.Fail(limited, stages["text"]...), []Action{TryAgain}, "a/a", 0},
		{"text: switch", llmtest.Fail(limited, stages["text"]...), []Action{SwitchModel}, "b/b", 0},
		{"text: stop", llmtest.Fail(limited, stages["text"]...), []Action{StopTurn}, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(chain(true, map[string]*llmtest.Fake{"a/a": llmtest.New(tt.first, llmtest.Say("a")), "b/b": llmtest.New(llmtest.Say("b"))}))
				began := time.Now()
				ctx, pulse := llm.WithPulse(t.Context(), 0)
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				switch tt.name {
				case "wait, then now":
					time.AfterFunc(time.Second, pulse.RetryNow)
				case "wait, then stop":
					time.AfterFunc(time.Second, cancel)
				}
				events, questions := repliesIn(t, ctx, s, tt.answers, say("hi"))
				done, path := doneOf(t, events), s.History()
				last := path[len(path)-1]
				if time.Since(began) != tt.took || len(questions) != 1 || (done.Err == nil) != (tt.want != "") || done.Err == nil && last.Model != tt.want {
					t.Errorf("%v after %v: %+v, %d questions", done.Err, time.Since(began), last, len(questions))
				}
				if answered := eventsOf[QuestionAnswered](events); len(answered) != 1 || answered[0].Question.ID != questions[0].ID {
					t.Errorf("%+v", answered)
				}
			})
		})
	}
}

// A canceled question ends the turn like any other cancel.
func TestQuestionCanceled(t *testing.T) {
	s := New(chain(true, map[string]*llmtest.Fake{"a/a": llmtest.New(llmtest.Fail(&llm.Error{Fault: llm.Server}, stages["text"]...)), "b/b": llmtest.New()}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for e := range s.Turn(ctx, say("hi")) {
		switch e := e.(type) {
		case Question:
			cancel()
		case Done:
			if !errors.Is(e.Err, context.Canceled) {
				t.Error(e.Err)
			}
		}
	}
}

// A conversation that does not fit goes to a model with a larger window, and to that at once
// while it does not fit.
func TestFallbackToLargerWindow(t *testing.T) {
	full := llmtest.Fail(&llm.Error{Fault: llm.ContextOverflow})
	models := map[string]*llmtest.Fake{"a/a": llmtest.New(full), "b/b": llmtest.New(), "c/c": llmtest.New(llmtest.Say("1"), llmtest.Say("2"))}
	o := chain(false, models)
	open, windows := o.OpenModel, map[string]int{"a/a": 1000, "b/b": 900, "c/c": 2000}
	o.OpenModel = func(name string) (llm.Endpoint, error) {
		e, err := open(name)
		e.Context = windows[name]
		return e, err
	}
	o.Model, _ = o.OpenModel("a/a")
	s := New(o)
	for range 2 {
		if done := doneOf(t, play(t.Context(), s, nil, say("a long story"), say("about windows"))); done.Err != nil {
			t.Error(done.Err)
		}
	}
	if len(models["a/a"].Requests()) != 1 || len(models["b/b"].Requests()) != 0 || len(models["c/c"].Requests()) != 2 {
		t.Errorf("%d, %d, %d requests", len(models["a/a"].Requests()), len(models["b/b"].Requests()), len(models["c/c"].Requests()))
	}
}

// A session that was stored keeps the chosen model.
func TestChosenModelIsStored(t *testing.T) {
	lib, _ := newTestStore(t)
	log := lib.Create(Info{})
	o := chain(false, map[string]*llmtest.Fake{"a/a": llmtest.New(llmtest.Fail(&llm.Error{Fault: llm.Server})), "b/b": llmtest.New(llmtest.Say("b"))})
	o.Log = log
	s := New(o)
	play(t.Context(), s, nil, say("hi"))
	if got := log.Session().Model; got != "a/a" {
		t.Errorf("%s is stored", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A chain is told what it is asked for: the model, its fault, and how much has to fit. After an
// overflow that is at least what the window of the model does not take, whatever is estimated.
func TestFallbackNeed(t *testing.T) {
	for fault, tokens := range map[llm.Fault]int{llm.Quota: 101, llm.ContextOverflow: 1000} {
		models := map[string]*llmtest.Fake{"a/a": llmtest.New(llmtest.Fail(&llm.Error{Fault: fault})), "b/b": llmtest.New(llmtest.Say("b"))}
		o := chain(false, models)
		open := o.OpenModel
		o.OpenModel = func(name string) (llm.Endpoint, error) {
			e, err := open(name)
			e.Context = map[string]int{"a/a": 1000, "b/b": 1053}[name] // 95 % of them are 1000
			return e, err
		}
		o.Model, _ = o.OpenModel("a/a")
		var needs []FallbackNeed
		o.Fallback = func(n FallbackNeed) []string {
			needs = append(needs, n)
			return []string{"b/b"}
		}
		s := New(o)
		events := play(t.Context(), s, nil, long(90))
		if want := (FallbackNeed{Model: "a/a", Fault: fault, Tokens: tokens}); doneOf(t, events).Err != nil || len(needs) != 1 || needs[0] != want {
			t.Errorf("%v; asked for %+v, want %+v", doneOf(t, events).Err, needs, want)
		}
	}
}

// TestFallbackTellsWhatIsSent: of thinking that a summary stands for, no model is told anyway.
func TestFallbackTellsWhatIsSent(t *testing.T) {
	thinks := llmtest.Script(llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "hm"}}, llm.Delta{Block: "a", Part: say("a long answer, at least longer than the summary, so that there is a gain in it")}, llm.Finish{Reason: llm.Stop})
	down := llmtest.Fail(&llm.Error{Fault: llm.Server})
	s := New(chain(false, map[string]*llmtest.Fake{"a/a": llmtest.New(thinks, thinks, llmtest.Say("short"), down), "b/b": llmtest.New(llmtest.Say("ok"))}))
	play(t.Context(), s, nil, say("one"))
	play(t.Context(), s, nil, say("two"))
	summarize(t, s)
	events := play(t.Context(), s, nil, say("three"))
	if len(eventsOf[Fallback](events)) != 1 {
		t.Fatalf("no fallback in %+v", events)
	}
	if got := eventsOf[ModelSwitched](events); len(got) > 0 {
		t.Errorf("it is said what is adapted of messages that are not sent: %+v", got)
	}
}
