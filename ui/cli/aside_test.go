package cli

import (
	"context"
	"database/sql"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
)

// The estimated cost of --aside is reserved in the day's limit while it is asked. If nothing can be reserved, it is asked
// all the same.
func TestAsideReserves(t *testing.T) {
	home := llmtest.Folder(t)
	getenv := func(string) string { return home }
	path, err := session.StorePath(getenv)
	if err != nil {
		t.Fatal(err)
	}
	a := newProgram()
	a.Quiet, a.config.Budget.Day = true, 100
	if a.original, err = session.OpenStore(getenv); err != nil {
		t.Fatal(err)
	}
	defer a.original.Close()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var held []float64
	counts := func(ctx context.Context, r llm.Request, out *llm.Out) error {
		var cost float64
		if err := db.QueryRow(`SELECT coalesce(sum(cost), 0) FROM reservations`).Scan(&cost); err != nil {
			t.Error(err)
		}
		held = append(held, cost)
		return llmtest.Say("because")(ctx, r, out)
	}
	model := llm.Endpoint{Name: "fake/m", Origin: "fake", Model: llmtest.New(llmtest.Say("hello"), counts, counts)}
	model.Cost = func(u llm.Usage) (float64, bool) { return float64(u.Input) / 1000, true }
	s := session.New(session.Options{Model: model})
	defer s.Close()
	question := llm.Part{Kind: llm.Text, Text: "why do whales breathe?"}
	for range s.Turn(t.Context(), question) {
	}
	for range 2 {
		for e := range askAside(t.Context(), a, s, []llm.Part{question}) {
			if done, ok := e.(session.Done); ok && done.Err != nil {
				t.Error(done.Err)
			}
		}
		if _, err := db.Exec(`CREATE TRIGGER full BEFORE INSERT ON reservations BEGIN SELECT RAISE(ABORT, 'full'); END`); len(held) == 1 && err != nil {
			t.Fatal(err)
		}
	}
	if len(held) != 2 || held[0] <= 0 || held[1] != 0 {
		t.Errorf("reserved %v", held)
	}
}
