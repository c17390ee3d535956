//go:build unix

package session_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/session/hooks"
	"parley/session/hooks/runner"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/process"
)

// A message is given back as the user wrote it. What the model was to be told with it, of hooks and of jobs
// that ended, is told with the next one, once.
func TestGivenBackWithoutNotes(t *testing.T) {
	set, dir := workspace(t)
	ended := make(chan tools.Job, 1)
	set.Jobs().OnNews(func(j tools.Job) { ended <- j })
	fake := llmtest.New(llmtest.Call(call("1", "shell", `{"command":"until [ -e go ]; do sleep 0.01; done; exit 3","background":true}`)),
		llmtest.Say("it runs"), llmtest.Say("I see"), llmtest.Say("well"))
	model := endpoint("a/a", fake)
	model.Context = 4000
	var list []hooks.Hook
	for _, h := range [][2]string{{"SessionStart", "echo began"}, {"UserPromptSubmit", "echo today"}} {
		list = append(list, hooks.Hook{Config: hooks.Config{Event: h[0], Command: process.CommandLine{Words: []string{h[1]}, Shell: true}}, Source: "hooks.toml"})
	}
	s := New(Options{Model: model, Attended: true, Tools: set, Policy: tools.NewPolicy(act.ModeYolo), Hooks: runner.New(dir, func(ctx context.Context, run process.Run) process.Result {
		run.RequireSandbox = false
		return set.RunProgram(ctx, run)
	}, list...)})
	t.Cleanup(func() { _ = s.Close() })
	stop := func() {
		t.Helper()
		events, _ := replies(t, s, []Action{StopTurn}, long(6000))
		if given := givenBack(t, events); !reflect.DeepEqual(given.Message.Parts, []llm.Part{long(6000)}) {
			t.Errorf("given back is %.300v", given)
		}
	}
	sent := func(prompt string) string {
		t.Helper()
		if _, asked := replies(t, s, nil, say(prompt)); len(asked) > 0 {
			t.Fatalf("asked %+v", asked)
		}
		requests := fake.Requests()
		messages := requests[len(requests)-1].Messages
		var texts []string
		for _, m := range messages[len(messages)-1:] {
			if m.Role != llm.RoleUser { // results of the call
				continue
			}
			texts = append(texts, m.Text())
		}
		return strings.Join(texts, "\n")
	}
	count := func(text string, want map[string]int) {
		t.Helper()
		for part, n := range want {
			if strings.Count(text, part) != n {
				t.Errorf("%q is in it %d times, want %d: %.600q", part, strings.Count(text, part), n, text)
			}
		}
	}
	stop()
	stop()
	if _, asked := replies(t, s, nil, say("serve it")); len(asked) > 0 {
		t.Fatalf("asked %+v", asked)
	}
	count(fake.Requests()[0].Messages[0].Text(), map[string]int{"serve it": 1, "began": 1, "today": 1, "word": 0})
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-ended
	stop()
	stop()
	count(sent("short"), map[string]int{"short": 1, "began": 0, "today": 1, "job 1 has ended": 1})
	count(sent("more"), map[string]int{"more": 1, "began": 0, "today": 1, "job 1 has ended": 0})
}
