package llmtest

import (
	"testing"

	"parley/providers/llm"
)

// A Response is the result of a stream.
type Response struct {
	Parts  []llm.Part
	Finish llm.Finish
	Usage  llm.Usage
	Err    error
}

// Collect reads s, and checks the properties of every stream: it ends with a finish or an error,
// and no event follows. The parts of an interrupted response are those of llm.Draft.Interrupted.
func Collect(t testing.TB, s llm.Stream) Response {
	t.Helper()
	var r Response
	var draft llm.Draft
	finished := false
	for e, err := range s {
		if r.Err != nil || finished {
			t.Fatalf("%#v after the end", e)
		}
		if err != nil {
			r.Err = err
			continue
		}
		switch e := e.(type) {
		case llm.Delta:
			draft.Add(e)
		case llm.Retry:
			draft.Discard(e.Discards)
		case llm.Usage:
			r.Usage = e
		case llm.Finish:
			r.Finish, finished = e, true
		}
	}
	if r.Err == nil && !finished {
		t.Fatal("the stream ended without finish or error")
	}
	r.Parts = draft.Complete()
	if r.Err != nil {
		r.Parts = draft.Interrupted()
	}
	return r
}
