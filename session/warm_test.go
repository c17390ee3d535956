package session_test

import (
	"context"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
)

// warmed is a model that tells when it is warmed, and counts connections.
type warmed struct {
	llm.Model
	warm      func()
	connected *int
}

func (w warmed) Warm(context.Context) { w.warm() }

func (w warmed) Connect() { *w.connected++ }

// The model's server is connected to beside the storing of a prompt, and only where nothing can keep
// the request back. A model that is connected does nothing. While a prompt is written, it is connected to unless another
// model would answer.
func TestWarm(t *testing.T) {
	tests := []struct {
		name    string
		options Options
		prompts int
		want    int
	}{
		{"the first prompt", Options{}, 1, 1},
		{"those behind it", Options{}, 3, 3},
		{"those far below the window", Options{Model: llm.Endpoint{Context: 200}}, 3, 3},
		{"one near the window", Options{Model: llm.Endpoint{Context: 45}}, 3, 2},
		{"one near a summary", Options{Model: llm.Endpoint{Context: 200}, Config: Config{CompactAt: 0.2}}, 3, 2},
		{"a limit", Options{Limits: []Limit{{Period: PerSession, Cost: 1}}}, 1, 0},
		{"a limit of another provider", Options{Limits: []Limit{{Period: PerSession, Cost: 1, Provider: "b"}}}, 1, 1},
		{"a question about its cost", Options{ConfirmCost: 1, Attended: true}, 1, 0},
		{"a notice of its cost", Options{ConfirmCost: 1}, 1, 1},
		{"a model that had failed", Options{Cooldowns: failed("a/a")}, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			begun := make(chan struct{}, tt.prompts)
			fake := llmtest.New(llmtest.Say("1"), llmtest.Say("2"), llmtest.Say("3"))
			connected := 0
			window := tt.options.Model.Context
			tt.options.Model = endpoint("a/a", warmed{fake, func() { begun <- struct{}{} }, &connected})
			tt.options.Model.Context = window
			s := New(tt.options)
			for range tt.prompts {
				s.Connect()
				play(t.Context(), s, nil, say("hi"))
			}
			for range tt.want {
				<-begun
			}
			if err := s.Close(); err != nil || len(begun) > 0 {
				t.Errorf("warmed %d times more, %v", len(begun), err)
			}
			want := tt.prompts
			if tt.options.Cooldowns != nil {
				want = 0
			}
			if connected != want {
				t.Errorf("connected %d times, want %d", connected, want)
			}
		})
	}
}

// failed returns the pause of a model that was overloaded a moment ago.
func failed(model string) *Cooldowns {
	var c Cooldowns
	c.Fail(model, &llm.Error{Fault: llm.Server, Message: "busy"}, time.Now())
	return &c
}

// A model that cannot be warmed is asked all the same.
func TestWarmFails(t *testing.T) {
	done := make(chan struct{})
	model := warmed{Model: llmtest.New(llmtest.Say("hello")), warm: func() {
		defer close(done)
		panic("no server")
	}}
	s := New(Options{Model: endpoint("a/a", model)})
	events := play(t.Context(), s, nil, say("hi"))
	<-done
	if len(events) == 0 || s.Empty() {
		t.Errorf("got %v", events)
	}
}
