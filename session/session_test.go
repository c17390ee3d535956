package session_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/session/settings"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/permission"
	"parley/tools/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Register()
	permission.Register()
	goleak.VerifyTestMain(m)
}

// workspace returns a directory with one file, and the real tools on it.
func workspace(t testing.TB) (*tools.Set, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("alpha\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	set, err := tools.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return set, dir
}

func endpoint(name string, m llm.Model) llm.Endpoint {
	return llm.Endpoint{Model: m, Name: name, Origin: name, Strategy: "native"}
}

func call(id, name, input string) llm.Part { return llm.Part{ID: id, Name: name, Input: input} }

func say(text string) llm.Part { return llm.Part{Kind: llm.Text, Text: text} }

// play runs a turn and returns its events, answering questions with answer.
func play(ctx context.Context, s *Session, answer func(ApprovalRequest) act.Approval, parts ...llm.Part) []Event {
	var events []Event
	for e := range s.Turn(ctx, parts...) {
		events = append(events, e)
		if ask, ok := e.(ApprovalRequest); ok {
			ask.Reply(answer(ask))
		}
	}
	return events
}

func allow(ApprovalRequest) act.Approval { return act.Approval{Verdict: act.Allow} }
func deny(ApprovalRequest) act.Approval {
	return act.Approval{Verdict: act.Deny, Note: "not today"}
}

func doneOf(t *testing.T, events []Event) Done {
	t.Helper()
	for i, e := range events {
		if d, ok := e.(Done); ok {
			if i != len(events)-1 {
				t.Errorf("Done is event %d of %d; it is the last one", i, len(events))
			}
			return d
		}
	}
	t.Fatal("no Done")
	return Done{}
}

func toolResults(events []Event) []string {
	var out []string
	for _, e := range events {
		if r, ok := e.(Result); ok {
			mark := ""
			if r.Part.Failed {
				mark = "!"
			}
			first, _, _ := strings.Cut(r.Part.Text, "\n")
			out = append(out, mark+r.Part.ID+": "+first)
		}
	}
	return out
}

// valid holds the history to what every provider insists on: each call has its
// one result directly after it.
func valid(history []llm.Message) error {
	if got := llm.Repair(history); !reflect.DeepEqual(got, history) && len(history) > 0 {
		return fmt.Errorf("needs repair:\n got %+v\nwant %+v", history, got)
	}
	return nil
}

func TestTurn(t *testing.T) {
	tests := []struct {
		name   string
		turns  []llmtest.Turn
		answer func(ApprovalRequest) act.Approval
		mode   act.Mode
		steps  int
		want   []string // results
		reason llm.Reason
		err    error
		file   string // a.txt afterwards
	}{
		{name: "text", turns: []llmtest.Turn{llmtest.Say("hel", "lo")}, reason: llm.Stop},
		{name: "a read runs without asking",
			turns: []llmtest.Turn{llmtest.Call(call("1", "read", `{"path":"a.txt"}`)), llmtest.Say("ok")},
			want:  []string{"1:      1\talpha"}, reason: llm.Stop},
		{name: "parallel reads keep the order of the calls in the conversation",
			turns:  []llmtest.Turn{llmtest.Call(call("1", "read", `{"path":"a.txt"}`), call("2", "list", `{}`)), llmtest.Say("ok")},
			reason: llm.Stop},
		{name: "a write asks, and runs when allowed",
			turns:  []llmtest.Turn{llmtest.Call(call("1", "read", `{"path":"a.txt"}`)), llmtest.Call(call("2", "edit", `{"path":"a.txt","old":"alpha","new":"beta"}`)), llmtest.Say("ok")},
			answer: allow, reason: llm.Stop, file: "beta\n"},
		{name: "a denied call tells the model what the person said",
			turns:  []llmtest.Turn{llmtest.Call(call("1", "shell", `{"command":"touch b"}`)), llmtest.Say("ok")},
			answer: deny, want: []string{"!1: The user did not allow this call. They said: not today"}, reason: llm.Stop},
		{name: "read-only denies without asking",
			turns: []llmtest.Turn{llmtest.Call(call("1", "shell", `{"command":"touch b"}`)), llmtest.Say("ok")},
			mode:  act.ModeReadOnly, want: []string{"!1: This was not run: the approval mode is read-only."}, reason: llm.Stop},
		{name: "an edit sees what a read before it in the same answer saw",
			turns:  []llmtest.Turn{llmtest.Call(call("1", "read", `{"path":"a.txt"}`), call("2", "edit", `{"path":"a.txt","old":"alpha","new":"beta"}`)), llmtest.Say("ok")},
			answer: allow, reason: llm.Stop, file: "beta\n"},
		{name: "a write sees that a read before it in the same answer ran",
			turns:  []llmtest.Turn{llmtest.Call(call("1", "read", `{"path":"a.txt"}`), call("2", "write", `{"path":"a.txt","content":"gamma\n"}`)), llmtest.Say("ok")},
			answer: allow, reason: llm.Stop, file: "gamma\n"},
		{name: "a turn has a limit of requests",
			turns: []llmtest.Turn{llmtest.Call(call("1", "list", `{}`)), llmtest.Call(call("2", "list", `{}`)), llmtest.Call(call("3", "list", `{}`))},
			steps: 2, err: ErrSteps},
		{name: "a cut answer is an error, and its calls never run",
			turns: []llmtest.Turn{llmtest.Script(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Call, ID: "1", Name: "shell", Input: `{"command":"touch b"}`}})},
			err:   &llm.Error{Fault: llm.Network}},
		{name: "length is a reason, not an error", turns: []llmtest.Turn{llmtest.Script(
			llm.Delta{Block: "a", Part: say("half")}, llm.Finish{Reason: llm.Length})}, reason: llm.Length},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set, dir := workspace(t)
			fake := llmtest.New(tt.turns...)
			mode := tt.mode
			if mode == "" {
				mode = act.ModeAsk
			}
			s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(mode), MaxSteps: tt.steps})
			events := play(t.Context(), s, tt.answer, say("hi"))
			done := doneOf(t, events)
			if done.Reason != tt.reason {
				t.Errorf("reason %q, want %q", done.Reason, tt.reason)
			}
			var fault *llm.Error
			switch {
			case errors.As(tt.err, &fault):
				if llm.FaultOf(done.Err) != fault.Fault {
					t.Errorf("error %v, want fault %s", done.Err, fault.Fault)
				}
			case !errors.Is(done.Err, tt.err):
				t.Errorf("error %v, want %v", done.Err, tt.err)
			}
			if got := toolResults(events); tt.want != nil && !slices.Equal(got, tt.want) {
				t.Errorf("results %q, want %q", got, tt.want)
			}
			if tt.file != "" {
				if b, _ := os.ReadFile(filepath.Join(dir, "a.txt")); string(b) != tt.file {
					t.Errorf("a.txt is %q, want %q", b, tt.file)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "b")); err == nil {
				t.Error("a command ran that nobody allowed")
			}
			if err := valid(s.History()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A model's mistakes come back to it as error results, and the turn
// continues.
func TestBadCalls(t *testing.T) {
	tests := []struct{ name, tool, input, want string }{
		{"unknown tool", "get_weather", `{}`, "get_weather"},
		{"broken JSON", "read", `{"path":`, ""},
		{"not an object", "read", `"a.txt"`, ""},
		{"missing argument", "read", `{}`, "path"},
		{"outside the workspace", "read", `{"path":"../../etc/passwd"}`, "outside"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set, _ := workspace(t)
			fake := llmtest.New(llmtest.Call(call("1", tt.tool, tt.input)), llmtest.Say("sorry"))
			s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk)})
			events := play(t.Context(), s, nil, say("hi"))
			if done := doneOf(t, events); done.Err != nil || done.Steps != 2 {
				t.Errorf("the turn should go on: %+v", done)
			}
			got := toolResults(events)
			if len(got) != 1 || !strings.HasPrefix(got[0], "!1: ") || !strings.Contains(got[0], tt.want) {
				t.Errorf("results %q, want one failure with %q", got, tt.want)
			}
			reqs := fake.Requests()
			if len(reqs) != 2 {
				t.Fatalf("%d requests, want 2", len(reqs))
			}
			if err := valid(reqs[1].Messages); err != nil {
				t.Error(err)
			}
		})
	}
}

