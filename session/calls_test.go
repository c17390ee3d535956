package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools"
	"parley/tools/act"
)

func TestStopCall(t *testing.T) {
	set, _ := workspace(t)
	fake := llmtest.New(
		llmtest.Call(call("1", "shell", `{"command":"echo begun; sleep 60"}`), call("2", "shell", `{"command":"echo next"}`)),
		llmtest.Say("I see"))
	s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeYolo)})
	if stopped, _ := s.Calls.Stop(""); stopped {
		t.Error("a call was stopped before any ran")
	}
	var got []Result
	var done Done
	for e := range s.Turn(t.Context(), say("hi")) {
		switch e := e.(type) {
		case Progress:
			if strings.Contains(e.Text, "begun") {
				if stopped, others := s.Calls.Stop(""); !stopped || others != 0 {
					t.Errorf("stopped %t, and %d others run", stopped, others)
				}
				if stopped, _ := s.Calls.Stop("1"); stopped {
					t.Error("a call was stopped twice")
				}
			}
		case Result:
			got = append(got, e)
		case Done:
			done = e
		}
	}
	if done.Err != nil || done.Steps != 2 {
		t.Errorf("the turn ended with %v after %d steps: it has to go on", done.Err, done.Steps)
	}
	if len(got) != 2 {
		t.Fatalf("%d results, want 2: %+v", len(got), got)
	}
	first, second := got[0], got[1]
	if !first.Stopped || !first.Part.Failed || !strings.HasPrefix(first.Part.Text, "The user stopped this call") || !strings.Contains(first.Part.Text, "begun") {
		t.Errorf("the model is to know who stopped it, and what it said until then: %+v", first)
	}
	if second.Stopped || second.Part.Failed || !strings.HasPrefix(second.Part.Text, "next") {
		t.Errorf("the call after it is to run: %+v", second)
	}
	if out := s.Path()[2].Results; !out["1"].Stopped || out["2"].Stopped {
		t.Errorf("kept as %+v", out)
	}
	if err := valid(s.History()); err != nil {
		t.Error(err)
	}
	if sent := fake.Requests()[1].Messages; sent[2].Parts[0].Text != first.Part.Text {
		t.Errorf("the model was told %q, want %q", sent[2].Parts[0].Text, first.Part.Text)
	}
}

// An id runs at most once: of calls that share it in one answer the first runs,
// and the others get an error result, each under an id of its own.
func TestRepeatedCalls(t *testing.T) {
	repeated := call("again", "shell", `{"command":"echo x >>log"}`)
	repeated.Repeated = true // as adapters mark it
	for name, second := range map[string]llm.Part{
		"told by the adapter": repeated,
		"told by its id":      call("1", "shell", `{"command":"echo x >>log"}`),
	} {
		t.Run(name, func(t *testing.T) {
			set, dir := workspace(t)
			first := call("1", "shell", `{"command":"echo x >>log"}`)
			fake := llmtest.New(llmtest.Call(first, second, call("3", "shell", `{"command":"echo y >>log"}`)), llmtest.Say("I see"))
			s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeYolo)})
			var got []Result
			for e := range s.Turn(t.Context(), say("hi")) {
				if r, ok := e.(Result); ok {
					got = append(got, r)
				}
			}
			if log, err := os.ReadFile(filepath.Join(dir, "log")); err != nil || string(log) != "x\ny\n" {
				t.Errorf("what ran wrote %q, %v", log, err)
			}
			if len(got) != 3 || got[0].Part.Failed || !got[1].Part.Failed || got[2].Part.Failed ||
				!strings.Contains(got[1].Part.Text, "an earlier call of the same answer has its id") {
				t.Errorf("results %+v", got)
			}
			if err := valid(s.History()); err != nil {
				t.Error(err)
			}
		})
	}
}

