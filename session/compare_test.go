package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
)

// candidateTexts returns what each of n models said, as it ended: "text", "text!" if it broke
// off.
func candidateTexts(events []Event, n int) []string {
	out := make([]string, n)
	for _, e := range events {
		l, ok := e.(CandidateEvent)
		if !ok {
			continue
		}
		if a, ok := l.Event.(Response); ok {
			out[l.N] = a.Message.Text()
			if l.Err != nil {
				out[l.N] += "!"
			}
		}
	}
	return out
}

// TestCompare asks several models at once. Each answer is a branch, whatever
// becomes of the others, and what follows is valid for every provider.
func TestCompare(t *testing.T) {
	down := &llm.Error{Fault: llm.Server, Message: "down"}
	tests := []struct {
		name     string
		turns    []llmtest.Turn
		lanes    []string
		path     []string
		branches []string
		err      string
	}{
		{"all answer", []llmtest.Turn{llmtest.Say("a"), llmtest.Say("b"), llmtest.Say("c")},
			[]string{"a", "b", "c"}, []string{"which?", "a"}, []string{"*which?", " *a", " b", " c"}, ""},
		{"the first fails", []llmtest.Turn{llmtest.Fail(down), llmtest.Say("b")},
			[]string{"!", "b"}, []string{"which?", "b"}, []string{"*which?"}, ""},
		{"the first breaks off", []llmtest.Turn{llmtest.Cut("ha", "lf"), llmtest.Say("b")},
			[]string{"half!", "b"}, []string{"which?", "b"}, []string{"*which?", " half", " *b"}, ""},
		{"all break off", []llmtest.Turn{llmtest.Cut("half"), llmtest.Cut("less")},
			[]string{"half!", "less!"}, []string{"which?", "half"}, []string{"*which?", " *half", " less"}, "m/0: "},
		{"nobody answers", []llmtest.Turn{llmtest.Fail(down), llmtest.Fail(down)},
			[]string{"!", "!"}, []string{"which?"}, []string{"*which?"}, "down"},
		{"a call is answered at once", []llmtest.Turn{llmtest.Call(call("1", "read", "{}")), llmtest.Say("b")},
			[]string{"", "b"}, []string{"which?", "", ""}, []string{"*which?", " *", " b"}, ""},
	}
	for _, test := range tests {
		var models []llm.Endpoint
		var fakes []*llmtest.Fake
		for i, turn := range test.turns {
			fake := llmtest.New(turn, llmtest.Say("after"))
			fakes = append(fakes, fake)
			models = append(models, endpoint(fmt.Sprintf("m/%d", i), fake))
		}
		s := New(Options{Model: endpoint("own/model", llmtest.New(llmtest.Say("after")))})
		var events []Event
		for e := range s.Compare(t.Context(), models, say("which?")) {
			events = append(events, e)
		}
		if got := candidateTexts(events, len(models)); !slices.Equal(got, test.lanes) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.lanes)
		}
		if got := texts(s); !slices.Equal(got, test.path) {
			t.Errorf("%s: the conversation is %q, want %q", test.name, got, test.path)
		}
		var tree []string
		for _, b := range branches(s) {
			label, _, _ := strings.Cut(b, "+")
			tree = append(tree, label)
		}
		slices.Sort(tree[min(1, len(tree)):])
		want := slices.Clone(test.branches)
		slices.Sort(want[min(1, len(want)):])
		if len(want) > 1 && !slices.Equal(tree, want) {
			t.Errorf("%s: the branches are %q, want %q", test.name, tree, want)
		}
		got := ""
		if err := doneOf(t, events).Err; err != nil {
			got = err.Error()
		}
		if (got == "") != (test.err == "") || !strings.Contains(got, test.err) {
			t.Errorf("%s: error %q, want %q", test.name, got, test.err)
		}
		for i, fake := range fakes {
			for _, req := range fake.Requests() {
				if req.ToolChoice != "none" {
					t.Errorf("%s: model %d might call tools", test.name, i)
				}
			}
		}
		if s.Model().Name != "own/model" {
			t.Errorf("%s: the conversation is with %s now", test.name, s.Model().Name)
		}
		if err := valid(s.History()); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		for _, l := range s.Nodes() { // every branch can be gone on with
			if err := s.SwitchBranch(l.Seq); err != nil {
				t.Fatal(err)
			}
			if err := valid(s.History()); err != nil {
				t.Errorf("%s: message %d: %v", test.name, l.Seq, err)
			}
		}
	}
}