// A call that could not be read does not run, whatever tool it seems to name.
func TestUnreadableCall(t *testing.T) {
	set, _ := workspace(t)
	part := call("1", "read", `{"path":"a.txt"}`)
	part.Failed = true
	fake := llmtest.New(llmtest.Call(part), llmtest.Say("sorry"))
	s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk)})
	events := play(t.Context(), s, nil, say("hi"))
	if done := doneOf(t, events); done.Err != nil || done.Steps != 2 {
		t.Errorf("the turn should go on: %+v", done)
	}
	if got := toolResults(events); len(got) != 1 || !strings.HasPrefix(got[0], "!1: this call could not be read") {
		t.Errorf("results %q", got)
	}
	if told := fake.Requests()[1].Messages[2].Parts[0].Text; !strings.HasSuffix(told, "It was:\n"+part.Input) {
		t.Errorf("the model is told %q", told)
	}
	if err := valid(fake.Requests()[1].Messages); err != nil {
		t.Error(err)
	}
}

func TestEditedArgumentsAreShownAgain(t *testing.T) {
	set, dir := workspace(t)
	fake := llmtest.New(llmtest.Call(call("1", "shell", `{"command":"touch wrong"}`)), llmtest.Say("ok"))
	s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk)})
	const right = `{"command":"touch right"}`
	var shown []string
	events := play(t.Context(), s, func(a ApprovalRequest) act.Approval {
		shown = append(shown, a.Action.Command, a.Call.Input)
		if len(shown) == 2 {
			return act.Approval{Verdict: act.Allow, Input: right}
		}
		return act.Approval{Verdict: act.Allow}
	}, say("hi"))
	if want := []string{"touch wrong", `{"command":"touch wrong"}`, "touch right", right}; !slices.Equal(shown, want) {
		t.Errorf("shown %q, want %q", shown, want)
	}
	for _, e := range events {
		if r, ok := e.(Result); ok && r.Input != right {
			t.Errorf("it ran with %q", r.Input)
		}
	}
	if got := s.Path()[2].Results["1"].Input; got != right {
		t.Errorf("stored are %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "right")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "wrong")); err == nil {
		t.Error("what was replaced ran")
	}
}

