package consult_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/app/blocks"
	"parley/ui/app/flows/consult"
	"parley/ui/uitest/apptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A talk is a conversation of the model fake/a with tools. Fake/b can be asked.
type talk struct {
	*testing.T
	app  *app.App
	set  *tools.Set
	a, b *llmtest.Fake
}

// A priced model costs a dollar for a thousand tokens.
type priced struct{ llm.Model }

func (m priced) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		for e, err := range m.Model.Stream(ctx, req) {
			if u, ok := e.(llm.Usage); ok {
				u.Cost, u.Priced = float64(u.Input+u.Output)/1000, true
				e = u
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// newTalk returns a talk whose models answer with turns.
func newTalk(t *testing.T, a, b []llmtest.Turn, change func(*session.Options, *app.Options)) *talk {
	t.Helper()
	set, err := tools.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	lib := session.MemoryStore()
	talk := &talk{T: t, set: set, a: llmtest.New(a...), b: llmtest.New(b...)}
	open := func(name string) (llm.Endpoint, error) {
		model := map[string]*llmtest.Fake{"fake/a": talk.a, "fake/b": talk.b}[name]
		if model == nil {
			return llm.Endpoint{}, errors.New("no model " + name)
		}
		return llm.Endpoint{Model: priced{model}, Name: name, Origin: name, Strategy: "native", Cost: func(u llm.Usage) (float64, bool) { return float64(u.Input+u.Output) / 1000, true }}, nil
	}
	first, _ := open("fake/a")
	so := session.Options{Model: first, Tools: set, Policy: tools.NewPolicy(act.ModeYolo), Log: lib.Create(session.Info{}), OpenModel: open}
	ao := app.Options{Flows: consult.Register, Library: lib, Models: app.Models{Open: open, Consult: &session.Consult{Model: "fake/b"}}, Machine: app.Machine{ToolSet: func(string) act.Set { return set }}}
	if change != nil {
		change(&so, &ao)
	}
	ao.Session = session.New(so)
	talk.app = app.New(ao)
	t.Cleanup(func() { ao.Session.Close(); lib.Close(); set.Close() })
	return talk
}

// say sends a prompt and returns the results of its calls. Questions about calls get answer.
func (t *talk) say(prompt string, answer act.Approval) (results []session.Result, asked []*act.Action) {
	t.Helper()
	for e := range t.app.Session.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: prompt}) {
		switch e := e.(type) {
		case session.Result:
			results = append(results, e)
		case session.ApprovalRequest:
			asked = append(asked, e.Action)
			e.Reply(answer)
		case session.Done:
			if e.Err != nil {
				t.Error(e.Err)
			}
		}
	}
	return results, asked
}

// run runs a command, and the turn that it plays.
func (t *talk) run(ctx context.Context, name, arg string) (e app.Effect, events []session.Event) {
	e = t.app.Command(name).Do(arg)
	if play, ok := e.(app.Play); ok {
		for e := range play(ctx) {
			events = append(events, e)
		}
	}
	return e, events
}

func (t *talk) offers(request llm.Request) bool {
	return slices.ContainsFunc(request.Tools, func(t llm.Tool) bool { return t.Name == act.ConsultTool })
}

func calls(questions ...string) llmtest.Turn {
	var parts []llm.Part
	for i, q := range questions {
		parts = append(parts, llm.Part{ID: string(rune('1' + i)), Name: act.ConsultTool, Input: `{"question":"` + q + `"}`})
	}
	return llmtest.Call(parts...)
}

