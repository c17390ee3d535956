package session_test

import (
	"context"
	"math/rand/v2"
	"reflect"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools"
	"parley/tools/act"
)

// Once sent, a message is sent the same way ever after, as long as the branch and the
// origin stay: each request to a model begins with the last one to it. A provider's
// prompt cache lives on that, and what is shown of a long conversation can be read from
// its end. A prompt that nothing followed takes the next one in.
func TestRequestsOnlyGrow(t *testing.T) {
	set, _ := workspace(t)
	rng := rand.New(rand.NewPCG(7, 8))
	compared := 0
	for range 200 {
		fakes := map[string]*llmtest.Fake{}
		for _, name := range []string{"a/a", "b/b"} {
			var turns []llmtest.Turn
			for range 12 {
				turns = append(turns, randomTurn(rng))
			}
			fakes[name] = llmtest.New(turns...)
		}
		s := New(Options{Model: endpoint("a/a", fakes["a/a"]), Tools: set, Policy: tools.NewPolicy(act.ModeAsk)})
		for range 6 {
			name := []string{"a/a", "b/b"}[rng.IntN(2)]
			s.SetModel(endpoint(name, fakes[name]))
			ctx, cancel := context.WithCancel(t.Context())
			n, stopAt := 0, rng.IntN(40)
			for e := range s.Turn(ctx, say("hi")) {
				if n++; n == stopAt {
					cancel()
				}
				if ask, ok := e.(ApprovalRequest); ok {
					ask.Reply(act.Approval{Verdict: act.Deny})
				}
			}
			cancel()
		}
		for name, fake := range fakes {
			var last []llm.Message
			for _, req := range fake.Requests() {
				if !grows(last, req.Messages) {
					t.Fatalf("%s was sent\n%+v\nand then\n%+v", name, last, req.Messages)
				}
				compared += len(last)
				last = req.Messages
			}
		}
	}
	if compared < 1000 {
		t.Errorf("only %d messages were sent again", compared)
	}
}

// grows reports whether next begins with last.
func grows(last, next []llm.Message) bool {
	for i, m := range last {
		switch {
		case i >= len(next):
			return false
		case reflect.DeepEqual(m, next[i]):
		case i == len(last)-1 && m.Role == llm.RoleUser && next[i].Role == llm.RoleUser && len(next[i].Parts) > len(m.Parts):
			return reflect.DeepEqual(m.Parts, next[i].Parts[:len(m.Parts)])
		default:
			return false
		}
	}
	return true
}