// The media of every tool go through PrepareMedia once.
func TestShownMediaIsPrepared(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n"
	dir := t.TempDir()
	for _, name := range []string{"a.png", "b.png"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(png), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := tools.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	model := llmtest.New(llmtest.Call(call("1", "read", `{"path":"a.png"}`), call("2", "read", `{"path":"b.png"}`)), llmtest.Say("a fox"))
	s := New(Options{Model: endpoint("m/0", model), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), PrepareMedia: func(p llm.Part) (llm.Part, string, error) {
		if p.Name == "b.png" {
			return llm.Part{}, "", errors.New("b.png is broken")
		}
		p.Data, p.Width = append(p.Data, "small"...), 5
		return p, "downscaled", nil
	}})
	for range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "look"}) {
	}
	last := model.Requests()[1].Messages
	parts := last[len(last)-1].Parts
	if len(parts) != 3 || parts[1].Kind != llm.Media || string(parts[1].Data) != png+"small" || parts[1].ID != parts[0].ID || parts[1].Name != "a.png" {
		t.Fatalf("sent %+v", parts)
	}
	if !strings.Contains(parts[0].Text, "[downscaled]") || !strings.Contains(parts[2].Text, "[not shown: b.png is broken]") {
		t.Errorf("told %q and %q", parts[0].Text, parts[2].Text)
	}
}

// Many large pictures that an answer asks for at once are in memory one at a time: reading the
// next begins when the one before is prepared.
func TestMediaOneAtATime(t *testing.T) {
	const files, size = 8, 4 << 20
	dir := t.TempDir()
	var calls []llm.Part
	for i := range files {
		name := fmt.Sprint(i, ".png")
		if err := os.WriteFile(filepath.Join(dir, name), append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, size)...), 0o600); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, call(fmt.Sprint(i), "read", `{"path":"`+name+`"}`))
	}
	set, err := tools.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most := heap(), uint64(0)
	model := llmtest.New(llmtest.Call(calls...), llmtest.Say("foxes"))
	s := New(Options{Model: endpoint("m/0", model), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), PrepareMedia: func(p llm.Part) (llm.Part, string, error) {
		if len(p.Data) < size {
			return p, "", errors.New("not whole")
		}
		now := heap()
		most = max(most, now-min(now, before))
		p.Data = slices.Clone(p.Data[:8])
		return p, "", nil
	}})
	for range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "look"}) {
	}
	shown := 0
	for _, p := range model.Requests()[1].Messages[2].Parts {
		if p.Kind == llm.Media {
			shown++
		}
	}
	if shown != files || most > 2*size+size/2 {
		t.Errorf("%d of %d shown, with %d MB at most in memory", shown, files, most>>20)
	}
	t.Logf("%d MB at most for %d pictures of %d MB", most>>20, files, size>>20)
}

// Calls of a model that had no tools on offer do not run, whatever the policy allows, nor do those of a tool
// that the user turned off while the model answered.
func TestCallsOfWhatIsNotOffered(t *testing.T) {
	write := llmtest.Call(call("1", "write", `{"path":"new.txt","content":"x"}`))
	for name, tt := range map[string]struct {
		strategy string
		off      string
		want     string // the beginning of the result
	}{
		"no tools":   {"none", "", `no tool "write": no tools are available here`},
		"turned off": {"native", "write", `the user has turned the tool "write" off`},
		"another":    {"native", "read", "created new.txt"},
		"offered":    {"native", "", "created new.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			set, dir := workspace(t)
			model := endpoint("a/a", llmtest.New(write, llmtest.Say("well")))
			model.Strategy = tt.strategy
			s := New(Options{Model: model, Tools: set, Policy: tools.NewPolicy(act.ModeYolo)})
			var events []Event
			for e := range s.Turn(t.Context(), say("hello")) {
				events = append(events, e)
				if step, ok := e.(Step); ok && step.N == 1 && tt.off != "" {
					if _, err := s.OwnSettings.Change(func(own *Settings) error { own.SetTool(tt.off, false); return nil }); err != nil {
						t.Error(err)
					}
				}
			}
			results := toolResults(events)
			_, err := os.Stat(filepath.Join(dir, "new.txt"))
			if len(results) != 1 || !strings.Contains(results[0], "1: "+tt.want) || (err == nil) != (strings.HasPrefix(tt.want, "created")) {
				t.Errorf("results %q, want %s…; the file: %v", results, tt.want, err)
			}
		})
	}
}