func TestQueue(t *testing.T) {
	fake := llmtest.New(llmtest.Say("one"), llmtest.Say("two"))
	s := New(Options{Model: endpoint("fake/a", fake)})
	var prompts []string
	for e := range s.Turn(t.Context(), say("first")) {
		switch e := e.(type) {
		case Prompt:
			prompts = append(prompts, e.Message.Text())
		case llm.Delta:
			if e.Text == "one" {
				s.Queue.Add(say("second"))
			}
		}
	}
	if want := []string{"first", "second"}; !slices.Equal(prompts, want) {
		t.Errorf("prompts %q, want %q", prompts, want)
	}
	if n := len(s.History()); n != 4 || s.Queue.Len() != 0 {
		t.Errorf("%d messages and %d waiting, want 4 and 0", n, s.Queue.Len())
	}
}

func TestCancel(t *testing.T) {
	t.Run("while streaming", func(t *testing.T) {
		fake := llmtest.New(llmtest.Hang("half an answer"), llmtest.Say("whole"))
		s := New(Options{Model: endpoint("fake/a", fake)})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var done Done
		for e := range s.Turn(ctx, say("hi")) {
			if _, ok := e.(llm.Delta); ok {
				cancel()
			}
			if d, ok := e.(Done); ok {
				done = d
			}
		}
		if !llm.Canceled(done.Err) {
			t.Errorf("error %v", done.Err)
		}
		h := s.History()
		if len(h) != 2 || !h[1].Interrupted || h[1].Text() != "half an answer" {
			t.Errorf("history %+v", h)
		}
		play(t.Context(), s, nil, say("go on"))
		if got := fake.Requests()[1].Messages; len(got) != 3 {
			t.Errorf("the next request has %d messages, want 3: %+v", len(got), got)
		}
	})
	t.Run("while a tool runs", func(t *testing.T) {
		set, _ := workspace(t)
		fake := llmtest.New(llmtest.Call(call("1", "shell", `{"command":"echo begun; sleep 1000"}`), call("2", "list", `{}`)))
		s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeYolo)})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for e := range s.Turn(ctx, say("hi")) {
			if p, ok := e.(Progress); ok && strings.Contains(p.Text, "begun") {
				cancel()
			}
		}
		if err := valid(s.History()); err != nil {
			t.Error(err)
		}
		last := s.History()[2]
		if len(last.Parts) != 2 || last.Parts[1].Text == "" || !last.Parts[1].Failed {
			t.Errorf("both calls need a result: %+v", last)
		}
	})
	t.Run("while asking", func(t *testing.T) {
		set, _ := workspace(t)
		fake := llmtest.New(llmtest.Call(call("1", "shell", `{"command":"true"}`)))
		s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk)})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for e := range s.Turn(ctx, say("hi")) {
			if _, ok := e.(ApprovalRequest); ok {
				cancel()
			}
		}
		if err := valid(s.History()); err != nil {
			t.Error(err)
		}
	})
	t.Run("by leaving", func(t *testing.T) {
		fake := llmtest.New(llmtest.Hang("half"))
		s := New(Options{Model: endpoint("fake/a", fake)})
		for e := range s.Turn(t.Context(), say("hi")) {
			if _, ok := e.(llm.Delta); ok {
				break
			}
		}
		if h := s.History(); len(h) != 2 || !h[1].Interrupted {
			t.Errorf("history %+v", h)
		}
	})
}

