package session_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"reflect"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/session/settings"
	"parley/session/store"
	"parley/tools"
	"parley/tools/act"
)

// An aside, also one that is asked while a call waits for its approval, sends what the conversation holds with
// the same tools, refuses calls, and leaves the conversation and its next requests as they would be without it.
func TestAskAside(t *testing.T) {
	run := func(aside bool) ([]llm.Request, []llm.Message, *Session) {
		set, _ := workspace(t)
		lib, _ := newTestStore(t)
		fake := llmtest.New(
			llmtest.Call(call("1", "edit", `{"path":"a.txt","old":"alpha","new":"beta"}`)),
			llmtest.Say("done"),
		)
		model := endpoint("x/y", fake)
		model.Cost = func(u llm.Usage) (float64, bool) { return float64(u.Input), true }
		model.Cache.KeepsToolChoice = true
		s := New(Options{Model: model, Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: lib.Create(Info{})})
		t.Cleanup(func() { s.Close() })
		play(t.Context(), s, func(ApprovalRequest) act.Approval {
			if !aside {
				return act.Approval{Verdict: act.Allow}
			}
			side := llmtest.New(llmtest.Call(call("x", "read", `{"path":"a.txt"}`)), llmtest.Say("because"))
			beside := model
			beside.Model = side
			answer, err := s.Beside.Ask(t.Context(), Aside{Model: beside, Purpose: store.PurposeAside, Messages: []llm.Message{llm.UserText("why?")}})
			asked := side.Requests()
			if err != nil || answer.Text() != "because" || len(asked) != 2 {
				t.Fatalf("%q, %v after %d requests", answer.Text(), err, len(asked))
			}
			own := fake.Requests()[0]
			for _, r := range asked {
				if !reflect.DeepEqual(r.Tools, own.Tools) || r.System != own.System || r.Session != own.Session || r.ToolChoice != "none" || !reflect.DeepEqual(r.Messages[:len(own.Messages)], own.Messages) {
					t.Errorf("the aside's request does not begin as the conversation's: %+v, want %+v", r, own)
				}
				if err := valid(r.Messages); err != nil {
					t.Error(err)
				}
			}
			if last := asked[1].Messages; !last[len(last)-1].Parts[0].Failed {
				t.Errorf("the aside's call was not refused: %+v", last)
			}
			return act.Approval{Verdict: act.Allow}
		}, say("edit it"))
		sums, err := lib.Ledger().Sums(time.Time{}, time.Time{}, "purpose")
		if aside && (err != nil || len(sums) != 2) {
			t.Errorf("in the ledger: %+v, %v", sums, err)
		}
		return fake.Requests(), s.History(), s
	}
	plain, history, _ := run(false)
	beside, kept, s := run(true)
	if !reflect.DeepEqual(history, kept) || len(plain) != 2 || len(beside) != 2 || !reflect.DeepEqual(plain[1].Messages, beside[1].Messages) {
		t.Errorf("with the aside the conversation has %+v, without %+v", kept, history)
	}
	s.Spending.SetLimit(Limit{Period: settings.PerSession, Cost: 0.0001})
	if _, err := s.Beside.Ask(t.Context(), Aside{Purpose: store.PurposeAside, Messages: []llm.Message{llm.UserText("and?")}}); !errors.Is(err, ErrBudget) {
		t.Errorf("at the limit: %v", err)
	}
}

// Side requests at once share what is left of a limit: one that runs counts with its estimate until it ends.
func TestAsidesAtOnceShareALimit(t *testing.T) {
	var s *Session
	ask := func(m llm.Model) error {
		model := endpoint("x/side", m)
		model.Cost = func(u llm.Usage) (float64, bool) { return float64(u.Output) / 1000, true }
		_, err := s.Beside.Ask(t.Context(), Aside{Model: model, Purpose: store.PurposeAside, Messages: []llm.Message{llm.UserText("why?")}})
		return err
	}
	for _, limit := range []Limit{{Period: settings.PerSession, Cost: 1.5}, {Period: settings.PerTurn, Cost: 1.5}, {Period: settings.PerSession, Tokens: 1500}} {
		s = New(Options{Model: endpoint("x/y", llmtest.New()), Limits: []Limit{limit}})
		beside := llmtest.New(llmtest.Say("two"))
		var refused error
		err := ask(llmtest.New(func(ctx context.Context, _ llm.Request, out *llm.Out) error {
			refused = ask(beside)
			return llmtest.Say("one")(ctx, llm.Request{}, out)
		}))
		if err != nil || !errors.Is(refused, ErrBudget) || len(beside.Requests()) > 0 {
			t.Errorf("%v: the first one ended with %v, the one beside it with %v", limit, err, refused)
		}
		if err := ask(beside); err != nil {
			t.Errorf("%v: afterwards: %v", limit, err)
		}
		s.Close()
	}
}

