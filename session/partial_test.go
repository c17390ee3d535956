package session_test

import (
	"context"
	"path/filepath"
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