// A cancel ends every model, and what they said so far stays.
func TestCompareCanceled(t *testing.T) {
	models := []llm.Endpoint{endpoint("m/0", llmtest.New(llmtest.Hang("half"))), endpoint("m/1", llmtest.New(llmtest.Hang("less")))}
	s := New(Options{Model: models[0]})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := 0
	var events []Event
	for e := range s.Compare(ctx, models, say("which?")) {
		events = append(events, e)
		if l, ok := e.(CandidateEvent); ok {
			if _, ok := l.Event.(llm.Delta); ok {
				if said++; said == 2 {
					cancel()
				}
			}
		}
	}
	if got := candidateTexts(events, 2); !slices.Equal(got, []string{"half!", "less!"}) {
		t.Errorf("got %q", got)
	}
	if err := doneOf(t, events).Err; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the cancel", err)
	}
}

// Who stops listening leaves nothing running.
func TestCompareLeft(t *testing.T) {
	models := []llm.Endpoint{endpoint("m/0", llmtest.New(llmtest.Hang("half"))), endpoint("m/1", llmtest.New(llmtest.Say("whole")))}
	s := New(Options{Model: models[0]})
	for range s.Compare(t.Context(), models, say("which?")) {
		break
	}
	if _, err := s.Edit(1); err != nil {
		t.Errorf("the turn still runs: %v", err)
	}
}

func TestCompareTooFew(t *testing.T) {
	s := New(Options{Model: endpoint("m/0", llmtest.New())})
	for e := range s.Compare(t.Context(), []llm.Endpoint{s.Model()}, say("which?")) {
		if d, ok := e.(Done); !ok || d.Err == nil {
			t.Errorf("got %+v, want an error", e)
		}
	}
	if len(s.Path()) != 0 {
		t.Error("the prompt was kept")
	}
}

// What was compared is there again, every branch of it, and so is which one the
// conversation goes on with.
func TestCompareKept(t *testing.T) {
	lib, _ := newTestStore(t)
	models := []llm.Endpoint{
		endpoint("m/0", llmtest.New(llmtest.Fail(&llm.Error{Fault: llm.Server, Message: "down"}))),
		endpoint("m/1", llmtest.New(llmtest.Call(call("1", "read", "{}")))),
		endpoint("m/2", llmtest.New(llmtest.Say("whole"))),
	}
	o := Options{Model: endpoint("own/model", llmtest.New(llmtest.Say("before"))), Log: lib.Create(Info{Dir: "/work"})}
	s := New(o)
	play(t.Context(), s, nil, say("one"))
	for range s.Compare(t.Context(), models, say("which?")) {
	}
	if err := s.SwitchBranch(s.Nodes()[len(s.Nodes())-1].Seq); err != nil {
		t.Fatal(err)
	}
	before, path := branches(s), texts(s)
	s = reopen(t, lib, s, o)
	if got := branches(s); !slices.Equal(got, before) {
		t.Errorf("reopened with\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(before, "\n"))
	}
	if got := texts(s); !slices.Equal(got, path) {
		t.Errorf("goes on with %q, want %q", got, path)
	}
}

// A limit on what is spent counts for all of them together: who still answers
// when it is reached is stopped, and the prompt stays.
func TestCompareBudget(t *testing.T) {
	dear := llmtest.Script(
		llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "dear"}},
		llm.Usage{Input: 1, Output: 1, Cost: 2, Priced: true}, llm.Finish{Reason: llm.Stop})
	models := []llm.Endpoint{endpoint("m/0", llmtest.New(dear)), endpoint("m/1", llmtest.New(llmtest.Hang("half")))}
	s := New(Options{Model: models[0], Limits: []Limit{{Period: PerSession, Cost: 1}}})
	var events []Event
	for e := range s.Compare(t.Context(), models, say("which?")) {
		events = append(events, e)
	}
	if err := doneOf(t, events).Err; !errors.Is(err, ErrBudget) {
		t.Errorf("error %v, want the limit", err)
	}
	if got := texts(s); !slices.Equal(got, []string{"which?", "dear"}) {
		t.Errorf("the conversation is %q", got)
	}
	events = nil
	for e := range s.Compare(t.Context(), models, say("and now?")) {
		events = append(events, e)
	}
	if err := doneOf(t, events).Err; !errors.Is(err, ErrBudget) {
		t.Errorf("error %v, want the limit", err)
	}
	if got := texts(s); len(got) != 3 || got[2] != "and now?" {
		t.Errorf("the conversation is %q, and the prompt is lost", got)
	}
}