// A turn counts the side requests that run beside it. A limit per turn that the last one reached allows side requests
// after it.
func TestAsideBesideLimits(t *testing.T) {
	model := llmtest.New(spends())
	s := New(Options{Model: endpoint("x/y", model), Limits: []Limit{{Period: settings.PerSession, Cost: 1.5}}})
	defer s.Close()
	ask := func(m llm.Model) error {
		side := endpoint("x/side", m)
		side.Cost = func(u llm.Usage) (float64, bool) { return float64(u.Output) / 500, true }
		_, err := s.Beside.Ask(t.Context(), Aside{Model: side, Purpose: store.PurposeAside, Messages: []llm.Message{llm.UserText("why?")}})
		return err
	}
	turn := func() (err error) {
		for e := range s.Turn(t.Context(), say("go")) {
			if d, ok := e.(Done); ok {
				err = d.Err
			}
		}
		return err
	}
	var beside error
	err := ask(llmtest.New(func(ctx context.Context, _ llm.Request, out *llm.Out) error {
		beside = turn()
		return llmtest.Say("one")(ctx, llm.Request{}, out)
	}))
	if err != nil || !errors.Is(beside, ErrBudget) || len(model.Requests()) > 0 {
		t.Errorf("the side request ended with %v, the turn beside it with %v", err, beside)
	}
	s.Spending.SetLimit(Limit{Period: settings.PerSession})
	s.Spending.SetLimit(Limit{Period: settings.PerTurn, Cost: 1})
	if err := cmp.Or(turn(), ask(llmtest.New(llmtest.Say("two")))); err != nil {
		t.Errorf("after a turn that reached its limit: %v", err)
	}
}

// keepAside keeps an aside and waits for the result.
func keepAside(s *Session, at int, said []llm.Message) error {
	result := make(chan error, 1)
	s.Beside.Keep(at, said, func(err error) { result <- err })
	return <-result
}

// An aside that is kept while a turn runs is stored at its end, also if the turn is stopped.
func TestKeepAsideInTurn(t *testing.T) {
	for name, answer := range map[string]llmtest.Turn{"answered": llmtest.Say("hello"), "stopped": llmtest.Hang("hel")} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{Model: endpoint("x/y", llmtest.New(llmtest.Say("first"), answer))})
			play(t.Context(), s, nil, say("hi"))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			result := make(chan error, 1)
			kept := false
			for e := range s.Turn(ctx, say("and?")) {
				switch e.(type) {
				case llm.Delta:
					if !kept {
						kept = true
						s.Beside.Keep(2, []llm.Message{llm.UserText("why?"), {Role: llm.RoleAssistant, Parts: []llm.Part{say("because")}}}, func(err error) { result <- err })
					}
					if len(result) > 0 {
						t.Error("kept during the turn")
					}
					if name == "stopped" {
						cancel()
					}
				case Done:
					if err := <-result; err != nil {
						t.Error(err)
					}
				}
			}
			if nodes := s.Nodes(); len(nodes) != 6 || nodes[4].Parent != 2 || nodes[5].Text() != "because" || s.Head() != 4 {
				t.Errorf("it ends at %d of %+v", s.Head(), nodes)
			}
		})
	}
}