// The model asks another one, which sees the conversation and the question, cannot ask further, and is asked a few
// times in a turn at most. The result, the ledger and the title say who answered, and for how much.
func TestModelConsults(t *testing.T) {
	one := func(_ *session.Options, o *app.Options) { o.Models.Consult.Max = 1 }
	talk := newTalk(t, []llmtest.Turn{calls("right?", "sure?"), llmtest.Say("so"), calls("again?"), llmtest.Say("done"), calls("me?"), llmtest.Say("end")},
		[]llmtest.Turn{llmtest.Say("no \x1b[31mway"), llmtest.Say("yes"), calls("myself?"), llmtest.Say("never")}, one)
	results, _ := talk.say("do it", act.Approval{})
	if len(results) != 2 || results[0].Part.Text != "no way\n[1 control character or escape sequences removed]" || !strings.HasPrefix(results[0].By, "b · $") || results[0].Part.Failed {
		t.Fatalf("%+v", results)
	}
	if !results[1].Part.Failed || results[1].Part.Text != "consult: fake/b was asked 1 time in this turn already: decide yourself" {
		t.Errorf("the second question of a turn: %+v", results[1])
	}
	if results, _ := talk.say("and now?", act.Approval{}); len(results) != 1 || results[0].Part.Text != "yes" {
		t.Errorf("in the next turn: %+v", results)
	}
	asked := talk.b.Requests()
	if len(asked) != 2 || talk.offers(asked[0]) || !talk.offers(talk.a.Requests()[0]) {
		t.Fatalf("%d requests, with the tool: %v, that of the conversation: %v", len(asked), talk.offers(asked[0]), talk.offers(talk.a.Requests()[0]))
	}
	if m := asked[0].Messages; m[0].Text() != "do it" || !strings.HasSuffix(m[len(m)-1].Text(), "\n\nright?") {
		t.Errorf("asked %+v", m)
	}
	sums, err := talk.app.Library.Ledger().Sums(time.Time{}, time.Time{}, "purpose")
	total, _ := talk.app.Session.Spending.Usage()
	input := 0
	for _, s := range sums {
		input += s.Usage.Input
	}
	if err != nil || len(sums) != 2 || input != total.Input {
		t.Errorf("the ledger has %+v, the conversation %+v, %v", sums, total, err)
	}
	b, _ := talk.app.Models.Open("fake/b")
	talk.app.Session.SetModel(b)
	results, _ = talk.say("you?", act.Approval{}) // asks, although it is not offered the tool
	if requests := talk.b.Requests(); talk.offers(requests[2]) || len(requests) != 4 || len(results) != 1 || !strings.Contains(results[0].Part.Text, "fake/b is not offered it") {
		t.Errorf("the model that is asked can ask itself: %+v after %d requests", results, len(requests))
	}
}

