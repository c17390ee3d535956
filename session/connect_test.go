package session_test

import (
	"context"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools/act"
)

// connecting is a model that counts connections.
type connecting struct {
	llm.Model
	connected *int
}

func (c connecting) Connect() { *c.connected++ }

// The model's server is connected to while a prompt is written and while it is stored, unless another
// model would answer or a hook blocks the prompt.
func TestConnect(t *testing.T) {
	tests := []struct {
		name    string
		options Options
		want    int
	}{
		{"a model", Options{}, 4},
		{"a model that had failed, until it answers", Options{Cooldowns: failed("a/a")}, 2},
		{"blocked prompts", Options{Hooks: blocking{}}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			connected := 0
			tt.options.Model = endpoint("a/a", connecting{llmtest.New(llmtest.Say("1"), llmtest.Say("2")), &connected})
			s := New(tt.options)
			for range 2 {
				s.Connect()
				play(t.Context(), s, nil, say("hi"))
			}
			if connected != tt.want {
				t.Errorf("connected %d times, want %d", connected, tt.want)
			}
		})
	}
}

// blocking are hooks that block each prompt.
type blocking struct{}

func (blocking) Fire(_ context.Context, in act.HookInput) (a act.HookAnswer) {
	if in.Event == act.HookUserPromptSubmit {
		a.Verdict = act.Deny
	}
	return a
}

// failed returns the cooldown of a model that failed a moment ago.
func failed(model string) *Cooldowns {
	var c Cooldowns
	Failed(&c, model, &llm.Error{Fault: llm.Server, Message: "busy"})
	return &c
}
