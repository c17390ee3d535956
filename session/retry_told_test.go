package session_test

import (
	"context"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
)

// A retry says that the answer which it replaces is not sent, here and in the conversation when it is read again.
func TestRetryTellsWhatIsReplaced(t *testing.T) {
	cut := func(_ context.Context, _ llm.Request, out *llm.Out) error {
		out.Send(llm.Delta{Block: "a", Part: say("half")})
		return &llm.Error{Fault: llm.InvalidRequest, Message: "no"}
	}
	lib, _ := newTestStore(t)
	o := Options{Model: endpoint("a/a", llmtest.New(cut, llmtest.Say("whole"))), Log: lib.Create(Info{})}
	s := New(o)
	play(t.Context(), s, nil, say("hello"))
	const told = "trying again: the answer above is not sent"
	notices := eventsOf[llm.Notice](play(t.Context(), s, nil))
	if len(notices) != 1 || notices[0].Text != told {
		t.Errorf("told %+v", notices)
	}
	s = reopen(t, lib, s, o)
	var kept []string
	for _, between := range s.Annotations(s.Path()) {
		for _, a := range between {
			if n, ok := DecodeAnnotation(a).(llm.Notice); ok {
				kept = append(kept, n.Text)
			}
		}
	}
	if len(kept) != 1 || kept[0] != told {
		t.Errorf("kept %q", kept)
	}
}
