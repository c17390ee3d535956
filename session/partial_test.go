package session_test

import (
	"bytes"
	"context"
	"iter"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/session/store"
)

// TestPartialIsSaved: whatever ends parley, of an answer that arrives for minutes no more is
// lost than what came in the last second.
func TestPartialIsSaved(t *testing.T) {
	path := filepath.Join(llmtest.Folder(t), "parley.db")
	synctest.Test(t, func(t *testing.T) {
		lib, err := store.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer lib.Close()
		s := New(Options{Log: lib.Create(Info{})})
		defer s.Close()
		s.SetModel(endpoint("a/a", llmtest.New(func(_ context.Context, _ llm.Request, out *llm.Out) error {
			text := ""
			for _, word := range []string{"one ", "two ", "three ", "four "} {
				text += word
				out.Send(llm.Delta{Block: "a", Part: say(word)})
				time.Sleep(time.Second)
				synctest.Wait()
				_, nodes, err := lib.Read(s.ID())
				if err != nil {
					t.Error(err)
					return nil
				}
				if got := nodes[len(nodes)-1].Text(); got != text {
					t.Errorf("a second after %q came there is %q", text, got)
				}
			}
			out.Send(llm.Finish{Reason: llm.Stop})
			return nil
		})))
		play(t.Context(), s, nil, say("count"))
	})
}

// TestPartialEndsWithConsumer: a consumer that panics leaves no goroutine that would write
// what had arrived over a later message.
func TestPartialEndsWithConsumer(t *testing.T) {
	models := []llm.Endpoint{endpoint("m/0", llmtest.New(llmtest.Hang("half"))), endpoint("m/1", llmtest.New(llmtest.Hang("less")))}
	tests := []struct {
		name string
		run  func(*Session) iter.Seq[Event]
	}{
		{"a turn", func(s *Session) iter.Seq[Event] { return s.Turn(t.Context(), say("count")) }},
		{"a comparison", func(s *Session) iter.Seq[Event] { return s.Compare(t.Context(), models, nil, say("count")) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lib, _ := newTestStore(t)
			s := New(Options{Model: models[0], Log: lib.Create(Info{})})
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the panic was caught")
					}
				}()
				for e := range tt.run(s) {
					if c, ok := e.(CandidateEvent); ok {
						e = c.Event
					}
					if _, ok := e.(llm.Delta); ok {
						panic("a bug of the consumer")
					}
				}
			}()
			stacks := make([]byte, 1<<20)
			if stacks = stacks[:runtime.Stack(stacks, true)]; bytes.Contains(stacks, []byte("saveLoop")) {
				t.Error("what arrived is still written")
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
