package tui

import (
	"context"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/session/hooks"
	"parley/session/hooks/runner"
	"parley/tools/act"
	"parley/tools/process"
)

// A prompt that a hook blocks returns to the input, before text queued and written meanwhile.
func TestBlockedPrompt(t *testing.T) {
	var queue func()
	s := setUpWith(t, 80, 24, func(o *Options) {
		queue = func() { o.App.Session.Queue.Add(llm.Part{Kind: llm.Text, Text: "queued"}) }
		model := llm.Endpoint{Model: llmtest.New(llmtest.Say("hello")), Name: "fake/one", Origin: "fake/one", Strategy: "native"}
		o.App.Session = session.New(session.Options{Model: model, Hooks: runner.New(t.TempDir(), func(_ context.Context, run process.Run) process.Result {
			if strings.Contains(string(run.Input), "secret") {
				queue()
				return process.Result{Exit: 2, Stderr: "no secrets"}
			}
			return process.Result{}
		}, hooks.Hook{Config: hooks.Config{Event: act.HookUserPromptSubmit}})})
	})
	s.ask("the secret", "no secrets")
	s.idle()
	if got := s.m.input.Composer.Value(); got != "the secret\n\nqueued" {
		t.Errorf("the draft is %q", got)
	}
	s.Press("ctrl+c")
	s.ask("hi", "hello")
}

// Text that a hook adds to a prompt is shown as an attachment, and is not part of the draft when the
// prompt is edited.
func TestHookContext(t *testing.T) {
	fake := llmtest.New(llmtest.Say("hello"), llmtest.Say("again"))
	s := setUpWith(t, 80, 24, func(o *Options) {
		model := llm.Endpoint{Model: fake, Name: "fake/one", Origin: "fake/one", Strategy: "native"}
		o.App.Session = session.New(session.Options{Model: model, Hooks: runner.New(t.TempDir(), func(context.Context, process.Run) process.Result {
			return process.Result{Stdout: []byte("monday")}
		}, hooks.Hook{Config: hooks.Config{Event: act.HookUserPromptSubmit}})})
	})
	s.ask("hi", "[added by a hook, 1 line, 6 bytes]")
	s.idle()
	s.Press("esc", "esc").WaitForText("Edit which message")
	s.Press("enter").WaitForText("Editing an earlier message")
	s.Press("enter").WaitForText("again")
	if got := fake.Requests()[1].Messages; len(got) != 1 || len(got[0].Parts) != 2 {
		t.Errorf("the edited message is %+v", got)
	}
}
