package explore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/session/settings"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/permission"
	"parley/tools/rule"
	"parley/ui/app"
	"parley/ui/app/flows/explore"
)

func TestMain(m *testing.M) {
	permission.Register()
	goleak.VerifyTestMain(m)
}

// newSession returns a conversation of model in a folder with a few files, whose small model is helper.
func newSession(t *testing.T, model, helper llm.Model, change func(*session.Options)) (*session.Session, *session.Store) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": "package main\n\nfunc main() {}\n", "id_rsa": "secret\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := tools.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	policy := tools.NewPolicy(act.ModeAsk)
	policy.AddRules([]rule.Rule{{Effect: act.Ask, Tool: "read", Match: "id_rsa"}})
	set.SetPolicy(policy)
	lib := session.MemoryStore()
	open := func(name string) (llm.Endpoint, error) {
		if name != "fake/small" {
			return llm.Endpoint{}, fmt.Errorf("no model %s", name)
		}
		return llm.Endpoint{Model: helper, Name: name, Origin: "small", Strategy: "native"}, nil
	}
	o := session.Options{
		Model: llm.Endpoint{Model: model, Name: "fake/big", Origin: "big", Strategy: "native"}, Tools: set, Policy: policy,
		Log: lib.Create(session.Info{}), OpenModel: open, Config: session.Config{SmallModel: "fake/small"},
	}
	if change != nil {
		change(&o)
	}
	s := session.New(o)
	app.New(app.Options{Flows: explore.Register, Session: s, Library: lib, Machine: app.Machine{ToolSet: func(string) act.Set { return set }}})
	t.Cleanup(func() { s.Close(); lib.Close(); set.Close() })
	return s, lib
}

// say sends a prompt and returns the results of its calls, and their progress.
func say(t *testing.T, s *session.Session, on func(session.Event)) (results []session.Result, progress string) {
	t.Helper()
	for e := range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "go"}) {
		switch e := e.(type) {
		case session.Result:
			results = append(results, e)
		case session.Progress:
			progress += e.Text
		case session.ApprovalRequest:
			t.Errorf("the user is asked about %s", e.Action.Title)
			e.Reply(act.Approval{Verdict: act.Deny})
		}
		if on != nil {
			on(e)
		}
	}
	return results, progress
}

// explores returns an answer that calls the tool n times.
func explores(n int) llmtest.Turn {
	var parts []llm.Part
	for i := range n {
		parts = append(parts, llm.Part{ID: fmt.Sprint(i), Name: act.ExploreTool, Input: fmt.Sprintf(`{"task":"find %d"}`, i)})
	}
	return llmtest.Call(parts...)
}

func call(name, input string) llm.Part { return llm.Part{ID: name + input, Name: name, Input: input} }

// The helper reads in its own window, by the rules of reading, without questions and without further helpers.
// The conversation gets its report with the places, and the ledger its requests.
func TestExplore(t *testing.T) {
	helper := llmtest.New(
		llmtest.Call(call("read", `{"path":"main.go","offset":2}`), call("grep", `{"pattern":"main"}`), call("read", `{"path":"id_rsa"}`)),
		llmtest.Call(call("write", `{"path":"x","content":"y"}`), call("explore", `{"task":"deeper"}`), call("list", `{"path":"gone"}`)),
		llmtest.Say("It is in ", "main.go:3.\x1b[2J"),
	)
	model := llmtest.New(explores(1), llmtest.Say("done"))
	s, lib := newSession(t, model, helper, nil)
	results, progress := say(t, s, nil)
	want := "It is in main.go:3.\n\nLooked at:\nread main.go:2-3\ngrep \"main\""
	if len(results) != 1 || results[0].Part.Failed || results[0].Part.Text != want || results[0].By != "small · 3 requests" {
		t.Fatalf("%+v, want %q", results, want)
	}
	if want := "read main.go\ngrep \"main\"\nread id_rsa\nwrite x\nexplore\nlist gone\n"; progress != want {
		t.Errorf("live: %q, want %q", progress, want)
	}
	asked := helper.Requests()
	for _, r := range asked {
		var names []string
		for _, tool := range r.Tools {
			names = append(names, tool.Name)
			if !act.FactsOf(tool.Name).Reads {
				t.Errorf("the helper may call %s, which does not only read", tool.Name)
			}
		}
		for _, name := range []string{"read", "list", "glob", "grep"} {
			if !slices.Contains(names, name) {
				t.Errorf("the helper may call %v, without %s", names, name)
			}
		}
		if r.Messages[0].Text() != "find 0" || r.System == "" {
			t.Errorf("asked %+v", r)
		}
	}
	failed := 0
	for _, m := range asked[2].Messages {
		for _, p := range m.Parts {
			if strings.Contains(p.Text, "secret") {
				t.Error("a secret was read")
			}
			if p.Failed {
				failed++
			}
		}
	}
	if failed != 4 {
		t.Errorf("%d calls failed, want 4", failed)
	}
	if history := s.History(); len(history) != 4 || !slices.ContainsFunc(model.Requests()[0].Tools, func(t llm.Tool) bool { return t.Name == act.ExploreTool }) {
		t.Errorf("%d messages", len(history))
	}
	sums, err := lib.Ledger().Sums(time.Time{}, time.Time{}, "purpose")
	total, _ := s.Spending.Usage()
	input := 0
	for _, sum := range sums {
		input += sum.Usage.Input
	}
	if err != nil || len(sums) != 2 || input != total.Input {
		t.Errorf("the ledger has %+v, the conversation %+v, %v", sums, total, err)
	}
}

