package candidates

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	_ "parley/session/storetest/copies"
	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/uitest/apptest"
)

// The figures of an answer identify its model: they are hidden as long as the names.
func TestBlindAnswersSayNothingOfTheirFigures(t *testing.T) {
	answer := func(n int) session.CandidateEvent {
		usage := llm.Usage{Input: 10, Output: 1234, Cost: 0.5, Priced: true}
		return session.CandidateEvent{N: n, Done: true, Event: session.Response{Seq: 1, Usage: usage, UsageKnown: true, Duration: 7 * time.Second}}
	}
	for _, blind := range []bool{true, false} {
		c := New(&Prompt{Names: []string{"a/1", "b/2"}, Blind: blind})
		c.Apply(answer(0))
		const figures = "done · 1.2k out · $0.5000 · 7.0 s"
		want := figures
		if blind {
			want = "done"
		}
		if c[0].State != want {
			t.Errorf("blind %v: %q, want %q", blind, c[0].State, want)
		}
		said := c.Reveal(&app.App{})
		if c[0].State != figures || c[1].State != waiting || blind != strings.Contains(said, "A was a/1") {
			t.Errorf("blind %v: afterwards %q and %q, said %q", blind, c[0].State, c[1].State, said)
		}
	}
}

// A candidate follows its events; one that was not asked when the comparison ended is skipped.
func TestCandidates(t *testing.T) {
	c := New(&Prompt{Names: []string{"a/1", "b/2"}})
	if c.Apply(session.CandidateEvent{N: -1}) != nil || c.Apply(session.CandidateEvent{N: 2}) != nil {
		t.Error("a candidate that there is none of is changed")
	}
	response := session.Response{Duration: 7 * time.Second, UsageKnown: true, Usage: llm.Usage{Output: 3}}
	for _, tt := range []struct {
		event session.CandidateEvent
		state string
		done  bool
	}{
		{session.CandidateEvent{Event: session.Step{Model: "a/1"}}, waiting, false},
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
	if c.MarkDone(); c[0].State != "done · 6 out · 7.0 s" || c[1].State != notAsked || c.AllAsked() {
		t.Errorf("at the end: %q and %q", c[0].State, c[1].State)
	}
}

// While names are hidden, nothing identifies the model of an answer: no labels, states, prices or errors. The choice
// reveals the names and is stored.
func TestBlind(t *testing.T) {
	a := apptest.New(t, func(*app.App) {})
	models := []llm.Endpoint{}
	p := &Prompt{Names: []string{"dear/one", "cheap/two", "lost/three"}, Blind: true}
	for i, name := range p.Names {
		model := llm.Endpoint{Name: name, Origin: name, Model: llmtest.New(llmtest.Script(
			llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "an answer"}}, llm.Usage{Input: 1, Output: 1, Cost: 0.77, Priced: true}, llm.Finish{Reason: llm.Stop}))}
		if i == 2 {
			model.Model = llmtest.New(llmtest.Fail(&llm.Error{Fault: llm.Quota, Provider: "lost", Message: "buy more at lost.example"}))
		}
		models = append(models, model)
	}
	p.Models = models
	a.Unnamed = true
	a.Models.Follow = func(name string) app.Effect {
		a.Session.SetModel(llm.Endpoint{Name: name})
		return nil
	}
	list := New(p)
	for e := range p.Ask(t.Context(), a.Session, []llm.Part{{Kind: llm.Text, Text: "which?"}}) {
		if c, ok := e.(session.CandidateEvent); ok {
			list.Apply(c)
		}
	}
	for i, c := range list {
		said := c.Label + " " + c.State + " " + c.Outcome()
		if err := c.Failure(); err != nil {
			said += " " + wording.Error(err) + wording.Hint(err)
		}
		if c.Label != session.CandidateLetter(i) || strings.Contains(said, "/") || strings.Contains(said, "$") || strings.Contains(said, "lost") {
			t.Errorf("answer %d tells %q", i, said)
		}
	}
	e := list.Choose(a, 1)
	if want := "Continuing with cheap/two · A was dear/one, B was cheap/two, C was lost/three"; apptest.See(e).Toast != want {
		t.Errorf("%q, want %q", apptest.See(e).Toast, want)
	}
	if a.Unnamed || a.Session.Model().Name != "cheap/two" || list[0].Label != "dear/one" {
		t.Errorf("the names stay hidden: %+v", list[0])
	}
	apptest.See(e).Async(t.Context())
	kept, err := a.Library.Comparisons().List(time.Time{}, time.Time{})
	if err != nil || len(kept) != 1 || kept[0].Winner != "cheap/two" || !slices.Equal(kept[0].Losers, []string{"dear/one"}) || !kept[0].Blind {
		t.Errorf("kept %+v, %v", kept, err)
	}
}

// An answer to a comparison that is left stays, with the model that was used before.
func TestLeaveComparison(t *testing.T) {
	for name, c := range map[string]struct {
		blind    bool
		answered bool
		want     string
	}{
		"named": {false, true, "Kept the answer of a/1 · other answers: /tree"}, "blind": {true, true, "Kept the answer of a/1 · A was a/1, B was b/2"},
		"none": {true, false, "A was a/1, B was b/2"},
	} {
		a := apptest.New(t, func(*app.App) {})
		a.Session.SetModel(llm.Endpoint{Name: "fake/m"})
		p := &Prompt{Names: []string{"a/1", "b/2"}, Blind: c.blind}
		for _, name := range p.Names {
			p.Models = append(p.Models, llm.Endpoint{Name: name, Origin: name, Model: llmtest.New(llmtest.Say("yes"))})
		}
		list := New(p)
		for e := range p.Ask(t.Context(), a.Session, []llm.Part{{Kind: llm.Text, Text: "which?"}}) {
			if e, ok := e.(session.CandidateEvent); ok && c.answered {
				list.Apply(e)
			}
		}
		if c.answered {
			if err := a.Session.Branch.Switch(list[0].Answer.Seq); err != nil {
				t.Fatal(err)
			}
		}
		if e := list.Leave(a); apptest.See(e).Toast != c.want || apptest.See(e).SessionOpened == nil {
			t.Errorf("%s: %q, want %q", name, apptest.See(e).Toast, c.want)
		}
	}
}

// With a judge, answers have letters; equal models are numbered.
func TestCompareLabels(t *testing.T) {
	p := &Prompt{Names: []string{"a/1", "b/2", "a/1"}}
	if got, want := strings.Join(p.Labels(), ", "), "a/1 (1 of 2), b/2, a/1 (2 of 2)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p.Judge = &llm.Endpoint{}
	if got, want := strings.Join(p.Labels(), ", "), "A · a/1 (1 of 2), B · b/2, C · a/1 (2 of 2)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c := New(p)
	if got := c.RecordVerdict(session.Verdict{Winner: 1, Judge: "j", Reason: "r"}); got != "Judge j: B · r" || c[0].verdict == nil {
		t.Errorf("said %q", got)
	}
	c.Apply(session.CandidateEvent{N: 2, Event: llm.Retry{Attempt: 1, Fault: llm.Network}})
	if got, want := c[2].State, "Network error · retrying (attempt 1)"; got != want {
		t.Errorf("the state is %q, want %q", got, want)
	}
}