// Nor do those of models that are compared.
func TestComparedCallsOfWhatIsNotOffered(t *testing.T) {
	set, dir := workspace(t)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("alpha"), 0o600); err != nil {
		t.Fatal(err)
	}
	for strategy, refused := range map[string]bool{"none": true, "native": false} {
		open := func(name string) llm.Endpoint {
			e := endpoint(name, llmtest.New(llmtest.Call(call("1", "read", `{"path":"a.txt"}`)), llmtest.Say("well")))
			e.Strategy = strategy
			return e
		}
		s := New(Options{Model: open("a/a"), Tools: set, Policy: tools.NewPolicy(act.ModeYolo)})
		n := 0
		for e := range s.Compare(t.Context(), []llm.Endpoint{open("a/a"), open("b/b")}, nil, say("hi")) {
			c, _ := e.(CandidateEvent)
			if r, ok := c.Event.(Result); ok {
				if n++; r.Part.Failed != refused {
					t.Errorf("%s: %q", strategy, r.Part.Text)
				}
			}
		}
		if n != 2 {
			t.Errorf("%s: %d results", strategy, n)
		}
	}
}

// A switch of the model while calls run says nothing of those: the next model gets their results.
func TestSwitchWhileCallsRun(t *testing.T) {
	set, _ := workspace(t)
	first := llmtest.New(llmtest.Call(call("1", "list", `{}`), call("2", "list", `{}`)))
	second := llmtest.New(llmtest.Say("well"))
	s := New(Options{Model: endpoint("a/a", first), Tools: set, Policy: tools.NewPolicy(act.ModeYolo)})
	for e := range s.Turn(t.Context(), say("hello")) {
		if c, ok := e.(Call); ok && c.Part.ID == "1" {
			if changes := s.SetModel(endpoint("b/b", second)).Changes; len(changes) > 0 {
				t.Errorf("told %+v", changes)
			}
		}
	}
	sent := second.Requests()[0].Messages
	if last := sent[len(sent)-1]; last.Role != llm.RoleTool || len(last.Parts) != 2 || last.Parts[1].Failed {
		t.Errorf("sent %+v", sent)
	}
}

// Of calls that run at once, any one can be stopped by its id. Without an id, the last one is.
func TestStopOneCall(t *testing.T) {
	set, _ := workspace(t)
	begun := make(chan bool)
	hangs := tools.External{Name: "look", Schema: json.RawMessage(`{"type":"object"}`), Plan: func(context.Context, json.RawMessage) (*act.Action, error) {
		return &act.Action{Access: act.AccessRead, Do: func(ctx context.Context, _ func(string)) act.Outcome {
			begun <- true
			<-ctx.Done()
			return act.Outcome{Text: context.Cause(ctx).Error(), Failed: true}
		}}, nil
	}}
	if err := set.AddExternal(hangs); err != nil {
		t.Fatal(err)
	}
	s := New(Options{Model: endpoint("fake/a", llmtest.New(
		llmtest.Call(call("1", "look", `{}`), call("2", "look", `{}`), call("3", "look", `{}`)), llmtest.Say("I see"))), Tools: set, Policy: tools.NewPolicy(act.ModeYolo)})
	go func() {
		for range 3 {
			<-begun
		}
		s.Calls.Stop("2")
	}()
	var order []string
	for e := range s.Turn(t.Context(), say("hi")) {
		if r, ok := e.(Result); ok {
			if order = append(order, r.Part.ID); !r.Stopped {
				t.Errorf("not stopped: %+v", r)
			}
			if stopped, others := s.Calls.Stop(""); stopped != (len(order) < 3) || others != max(0, 2-len(order)) {
				t.Errorf("after %q: stopped %t, others %d", order, stopped, others)
			}
		}
	}
	if got := strings.Join(order, " "); got != "2 3 1" {
		t.Errorf("stopped %q", got)
	}
}