// An aside that is kept becomes a branch after the message at which it was asked, and after the results if that
// calls tools. The conversation continues where it did, also when it is opened again.
func TestKeepAside(t *testing.T) {
	set, _ := workspace(t)
	lib, _ := newTestStore(t)
	fake := llmtest.New(llmtest.Call(call("1", "read", `{"path":"a.txt"}`)), llmtest.Say("done"), llmtest.Say("more"))
	o := Options{Model: endpoint("x/y", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: lib.Create(Info{})}
	s := New(o)
	play(t.Context(), s, nil, say("read it"))
	said := []llm.Message{llm.UserText("why?"), {Role: llm.RoleAssistant, Model: "x/z", Parts: []llm.Part{{Kind: llm.Text, Text: "because"}}}}
	for at, parent := range map[int]int{1: 1, 2: 3, 4: 4} {
		if err := keepAside(s, at, said); err != nil {
			t.Fatal(err)
		}
		nodes := s.Nodes()
		question, answer := nodes[len(nodes)-2], nodes[len(nodes)-1]
		if question.Parent != parent || answer.Parent != question.Seq || answer.Text() != "because" || s.Head() != 4 {
			t.Errorf("asked at %d: after %d and %d, and the conversation ends at %d", at, question.Parent, answer.Parent, s.Head())
		}
	}
	if err := keepAside(s, 99, said); err == nil {
		t.Error("kept after a message that does not exist")
	}
	if info, _, err := lib.Read(s.ID()); err != nil || info.Preview != "read it" {
		t.Errorf("listed as %q, %v", info.Preview, err)
	}
	if s = reopen(t, lib, s, o); s.Head() != 4 || len(s.Nodes()) != 10 {
		t.Errorf("opened again it ends at %d of %d messages", s.Head(), len(s.Nodes()))
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Branch.Switch(6); err != nil {
		t.Fatal(err)
	}
	play(t.Context(), s, nil, say("and?"))
	if err := valid(fake.Requests()[2].Messages); err != nil {
		t.Error(err)
	}
}

// While an aside that is kept cannot be written as a whole, the stored conversation stays as it was.
func TestKeepAsideAtOnce(t *testing.T) {
	lib, path := newTestStore(t)
	o := Options{Model: endpoint("x/y", llmtest.New(llmtest.Say("hello"))), Log: lib.Create(Info{})}
	s := New(o)
	play(t.Context(), s, nil, say("hi"))
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TRIGGER full BEFORE INSERT ON nodes WHEN NEW.seq = 4 BEGIN SELECT RAISE(ABORT, 'full'); END`); err != nil {
		t.Fatal(err)
	}
	if err := keepAside(s, 2, []llm.Message{llm.UserText("why?"), {Role: llm.RoleAssistant, Parts: []llm.Part{say("because")}}}); err != nil {
		t.Fatal(err)
	}
	if info, nodes, err := lib.Read(s.ID()); err != nil || info.Head != 2 || len(nodes) != 2 {
		t.Errorf("stored are %d messages and the end %d, %v", len(nodes), info.Head, err)
	}
	if _, err := db.Exec(`DROP TRIGGER full`); err != nil {
		t.Fatal(err)
	}
	if s = reopen(t, lib, s, o); s.Head() != 2 || len(s.Nodes()) != 4 {
		t.Errorf("opened again it ends at %d of %d messages", s.Head(), len(s.Nodes()))
	}
	s.Close()
}

// Closing the session ends its asides, whose usage is in the ledger.
func TestCloseEndsAsides(t *testing.T) {
	lib, _ := newTestStore(t)
	fake := llmtest.New(llmtest.Say("hello"))
	s := New(Options{Model: endpoint("x/y", fake), Log: lib.Create(Info{})})
	play(t.Context(), s, nil, say("hi"))
	asking, ended := make(chan bool), make(chan error)
	go func() {
		_, err := s.Beside.Ask(t.Context(), Aside{
			Model: endpoint("x/y", llmtest.New(llmtest.Hang("I begin"))), Purpose: store.PurposeAside, Messages: []llm.Message{llm.UserText("why?")},
			Show: func(e llm.Event) {
				if _, ok := e.(llm.Delta); ok {
					close(asking)
				}
			},
		})
		ended <- err
	}()
	<-asking
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	late := llmtest.New(llmtest.Say("too late"))
	if _, err := s.Beside.Ask(t.Context(), Aside{Model: endpoint("x/y", late), Purpose: store.PurposeAside, Messages: []llm.Message{llm.UserText("and?")}}); !errors.Is(err, context.Canceled) || len(late.Requests()) > 0 {
		t.Errorf("asked after Close: %v, %d requests", err, len(late.Requests()))
	}
	if sums, err := lib.Ledger().Sums(time.Time{}, time.Time{}, "purpose"); err != nil || len(sums) != 2 {
		t.Errorf("in the ledger: %+v, %v", sums, err)
	}
}
