package usage

import (
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	_ "parley/session/storetest/copies"
	"parley/ui/app"
)

// report returns the /usage page of a conversation with turns.
func report(t *testing.T, turns ...llmtest.Turn) app.Page {
	t.Helper()
	lib := session.MemoryStore()
	t.Cleanup(func() { lib.Close() })
	s := session.New(session.Options{Model: llm.Endpoint{Name: "fake/m", Model: llmtest.New(turns...)}, Log: lib.Create(session.Info{Dir: "/home/me/src"})})
	t.Cleanup(func() { s.Close() })
	for range turns {
		for range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "hi"}) {
		}
	}
	a := app.New(app.Options{Flows: Register, Session: s, Library: lib, Now: time.Now, AbbrevPath: func(path string) string { return strings.Replace(path, "/home/me", "~", 1) }})
	run, ok := a.Commands[0].Do("").(app.Async)
	if !ok {
		t.Fatal("it does not run beside the screen")
	}
	page, ok := run(t.Context()).(app.Page)
	if !ok {
		t.Fatal("no page")
	}
	return page
}

// The first part has the totals and counts requests without a price; the others list the usage by model, day and so on.
func TestReport(t *testing.T) {
	page := report(t,
		llmtest.Script(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "ok"}}, llm.Usage{Input: 1200, Output: 34, Cost: 0.5, Priced: true}, llm.Finish{Reason: llm.Stop}),
		llmtest.Script(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "ok"}}, llm.Usage{Input: 10, Output: 1}, llm.Finish{Reason: llm.Stop}),
	)
	var got []string
	for _, line := range page.Parts[0].Lines {
		got = append(got, line.String())
	}
	sum := "1.2k in · 35 out · ≥$0.50"
	want := "Last answer: 10 in · 1 out|This conversation: " + sum + "|Today: " + sum + "|This month: " + sum + "|Last 30 days: " + sum + "|1 request has no known price (not included)"
	if strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
	titles := ""
	for _, part := range page.Parts[1:] {
		titles += part.Title + "|"
		if rows := part.Render(80); len(rows) != 3 || !strings.Contains(rows[1], "≥$0.50") || !strings.HasPrefix(part.Source, part.Title+":\n") {
			t.Errorf("%s: %q, %q", part.Title, rows, part.Source)
		}
	}
	if titles != "By model|By day|By provider|By folder|By session|By purpose|" {
		t.Error(titles)
	}
}

func TestNoUsage(t *testing.T) {
	page := report(t)
	if len(page.Parts) != 1 || len(page.Parts[0].Lines) != 1 || page.Parts[0].Lines[0].Text != "No usage yet" {
		t.Errorf("%+v", page)
	}
}
