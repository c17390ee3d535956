package tui

import (
	"context"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/session/hooks"
	"parley/tools/process"
)

// A prompt that a hook blocks comes back to the input, in front of what was written meanwhile.
func TestBlockedPrompt(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) {
		model := llm.Endpoint{Model: llmtest.New(llmtest.Say("hello")), Name: "fake/one", Origin: "fake/one", Strategy: "native"}
		o.Session = session.New(session.Options{Model: model, Hooks: hooks.New(t.TempDir(), func(_ context.Context, run process.Run) process.Result {
			if strings.Contains(string(run.Input), "secret") {
				return process.Result{Exit: 2, Stderr: "no secrets"}
			}
			return process.Result{}
		}, hooks.Hook{Config: hooks.Config{Event: hooks.UserPromptSubmit}})})
	})
	s.ask("the secret", "no secrets")
	s.WaitForText("› the secret")
	s.Press("ctrl+u")
	s.ask("hi", "hello")
}
