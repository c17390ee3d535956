package session_test

import (
	"context"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
)

// An answer that was stopped or broke off is paid for: its tokens count, as an
// estimate without a price, and the conversation keeps why it ended.
func TestCutAnswersCount(t *testing.T) {
	text := strings.Repeat("word ", 400)
	reported := func(_ context.Context, _ llm.Request, out *llm.Out) error {
		out.Send(llm.Usage{Input: 70, Output: 1, Cost: 0.5, Priced: true})
		out.Send(llm.Delta{Block: "a", Part: say(text)})
		return &llm.Error{Fault: llm.Network, Message: "gone"}
	}
	for name, tt := range map[string]struct {
		turn  llmtest.Turn
		want  llm.Usage
		broke string
	}{
		"stopped":           {llmtest.Hang(text), llm.Usage{Input: 1 + 10 + 1, Output: 500}, ""},
		"broke off":         {llmtest.Cut(text), llm.Usage{Input: 1 + 10 + 1, Output: 500}, "stream ended"},
		"its start is told": {reported, llm.Usage{Input: 70, Output: 500, Cost: 0.5}, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{Model: endpoint("m/0", llmtest.New(tt.turn)), EstimateTokens: func(text string) int { return len(text) / 4 }})
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			for e := range s.Turn(ctx, say("four")) {
				if d, ok := e.(llm.Delta); ok && d.Text != "" {
					if tt.broke == "" {
						cancel(context.Canceled)
					}
				}
			}
			total, _ := s.Usage()
			path := s.Path()
			n := path[len(path)-1]
			if total != tt.want || n.Usage == nil || *n.Usage != tt.want {
				t.Errorf("counted %+v, kept %+v, want %+v", total, n.Usage, tt.want)
			}
			if !n.Interrupted || (n.InterruptedBy == "") != (tt.broke == "") || !strings.Contains(n.InterruptedBy, tt.broke) {
				t.Errorf("kept that it broke off for %q, want %q", n.InterruptedBy, tt.broke)
			}
		})
	}
}
