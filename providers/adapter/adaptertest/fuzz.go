package adaptertest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"testing"
	"testing/iotest"

	"parley/providers/llm"
)

// Fuzz checks that no server bytes break the reader of an answer: it ends with a finish or an error, calls
// have unique ids, and the sizes of reads do not matter. Produce returns a reader of body. Cut means that
// calls of an answer that ended with an error also have ids. Check is called with the parts of each answer;
// it may be nil.
func Fuzz(f *testing.F, produce func(body io.Reader) func(context.Context, *llm.Out) error, cut bool, check func(*testing.T, []llm.Part), seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	run := func(t *testing.T, body io.Reader) (parts []llm.Part, failed error) {
		var draft llm.Draft
		finished := false
		for e, err := range llm.Produce(t.Context(), produce(body)) {
			if err != nil {
				failed = err
				continue
			}
			switch e := e.(type) {
			case llm.Delta:
				draft.Add(e)
			case llm.Finish:
				finished = true
			}
		}
		if finished == (failed != nil) {
			t.Errorf("finished %t, error %v", finished, failed)
		}
		parts = draft.Complete()
		ids := map[string]bool{}
		for _, p := range parts {
			if (finished || cut) && p.Kind == llm.Call && !p.Remote && (p.ID == "" || ids[p.ID]) {
				t.Errorf("id %q is empty or taken", p.ID)
			}
			ids[p.ID] = ids[p.ID] || p.Kind == llm.Call
		}
		if check != nil {
			check(t, parts)
		}
		return parts, failed
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, failed := run(t, bytes.NewReader(data))
		single, again := run(t, iotest.OneByteReader(bytes.NewReader(data)))
		if len(whole) != len(single) || (failed == nil) != (again == nil) {
			t.Errorf("%d parts, %v; byte by byte %d, %v", len(whole), failed, len(single), again)
		}
	})
}

// Drain reads the events of an answer, and returns its error.
func Drain(produce func(context.Context, *llm.Out) error) (failed error) {
	for _, err := range llm.Produce(context.Background(), produce) {
		failed = err
	}
	return failed
}

// Halves splits text in two, between runes.
func Halves(text string) []string {
	runes := []rune(text)
	middle := len(runes) / 2
	return []string{string(runes[:middle]), string(runes[middle:])}
}

// Quote returns text as a JSON string.
func Quote(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// A Repeat reads as Text repeated Left times.
type Repeat struct {
	Text string
	Left int
	rest string
}

// Read implements io.Reader.
func (r *Repeat) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.Left == 0 {
			return 0, io.EOF
		}
		r.Left--
		r.rest = r.Text
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