// A panic in one of the models is one of the turn, as it is when a model answers
// alone, and leaves no other running.
func TestComparePanics(t *testing.T) {
	models := []llm.Endpoint{endpoint("m/0", llmtest.New(llmtest.Hang("half"))), endpoint("m/1", broken{})}
	s := New(Options{Model: models[0]})
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "boom") || !strings.Contains(p, "compare_test.go") {
			t.Errorf("got panic %q, want boom and where it was", p)
		}
		if _, err := s.Edit(1); err != nil {
			t.Errorf("the turn still runs: %v", err)
		}
	}()
	for range s.Compare(t.Context(), models, say("which?")) {
	}
}

type broken struct{}

func (broken) Stream(context.Context, llm.Request) llm.Stream {
	return func(func(llm.Event, error) bool) { panic("boom") }
}

// Whatever moment parley ends at, what is kept has no gaps, and the conversation
// goes on with an answer that is whole if there is one.
func TestCompareInterrupted(t *testing.T) {
	lib, path := newTestStore(t)
	models := []llm.Endpoint{endpoint("m/0", llmtest.New(llmtest.Say("whole"))), endpoint("m/1", llmtest.New(llmtest.Hang("half")))}
	s := New(Options{Model: models[0], Log: lib.Create(Info{Dir: "/work"})})
	ctx, cancel := context.WithCancel(t.Context())
	whole, half := false, false
	for e := range s.Compare(ctx, models, say("which?")) {
		l, ok := e.(CandidateEvent)
		if !ok {
			continue
		}
		_, answered := l.Event.(Response)
		_, said := l.Event.(llm.Delta)
		whole, half = whole || l.N == 0 && answered, half || l.N == 1 && said
		if !whole || !half || ctx.Err() != nil {
			continue
		}
		other := copied(t, path) // as a crash would leave it
		log, err := other.Fork(s.ID(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := texts(New(Options{Model: models[0], Log: log})); !slices.Equal(got, []string{"which?", "whole"}) {
			t.Errorf("goes on with %q", got)
		}
		cancel()
	}
	cancel()
}

// sharing answers with "INDEX of N" of the response that it shares, and with
// "alone" where it shares none.
type sharing struct{}

func (sharing) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return llm.Produce(ctx, func(ctx context.Context, out *llm.Out) error {
		text, n := "alone", 1
		body, err := llm.CandidateOf(ctx).Share(ctx, "key", func(_ context.Context, several int) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(strings.Repeat(".", several))), nil
		})
		if err != nil {
			return err
		}
		if body != nil {
			defer body.Close()
			all, _ := io.ReadAll(body)
			n = len(all)
			text = fmt.Sprintf("%d of %d", body.Index, n)
		}
		out.Send(llm.Delta{Block: "b", Part: say(text)})
		if body.CountsUsage() {
			out.Send(llm.Usage{Input: 1000, Output: n * 100, Shared: body != nil})
		}
		out.Send(llm.Finish{Reason: llm.Stop})
		return nil
	})
}

// TestCompareShares lets the answers of one model share a response, those of
// another model not, nor one that is asked again alone. Its usage counts once, and
// what the other answers have of it is not in the window of the conversation.
func TestCompareShares(t *testing.T) {
	a, b := endpoint("m/a", sharing{}), endpoint("m/b", sharing{})
	s := New(Options{Model: a})
	var events []Event
	for e := range s.Compare(t.Context(), []llm.Endpoint{a, a, b, a}, say("which?")) {
		events = append(events, e)
	}
	if got, want := candidateTexts(events, 4), []string{"0 of 3", "1 of 3", "alone", "2 of 3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if u, _ := s.Usage(); u.Input != 2000 || u.Output != 400 {
		t.Errorf("counted %+v", u)
	}
	for _, n := range s.Nodes() {
		if n.Role != llm.RoleAssistant {
			continue
		}
		if err := s.SwitchBranch(n.Seq); err != nil {
			t.Fatal(err)
		}
		if fill, most := s.ContextTokens(), 1100; n.Text() == "0 of 3" && (fill <= 1000 || fill >= most) {
			t.Errorf("behind %q the window holds %d tokens", n.Text(), fill)
		}
	}
}
