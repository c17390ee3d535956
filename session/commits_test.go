package session_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/session/storetest/copies"
)

// clocked is a model that calls asked before it answers.
type clocked struct {
	llm.Model
	asked func()
}

func (c clocked) Stream(ctx context.Context, r llm.Request) llm.Stream {
	c.asked()
	return c.Model.Stream(ctx, r)
}

// One transaction comes before a request: it has the prompt and what changed of the conversation. AfterTurn follows the
// answer.
func TestOneTransactionBeforeTheRequest(t *testing.T) {
	path := filepath.Join(llmtest.Folder(t), "parley.db")
	lib := copies.Open(t, path)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	clock := func() (n int) {
		if err := db.QueryRow(`SELECT clock FROM meta`).Scan(&n); err != nil {
			t.Error(err)
		}
		return n
	}
	var steps []string
	began, ended := 0, 0
	o := Options{Log: lib.Create(Info{}), AfterTurn: func() { steps = append(steps, "after") }}
	o.Model = endpoint("a/a", clocked{llmtest.New(llmtest.Say("1"), llmtest.Say("2"), llmtest.Say("3")), func() {
		steps = append(steps, "request")
		ended = clock()
	}})
	s := New(o)
	for _, change := range []func(){
		func() {},
		func() { s.SetModel(endpoint("b/b", o.Model.Model)) },
		func() { s.Next.SetEffort(llm.EffortHigh) },
	} {
		change()
		began = clock()
		play(t.Context(), s, nil, say("hi"))
		if n := ended - began; n != 1 {
			t.Errorf("%d transactions before the request", n)
		}
	}
	if want := slices.Repeat([]string{"request", "after"}, 3); !slices.Equal(steps, want) {
		t.Errorf("got %q", steps)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