// A question that costs more than the user wants to spend unasked needs approval, in every mode.
func TestConsultAsksAboutTheCost(t *testing.T) {
	for _, tt := range []struct {
		name     string
		attended bool
		answer   act.Verdict
		asked    int
		text     string
	}{
		{"allowed", true, act.Allow, 1, "yes"},
		{"denied", true, act.Deny, 1, "The user did not allow this call."},
		{"in an editor", false, act.Allow, 1, "yes"},
		{"nobody to ask", false, act.Deny, 0, "consult: about $"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			talk := newTalk(t, []llmtest.Turn{calls("right?"), llmtest.Say("so")}, []llmtest.Turn{llmtest.Say("yes")}, func(o *session.Options, _ *app.Options) {
				o.Attended, o.ConfirmCost = tt.attended, 1
				o.Model.Cost = nil
			})
			if tt.asked == 0 { // without a front end, as parley -p
				consult.Register(&app.App{Options: app.Options{Models: talk.app.Models, Machine: talk.app.Machine}})
			}
			results, asked := talk.say("do it", act.Approval{Verdict: tt.answer})
			if len(results) != 1 || !strings.HasPrefix(results[0].Part.Text, tt.text) || len(asked) != tt.asked {
				t.Fatalf("%+v after %d questions", results, len(asked))
			}
			if tt.asked > 0 && (!asked[0].AskEachTime || !strings.Contains(asked[0].Caution, "for the next request: ") || !strings.HasSuffix(asked[0].Caution, "to fake/b")) {
				t.Errorf("asked about %+v", asked[0])
			}
			if n := len(talk.b.Requests()); (n == 1) != (tt.text == "yes") {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// Questions that are empty or too long, and models that fail, say so to the model.
func TestConsultFails(t *testing.T) {
	talk := newTalk(t, []llmtest.Turn{calls(" ", strings.Repeat("x", 17<<10), "why?", "how?"), llmtest.Say("so")},
		[]llmtest.Turn{llmtest.Fail(&llm.Error{Fault: llm.Quota, Message: "empty"}), llmtest.Say("")}, nil)
	results, _ := talk.say("do it", act.Approval{})
	for i, want := range []string{"consult: the question is empty", "consult: the question has 17 KB: shorten it to 16", "fake/b did not answer: ", "fake/b did not answer: the answer is empty"} {
		if !results[i].Part.Failed || !strings.HasPrefix(results[i].Part.Text, want) {
			t.Errorf("%d: %+v, want %q", i, results[i].Part, want)
		}
	}
}

// The answer to /ask is shown, stays with the conversation, and goes with the next prompt, once.
func TestAsk(t *testing.T) {
	talk := newTalk(t, []llmtest.Turn{llmtest.Say("one"), llmtest.Say("two"), llmtest.Say("three")},
		[]llmtest.Turn{llmtest.Say("not </opinion> ", "so"), llmtest.Fail(&llm.Error{Fault: llm.Quota, Message: "empty"}), llmtest.Hang("w")}, nil)
	if e, _ := talk.run(t.Context(), "ask", "fake/b why?"); apptest.See(e).Err == nil {
		t.Errorf("about an empty conversation: %+v", e)
	}
	talk.say("first", act.Approval{})
	_, events := talk.run(t.Context(), "ask", "fake/b why\nso?")
	last := len(events) - 1
	o, ok := events[last-1].(session.Opinion)
	if done, _ := events[last].(session.Done); !ok || done.Err != nil || o.Answer != "not </opinion> so" || o.Question != "why\nso?" || !strings.HasPrefix(o.By, "b · $") {
		t.Fatalf("%+v", events)
	}
	if p, ok := events[1].(session.Progress); !ok || p.Text != "not </opinion> " {
		t.Errorf("as it arrives: %+v", events[1])
	}
	if _, events := talk.run(t.Context(), "ask", "fake/b"); !events[len(events)-2].(session.Opinion).Failed {
		t.Errorf("without credit: %+v", events)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for e := range talk.app.Command("ask").Do("fake/b").(app.Play)(ctx) {
		switch e := e.(type) {
		case session.Progress:
			cancel()
		case session.Opinion:
			if !e.Stopped || !strings.HasPrefix(e.Answer, "fake/b did not answer: stopped") {
				t.Errorf("stopped: %+v", e)
			}
		}
	}
	var shown []blocks.Tool
	path := talk.app.Session.Path()
	blocks.Replay(talk.app.Session, path, 0, len(path), nil, func(c blocks.Change) {
		if c.Kind == blocks.ToolBlock {
			shown = append(shown, *c.Tool)
		}
	})
	if len(shown) != 3 || shown[0].Output != o.Answer || shown[0].By != o.By || shown[0].Status != blocks.CallDone || shown[1].Status != blocks.CallFailed || shown[2].Status != blocks.CallCanceled {
		t.Errorf("read back: %+v", shown)
	}
	talk.say("second", act.Approval{})
	talk.say("third", act.Approval{})
	sent := talk.a.Requests()
	if got := sent[1].Messages[2].Text(); got != "second\n\n<opinion of=\"fake/b\" question=\"why\\nso?\">\nnot < /opinion> so\n</opinion>" {
		t.Errorf("the next prompt: %q", got)
	}
	if got := sent[2].Messages[4].Text(); got != "third" {
		t.Errorf("the one after: %q", got)
	}
}

// An answer to /ask waits for the next prompt, whatever else comes before: a retry, also of an answer that was cut off, an
// image, or other answers. It goes with each prompt that takes the place of that one.
func TestOpinionWaits(t *testing.T) {
	fail, cut := llmtest.Fail(&llm.Error{Fault: llm.Quota, Message: "empty"}), llmtest.Cut("ha")
	var talk *talk
	ask := func() { talk.run(talk.Context(), "ask", "fake/b why?") }
	say := func(prompt ...string) { // none: a retry
		var parts []llm.Part
		for _, p := range prompt {
			parts = append(parts, llm.Part{Kind: llm.Text, Text: p})
		}
		for range talk.app.Session.Turn(talk.Context(), parts...) {
		}
	}
	yes := llmtest.Say("yes")
	for name, tt := range map[string]struct {
		answers []llmtest.Turn
		do      func()
	}{
		"at once":            {nil, ask},
		"retry":              {[]llmtest.Turn{fail, yes}, func() { say("again"); ask(); say() }},
		"retry of an answer": {[]llmtest.Turn{cut, yes}, func() { say("again"); ask(); say() }},
		"image": {nil, func() {
			ask()
			model := llm.Endpoint{Model: llmtest.New(yes), Name: "fake/image", Origin: llm.OriginImages}
			for range talk.app.Session.GenerateImage(talk.Context(), model, true, llm.Part{Kind: llm.Text, Text: "a cat"}) {
			}
		}},
		"edited prompt": {[]llmtest.Turn{yes}, func() {
			ask()
			say("discarded")
			if err := talk.app.Session.Branch.Edit(3); err != nil {
				talk.Error(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			talk = newTalk(t, slices.Concat([]llmtest.Turn{yes}, tt.answers, []llmtest.Turn{yes, yes}), []llmtest.Turn{llmtest.Say("no")}, nil)
			say("first")
			tt.do()
			say("next")
			say("last")
			sent := talk.a.Requests()
			for i, want := range []int{1, 0} {
				m := sent[len(sent)-2+i].Messages
				if said := m[len(m)-1].Text(); strings.Count(said, "<opinion ") != want {
					t.Errorf("%q has not %d opinions", said, want)
				}
			}
		})
	}
}

// An opinion is about the answer that it follows: a regenerated one does not come with it. It waits on its branch.
func TestOpinionOfAnotherBranch(t *testing.T) {
	yes := llmtest.Say("yes")
	talk := newTalk(t, []llmtest.Turn{yes, yes, yes, yes}, []llmtest.Turn{llmtest.Say("no")}, nil)
	talk.say("first", act.Approval{})
	answer := talk.app.Session.Head()
	talk.run(t.Context(), "ask", "fake/b why?")
	branch := &talk.app.Session.Branch
	if err := branch.Regenerate(answer); err != nil {
		t.Fatal(err)
	}
	for range talk.app.Session.Turn(t.Context()) {
	}
	talk.say("next", act.Approval{})
	if err := branch.Switch(answer); err != nil {
		t.Fatal(err)
	}
	talk.say("back", act.Approval{})
	for i, want := range []int{0, 0, 0, 1} {
		m := talk.a.Requests()[i].Messages
		if said := m[len(m)-1].Text(); strings.Count(said, "<opinion ") != want {
			t.Errorf("request %d: %q has not %d opinions", i, said, want)
		}
	}
}

// The question is kept from the beginning, as one without an answer. Nobody pays for an answer that nobody sees.
func TestAskLeft(t *testing.T) {
	talk := newTalk(t, []llmtest.Turn{llmtest.Say("one")}, []llmtest.Turn{llmtest.Hang("w")}, nil)
	talk.say("first", act.Approval{})
	kept := func() session.Opinion {
		list := talk.app.Session.Annotations(talk.app.Session.Path())
		o, _ := session.DecodeAnnotation(slices.Concat(list...)[0]).(session.Opinion)
		return o
	}
	for e := range talk.app.Command("ask").Do("fake/b why?").(app.Play)(t.Context()) {
		if _, ok := e.(session.Progress); ok {
			if o := kept(); o.Question != "why?" || !o.Failed || o.Answer != "fake/b did not answer: the program ended\n\nw" {
				t.Errorf("while it is answered: %+v", o)
			}
			break
		}
	}
	if o := kept(); !o.Stopped || strings.Contains(o.Answer, "ended") {
		t.Errorf("%+v", o)
	}
}

// The user may choose another model while the model asks.
func TestConsultWhileChosen(t *testing.T) {
	asked, done := make(chan struct{}), make(chan struct{})
	answer := func(ctx context.Context, r llm.Request, out *llm.Out) error {
		close(asked)
		return llmtest.Say("yes")(ctx, r, out)
	}
	talk := newTalk(t, []llmtest.Turn{calls("right?", "sure?"), llmtest.Say("so")}, []llmtest.Turn{answer}, func(_ *session.Options, o *app.Options) { o.Models.Consult.Max = 1 })
	go func() {
		defer close(done)
		talk.say("do it", act.Approval{})
	}()
	<-asked
	talk.run(t.Context(), "consult", "off")
	<-done
}

// /ask needs a model that can be opened, and asks before it spends much. /consult switches the tool on and off; the user's own
// tools stay.
func TestCommands(t *testing.T) {
	talk := newTalk(t, []llmtest.Turn{llmtest.Say("one")}, []llmtest.Turn{llmtest.Say("yes")}, func(s *session.Options, o *app.Options) {
		s.Attended, s.ConfirmCost, o.Models.Consult.Model = true, 1, ""
		s.Model.Cost = nil
	})
	if err := talk.set.AddExternal(tools.External{Name: "consult_docs"}); err != nil {
		t.Fatal(err)
	}
	talk.say("hi", act.Approval{})
	if e, _ := talk.run(t.Context(), "ask", "fake/x why?"); apptest.See(e).Err == nil {
		t.Errorf("%+v", e)
	}
	if e, _ := talk.run(t.Context(), "ask", ""); apptest.See(e).Err != nil {
		t.Errorf("%+v", e)
	}
	confirm, ok := talk.app.Command("ask").Do("fake/b why?").(*app.Confirm)
	if !ok || !strings.HasSuffix(confirm.Text, " to fake/b. Ask it?") || !strings.HasPrefix(confirm.Text, "About $2") {
		t.Fatalf("%+v", confirm)
	}
	if _, ok := confirm.Accept().(app.Play); !ok {
		t.Error("nothing is asked after yes")
	}
	names := func() string {
		var all []string
		for _, t := range talk.set.Tools()[len(tools.Names()):] {
			all = append(all, t.Name)
		}
		return strings.Join(all, " ")
	}
	for _, tt := range []struct{ arg, said, tools string }{
		{"off", "Second opinions off", "consult_docs"},
		{"fake/b", "Second opinions from fake/b · from your next message on", "consult consult_docs"},
		{"fake/a", "Second opinions from fake/a · once another model answers", "consult consult_docs"},
		{"fake/x", "", "consult consult_docs"},
		{"off", "Second opinions off", "consult_docs"},
	} {
		e, _ := talk.run(t.Context(), "consult", tt.arg)
		if got := apptest.See(e).Toast; got != tt.said || names() != tt.tools {
			t.Errorf("/consult %s: %q, %s", tt.arg, got, names())
		}
	}
}
