package llm_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"parley/providers/llm"
)

// TestNotices: with many answers at the same time, each text is sent once.
func TestNotices(t *testing.T) {
	var n llm.Notices
	var mu sync.Mutex
	var got []string
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for e := range llm.Produce(t.Context(), func(_ context.Context, out *llm.Out) error {
				n.SendOnce(out)
				n.SendOnce(out, "a", "b", "a")
				n.SendOnce(out, "c")
				out.Send(llm.Finish{Reason: llm.Stop})
				return nil
			}) {
				if e, ok := e.(llm.Notice); ok {
					mu.Lock()
					got = append(got, e.Text)
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	slices.Sort(got)
	if want := []string{"a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}
