package app

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	_ "parley/session/storetest/copies"
	"parley/tools/act"
)

// A new conversation keeps mode, model and effort, and calls BeforeSwitch first.
func TestNewConversation(t *testing.T) {
	a := newApp(t)
	left := ""
	a.BeforeSwitch = func() { left = a.Session.ID() }
	a.Session.Policy().SetMode(act.ModeAuto)
	a.Session.SetEffort(llm.EffortLow)
	old := a.Session
	e := run(t, a, "/new")
	if see(e).SessionOpened == nil || see(e).SessionOpened.Previous != old || a.Session == old || left != old.ID() {
		t.Fatalf("%+v", e)
	}
	if s := a.Session; s.Policy().Mode() != act.ModeAuto || s.Effort() != llm.EffortLow {
		t.Errorf("mode %s, effort %s", s.Policy().Mode(), s.Effort())
	}
	a.Session.Policy().SetMode(act.ModeEdits)
	if run(t, a, "/new"); a.Session.Policy().Mode() != act.ModeAsk {
		t.Errorf("the approval of all edits stays for another conversation: mode %s", a.Session.Policy().Mode())
	}
}

// A stored conversation is not opened if a prompt was sent while it was read.
func TestOpenedTooLate(t *testing.T) {
	a := newApp(t)
	own, busy := a.Session, false
	a.Busy = func() bool { return busy }
	read := see(a.OpenSession("another", 0)).Prepare(context.Background())
	busy = true
	if e := read(); see(e).SessionOpened != nil || a.Session != own || see(e).Toast == "" {
		t.Errorf("%+v", e)
	}
}

// A conversation that was just left is opened again only after it is closed, so that parley does not find it locked.
func TestBackAtOnce(t *testing.T) {
	a := newApp(t)
	left := see(run(t, a, "/new")).SessionOpened
	if left == nil {
		t.Fatal("no conversation was left")
	}
	resumed := make(chan struct{})
	resume := a.Resume
	a.Resume = func(id string) (*session.Session, string, error) {
		close(resumed)
		return resume(id)
	}
	opened := make(chan func() Effect)
	prepare := see(a.OpenSession("another", 0)).Prepare
	go func() { opened <- prepare(context.Background()) }()
	select {
	case <-resumed:
		t.Error("opened before the one that was left is closed")
	default:
	}
	left.Close()
	if e := (<-opened)(); see(e).SessionOpened == nil {
		t.Errorf("%+v", e)
	}
}

// A model that cannot be opened turns comparing off, and the next prompt goes to one model.
func TestCompareOutOfReach(t *testing.T) {
	a := newApp(t)
	if e := run(t, a, "/compare far/away"); see(e).Err == nil || len(a.Compared) > 0 {
		t.Errorf("%+v; compared %q", e, a.Compared)
	}
	a.Compared = []string{"fake/m", "far/away"}
	if p, err := OpenCompared(a); err == nil || p != nil || len(a.Compared) > 0 {
		t.Errorf("%v, %v; compared %q", p, err, a.Compared)
	}
	if e := run(t, a, "/compare"); see(e).View.Panel != PanelCompare {
		t.Errorf("%+v", e)
	}
}

// /compare describes the comparison and rejects invalid options.
func TestCompareHow(t *testing.T) {
	a := newApp(t)
	for line, want := range map[string]string{
		"/compare a/1 a/2 a/3 a/4 a/5":  "5 models are too many to compare: use at most 4",
		"/compare --blnd a/1":           "unknown option --blnd: use --blind or --judge MODEL",
		"/compare a/1 --judge":          "--judge needs a model",
		"/compare a/1 --judge far/away": "set FAR_API_KEY",
	} {
		if e := run(t, a, line); see(e).Err == nil || see(e).Err.Error() != want || len(a.Compared) > 0 {
			t.Errorf("%s: %v, want %s", line, see(e).Err, want)
		}
	}
	if e := run(t, a, "/compare --blind --judge a/j"); see(e).View.Panel != PanelCompare || see(e).View.Query != "--blind --judge a/j" {
		t.Errorf("%+v", see(e).View)
	}
	e := run(t, a, "/compare --blind a/1 --judge=a/j")
	if want := "Next prompt goes to fake/m and a/1 · names hidden · judged by a/j · /compare turns it off"; see(e).Toast != want {
		t.Errorf("%q, want %q", see(e).Toast, want)
	}
	p, err := OpenCompared(a)
	if err != nil || !p.Blind || p.Judge == nil || p.Judge.Name != "a/j" || len(p.Models) != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	for i, name := range p.Names { // in any order
		if p.Models[i].Name != name {
			t.Errorf("%s is asked in the place of %s", p.Models[i].Name, name)
		}
	}
	if again, err := OpenCompared(a); again != nil || err != nil {
		t.Errorf("the next prompt goes to %+v", again)
	}
}

// While names are hidden, nothing identifies the model of an answer: no labels, states, prices or errors. The choice
// reveals the names and is stored.
func TestBlind(t *testing.T) {
	a := newApp(t)
	models := []llm.Endpoint{}
	p := &ComparedPrompt{Names: []string{"dear/one", "cheap/two", "lost/three"}, Blind: true}
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
	a.FollowModel = func(name string) Effect {
		a.Session.SetModel(llm.Endpoint{Name: name})
		return nil
	}
	list := NewComparison(p)
	for e := range p.Ask(t.Context(), a.Session, []llm.Part{{Kind: llm.Text, Text: "which?"}}) {
		if c, ok := e.(session.CandidateEvent); ok {
			list.Apply(c)
		}
	}
	for i, c := range list {
		said := c.Label + " " + c.State + " " + c.Outcome()
		if err := c.Failure(); err != nil {
			said += " " + ErrorText(err) + Hint(err)
		}
		if c.Label != session.CandidateLetter(i) || strings.Contains(said, "/") || strings.Contains(said, "$") || strings.Contains(said, "lost") {
			t.Errorf("answer %d tells %q", i, said)
		}
	}
	e := list.Choose(a, 1)
	if want := "Continuing with cheap/two · A was dear/one, B was cheap/two, C was lost/three"; see(e).Toast != want {
		t.Errorf("%q, want %q", see(e).Toast, want)
	}
	if a.Unnamed || a.Session.Model().Name != "cheap/two" || list[0].Label != "dear/one" {
		t.Errorf("the names stay hidden: %+v", list[0])
	}
	see(e).Async(t.Context())
	kept, err := a.Library.Comparisons().List(time.Time{}, time.Time{})
	if err != nil || len(kept) != 1 || kept[0].Winner != "cheap/two" || !slices.Equal(kept[0].Losers, []string{"dear/one"}) || !kept[0].Blind {
		t.Errorf("kept %+v, %v", kept, err)
	}
}