func TestAgain(t *testing.T) {
	fake := llmtest.New(llmtest.Cut("half"), llmtest.Say("whole"))
	s := New(Options{Model: endpoint("fake/a", fake)})
	play(t.Context(), s, nil, say("hi"))
	if done := doneOf(t, play(t.Context(), s, nil)); done.Err != nil {
		t.Fatal(done.Err)
	}
	h := s.History()
	if len(h) != 2 || h[1].Text() != "whole" || h[1].Interrupted {
		t.Errorf("the broken answer is a branch, the new one follows the prompt: %+v", h)
	}
	if done := doneOf(t, play(t.Context(), s, nil)); done.Err == nil {
		t.Error("a complete answer was asked for again")
	}
}

// Another model in mid-conversation gets nothing of the first one's private
// data, and the first one gets it back unchanged.
func TestSwitch(t *testing.T) {
	state := []byte(`{"signature": "abc" }`)
	signed := llmtest.Script(
		llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "hm", State: state}},
		llm.Delta{Block: "a", Part: say("one")}, llm.Finish{Reason: llm.Stop})
	a := llmtest.New(signed, llmtest.Say("three"))
	b := llmtest.New(llmtest.Say("two"))
	s := New(Options{Model: endpoint("a/a", a)})
	play(t.Context(), s, nil, say("1"))
	if sw := s.SetModel(endpoint("b/b", b)); len(sw.Changes) != 1 {
		t.Errorf("changes %v, want the thinking left out", sw.Changes)
	}
	play(t.Context(), s, nil, say("2"))
	for _, m := range b.Requests()[0].Messages {
		for _, p := range m.Parts {
			if p.State != nil || p.Kind == llm.Thinking {
				t.Errorf("b got %+v", p)
			}
		}
	}
	s.SetModel(endpoint("a/a", a))
	play(t.Context(), s, nil, say("3"))
	if got := a.Requests()[1].Messages[1].Parts[0].State; string(got) != string(state) {
		t.Errorf("a got back %s, want %s", got, state)
	}
}

