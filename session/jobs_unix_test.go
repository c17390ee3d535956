//go:build unix

package session_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/undo"
	"parley/tools/undo/snapshot"
)

// A command that continues in the background has its result at once, so that the conversation is
// whole if parley dies then. That it has ended is told once, with the next result or the next
// prompt, and what it changed later is told as not known.
func TestJobs(t *testing.T) {
	t.Parallel()
	for _, with := range []string{"result", "prompt"} {
		t.Run("told with the next "+with, func(t *testing.T) {
			t.Parallel()
			set, dir := workspace(t)
			ended := make(chan tools.Job, 1)
			set.Jobs().OnNews(func(j tools.Job) { ended <- j })
			kept := snapshot.Open(filepath.Join(t.TempDir(), "undo"))
			store := MemoryStore()
			defer store.Close()
			log := store.Create(Info{Dir: dir})
			defer log.Close()
			var requests []llm.Request
			end := func() {
				if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
					t.Error(err)
				}
				<-ended
			}
			turn := func(do func(), then llmtest.Turn) llmtest.Turn {
				return func(ctx context.Context, req llm.Request, out *llm.Out) error {
					requests = append(requests, req)
					do()
					return then(ctx, req, out)
				}
			}
			nothing := func() {}
			start := llmtest.Call(call("1", "shell", `{"command":"until [ -e go ]; do sleep 0.01; done; exit 3","background":true}`))
			turns := []llmtest.Turn{turn(nothing, start), turn(nothing, llmtest.Say("it runs")), turn(nothing, llmtest.Say("I see"))}
			if with == "result" {
				turns = []llmtest.Turn{turn(nothing, start), turn(end, llmtest.Call(call("2", "list", "{}"))), turn(nothing, llmtest.Say("I see"))}
			}
			fake := llmtest.New(turns...)
			s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeYolo), Log: log, Files: kept.Files})
			defer s.Close()
			for range s.Turn(t.Context(), say("serve it")) {
			}
			for i, m := range s.History() { // as it is stored, while the command runs
				for _, c := range m.Calls() {
					if r := s.History()[i+1].Parts[0]; r.Kind != llm.Result || r.ID != c.ID || r.Failed {
						t.Errorf("the call %s has the result %+v", c.ID, r)
					}
				}
			}
			if with == "prompt" {
				end()
				for range s.Turn(t.Context(), say("and?")) {
				}
			}
			last := requests[len(requests)-1].Messages
			told := last[len(last)-1]
			var text string
			for _, p := range told.Parts {
				text += p.Text
			}
			if n := strings.Count(fmt.Sprint(last), "job 1 has ended"); n != 1 || !strings.Contains(text, "[job 1 has ended: exit status 3: until [ -e go ]") {
				t.Errorf("told %d times: %q", n, text)
			}
			if again := set.Jobs().TakeEnded(s.ID()); len(again) > 0 {
				t.Errorf("to be told again: %v", again)
			}
			records := s.Files().(undo.History).Records()
			if len(records) != 1 || records[0].Open || !strings.Contains(records[0].Partial, "continued in the background as job 1") {
				t.Errorf("records %+v", records)
			}
		})
	}
}

// Ending a command in the background waits for the calls before it, as waiting for the command does.
func TestJobCallsKeepTheirOrder(t *testing.T) {
	set, dir := workspace(t)
	fake := llmtest.New(llmtest.Call(call("1", "shell", `{"command":"until [ -e go ]; do sleep 0.01; done; exit 3","background":true}`)), llmtest.Say("it runs"),
		llmtest.Call(call("2", "jobs", `{"action":"read","job":1}`), call("3", "jobs", `{"action":"wait","job":1,"seconds":60}`), call("4", "jobs", `{"action":"kill","job":1}`)), llmtest.Say("I see"))
	s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeYolo)})
	play(t.Context(), s, allow, say("serve it"))
	var results []string
	for e := range s.Turn(t.Context(), say("and?")) {
		switch e := e.(type) {
		case Call:
			if e.Part.ID == "3" {
				if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
					t.Error(err)
				}
			}
		case Result:
			results = append(results, e.Part.Text)
		}
	}
	if len(results) != 3 || !strings.Contains(results[1], "exit status 3") || strings.Contains(fmt.Sprint(results), "killed") {
		t.Errorf("results %q", results)
	}
}
