package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools"
	"parley/tools/act"
)

// flood sends deltas until it is told to stop.
func flood(delta func(n int) llm.Delta) llmtest.Turn {
	return func(_ context.Context, _ llm.Request, out *llm.Out) error {
		for n := 0; out.Send(delta(n)); n++ {
		}
		return nil
	}
}

// An answer that reaches a limit ends the turn: it is not asked for again, no call
// of it runs, what came stays, and the conversation goes on from it.
func TestCappedAnswers(t *testing.T) {
	mega := strings.Repeat("x", 1<<20)
	for _, tt := range []struct {
		name    string
		delta   func(n int) llm.Delta
		text    int // bytes that stay
		results int
	}{
		{"text", func(int) llm.Delta { return llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: mega}} }, 32 << 20, 0},
		{"one call", func(n int) llm.Delta {
			if n == 0 {
				return llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Call, ID: "1", Name: "write", Input: `{"path":"b.txt","content":"`}}
			}
			return llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Call, Input: mega}}
		}, 0, 1},
		{"calls", func(n int) llm.Delta {
			return llm.Delta{Block: fmt.Sprint(n), Part: llm.Part{Kind: llm.Call, ID: fmt.Sprint(n), Name: "read", Input: `{"path":"a.txt"}`}}
		}, 0, 128},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, _ := workspace(t)
			fake := llmtest.New(flood(tt.delta), llmtest.Say("fine"))
			s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk)})
			events := play(t.Context(), s, nil, say("hi"))
			if done := doneOf(t, events); done.Err != nil || done.Reason != llm.Length || len(fake.Requests()) != 1 {
				t.Errorf("ended with %+v after %d requests", done, len(fake.Requests()))
			}
			got := toolResults(events)
			for _, r := range got {
				if !strings.HasPrefix(r, "!") || !strings.Contains(r, "this was not run") {
					t.Errorf("result %q", r)
				}
			}
			if len(got) != tt.results {
				t.Errorf("%d results, want %d", len(got), tt.results)
			}
			play(t.Context(), s, nil, say("go on"))
			history := fake.Requests()[1].Messages
			if err := valid(history); err != nil {
				t.Error(err)
			}
			text, input := 0, 0
			for _, m := range history {
				text += len(m.Text())
				for _, c := range m.Calls() {
					input += len(c.Input)
				}
			}
			if text -= len("hi") + len("go on"); text != tt.text || input > 10<<10 {
				t.Errorf("the next request holds %d bytes of text, want %d, and %d of arguments", text, tt.text, input)
			}
		})
	}
}
