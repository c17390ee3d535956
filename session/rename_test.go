package session_test

import (
	"testing"

	"parley/providers/llmtest"
	. "parley/session"
)

// A copy of a conversation can be named before anything is said in it, and keeps the name; the original keeps
// its own.
func TestRenameFork(t *testing.T) {
	lib, _ := newTestStore(t)
	o := Options{Model: endpoint("a/a", llmtest.New(llmtest.Say("one"), llmtest.Say("two"))), Log: lib.Create(Info{})}
	s := New(o)
	play(t.Context(), s, nil, say("hello"))
	copied, _, err := lib.ForkInto(lib, s.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	o.Log = copied
	fork := New(o)
	if err := fork.Rename("A name"); err != nil || fork.Title() != "A name" {
		t.Fatalf("%v, it is called %q", err, fork.Title())
	}
	play(t.Context(), fork, nil, say("more"))
	for id, want := range map[string]string{fork.ID(): "A name", s.ID(): "hello"} {
		if stored, _, err := lib.Read(id); err != nil || stored.Title != want || stored.Named != (want == "A name") {
			t.Errorf("%s is called %q, %v, %v", id, stored.Title, stored.Named, err)
		}
	}
	if err := New(Options{Model: o.Model}).Rename("x"); err == nil {
		t.Error("one that is not stored has a name")
	}
}