func TestBudget(t *testing.T) {
	dear := func(_ context.Context, _ llm.Request, out *llm.Out) error {
		out.Send(llm.Usage{Input: 1, Output: 1, Cost: 2, Priced: true})
		out.Send(llm.Finish{Reason: llm.Stop})
		return nil
	}
	s := New(Options{Model: endpoint("a/a", llmtest.New(dear, dear)), Limits: []Limit{{Period: settings.PerSession, Cost: 1}}})
	if done := doneOf(t, play(t.Context(), s, nil, say("hi"))); done.Err != nil {
		t.Fatalf("the first answer was within the limit when it was asked for: %v", done.Err)
	}
	if done := doneOf(t, play(t.Context(), s, nil, say("more"))); !errors.Is(done.Err, ErrBudget) {
		t.Errorf("got %v, want %v", done.Err, ErrBudget)
	}
}

func TestOneTurnAtATime(t *testing.T) {
	s := New(Options{Model: endpoint("a/a", llmtest.New(llmtest.Say("1")))})
	for range s.Turn(t.Context(), say("hi")) {
		if done := doneOf(t, play(t.Context(), s, nil, say("me too"))); done.Err == nil {
			t.Fatal("a second turn ran at the same time")
		}
		break
	}
}

// Whatever the model says, whatever the user answers, and wherever the turn
// is canceled, the conversation stays valid for the next request.
func TestAlwaysValid(t *testing.T) {
	set, _ := workspace(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		var turns []llmtest.Turn
		for range 6 {
			turns = append(turns, randomTurn(rng))
		}
		fake := llmtest.New(turns...)
		s := New(Options{Model: endpoint("a/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk)})
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			stopAt := rng.IntN(25)
			n := 0
			for e := range s.Turn(ctx, say("hi")) {
				if n++; n == stopAt {
					cancel()
				}
				if ask, ok := e.(ApprovalRequest); ok {
					ask.Reply(act.Approval{Verdict: act.Deny})
				}
			}
			cancel()
		}
		for _, req := range fake.Requests() {
			if err := valid(req.Messages); err != nil {
				t.Fatal(err)
			}
		}
		history, _ := llm.Portable(s.History(), "a/a")
		if err := valid(history); err != nil {
			t.Fatal(err)
		}
	}
}

func randomTurn(rng *rand.Rand) llmtest.Turn {
	bad := []llm.Part{
		call("1", "read", `{"path":"a.txt"}`), call("1", "list", `{}`), call("", "list", ""),
		call("2", "nothing", `{}`), call("3", "read", `{"pa`), call("4", "shell", `{"command":"true"}`),
	}
	var calls []llm.Part
	for range 1 + rng.IntN(4) {
		calls = append(calls, bad[rng.IntN(len(bad))])
	}
	return []llmtest.Turn{
		llmtest.Say("text"), llmtest.Think("hm", "text"), llmtest.Call(calls...), llmtest.Call(calls...),
		llmtest.Cut("half"), llmtest.Fail(&llm.Error{Fault: llm.Server}), llmtest.Say(),
	}[rng.IntN(7)]
}

// TestBlind: a model that takes no images is sent words for them, and the user
// is told; the conversation keeps them.
func TestBlind(t *testing.T) {
	blind, sees := llmtest.New(llmtest.Say("words")), llmtest.New(llmtest.Say("a horse"))
	model := endpoint("a/m", blind)
	model.Known = true
	s := New(Options{Model: model})
	image := llm.Part{Kind: llm.Media, Name: "a.png", MIME: "image/png", Data: []byte("\x89PNG")}
	events := play(context.Background(), s, allow, image, say("what is this?"))
	if !slices.ContainsFunc(events, func(e Event) bool {
		n, ok := e.(llm.Notice)
		return ok && strings.Contains(n.Text, "images not sent")
	}) {
		t.Errorf("no notice in %+v", events)
	}
	if parts := blind.Requests()[0].Messages[0].Parts; parts[0].Kind != llm.Text || !strings.Contains(parts[0].Text, "a.png") {
		t.Errorf("it was sent %+v", parts)
	}
	s.SetModel(endpoint("b/m", sees))
	play(context.Background(), s, allow, say("and now?"))
	if parts := sees.Requests()[0].Messages[0].Parts; parts[0].Kind != llm.Media {
		t.Errorf("the next model was sent %+v", parts)
	}
	if changes := s.SetModel(model).Changes; len(changes) != 1 {
		t.Errorf("changes on the way back: %v", changes)
	}
}