// A helper that never ends, fails, says nothing or too much ends within the bounds.
func TestExploreEnds(t *testing.T) {
	var forever []llmtest.Turn
	for i := range 20 {
		forever = append(forever, llmtest.Call(call("grep", fmt.Sprintf(`{"pattern":"%s%d"}`, strings.Repeat("x", 150), i))))
	}
	for _, tt := range []struct {
		name     string
		turns    []llmtest.Turn
		change   func(*session.Options)
		text     string
		failed   bool
		requests int
	}{
		{"forever", forever, nil, "fake/small did not finish: the turn reached its limit of requests: 12\n\nLooked at:\ngrep ", true, 12},
		{"failure", []llmtest.Turn{llmtest.Fail(&llm.Error{Fault: llm.ContextOverflow, Message: "too long"})}, nil, "fake/small did not finish: ", true, 1},
		{"silence", []llmtest.Turn{llmtest.Say("")}, nil, "fake/small reported nothing.", true, 1},
		{"long", []llmtest.Turn{llmtest.Say(strings.Repeat("ü", 9000))}, nil, "üü", false, 1},
		{"no model", nil, func(o *session.Options) { o.SmallModel = "fake/none" }, "session.small_model fake/none: no model fake/none", true, 0},
		{"limit", []llmtest.Turn{llmtest.Call(call("list", `{}`)), llmtest.Say("more")}, func(o *session.Options) {
			o.Limits = []session.Limit{{Period: settings.PerTurn, Tokens: 600}}
			o.System = strings.Repeat("x", 2000)
		}, "fake/small did not finish: turn limit of 600 tokens reached", true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			helper := llmtest.New(tt.turns...)
			s, _ := newSession(t, llmtest.New(explores(1), llmtest.Say("done")), helper, tt.change)
			results, _ := say(t, s, nil)
			if len(results) != 1 || !strings.HasPrefix(results[0].Part.Text, tt.text) || results[0].Part.Failed != tt.failed || len(results[0].Part.Text) > 4<<10 {
				t.Fatalf("%d bytes: %+v, want %q", len(results[0].Part.Text), results, tt.text)
			}
			requests := helper.Requests()
			if len(requests) != tt.requests {
				t.Errorf("%d requests, want %d", len(requests), tt.requests)
			}
			if n := len(requests); n == 12 && (requests[11].ToolChoice != "none" || requests[10].ToolChoice != "") {
				t.Errorf("the last request: %+v", requests[11])
			}
		})
	}
}

// A gate is a model that answers once three of its answers are due at the same time, and records how many are.
type gate struct {
	mu            sync.Mutex
	running, most int
	full          chan struct{}
}

func (g *gate) Stream(ctx context.Context, _ llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		g.mu.Lock()
		g.running++
		if g.most = max(g.most, g.running); g.most == 3 && g.running == 3 {
			select {
			case <-g.full:
			default:
				close(g.full)
			}
		}
		g.mu.Unlock()
		defer func() { g.mu.Lock(); g.running--; g.mu.Unlock() }()
		select {
		case <-g.full:
			_ = yield(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "found"}}, nil) && yield(llm.Finish{Reason: llm.Stop}, nil)
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
		}
	}
}

// Three look around at once, and others wait. The user can stop them; the model continues.
func TestExploreAtOnce(t *testing.T) {
	g := &gate{full: make(chan struct{})}
	s, _ := newSession(t, llmtest.New(explores(7), llmtest.Say("done")), g, nil)
	results, _ := say(t, s, nil)
	for _, r := range results {
		if r.Part.Text != "found" {
			t.Errorf("%+v", r)
		}
	}
	if len(results) != 7 || g.most != 3 {
		t.Errorf("%d results, %d at once", len(results), g.most)
	}
	helper := llmtest.New(llmtest.Call(call("list", `{}`)), llmtest.Hang("so far"))
	s, _ = newSession(t, llmtest.New(explores(1), llmtest.Say("done")), helper, nil)
	done := false
	results, _ = say(t, s, func(e session.Event) {
		switch e := e.(type) {
		case session.Progress:
			s.Calls.Stop("")
		case session.Done:
			done = e.Err == nil
		}
	})
	if !done || len(results) != 1 || !results[0].Stopped || !strings.Contains(results[0].Part.Text, "did not finish: stopped by the user") {
		t.Errorf("stopped: %+v", results)
	}
}

// Models with a small window are not offered the tool, and each definition takes few tokens.
func TestExploreIsOffered(t *testing.T) {
	for window, want := range map[int]bool{0: true, 8000: false, 200_000: true} {
		model := llmtest.New(llmtest.Say("hi"))
		s, _ := newSession(t, model, nil, func(o *session.Options) { o.Model.Context = window })
		say(t, s, nil)
		for _, tool := range model.Requests()[0].Tools {
			if tool.Name == act.ExploreTool {
				if want = !want; len(tool.Name+tool.Description+string(tool.Schema)) > 400 {
					t.Errorf("%d bytes: more than 100 tokens", len(tool.Name+tool.Description+string(tool.Schema)))
				}
			}
		}
		if want {
			t.Errorf("in a window of %d", window)
		}
	}
}
