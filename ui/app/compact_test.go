package app

import (
	"context"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
)

// TestCompactEdit: /compact edit puts the command that replaces the summary into the draft, with the lines of the
// summary; /compact undo returns to the state before it.
func TestCompactEdit(t *testing.T) {
	a := newApp(t)
	if e := run(t, a, "/compact edit"); toastOf(e) == "" || see(e).Turn != nil {
		t.Errorf("an empty conversation: %+v", e)
	}
	fake := llmtest.New(llmtest.Say("1"), llmtest.Say("2"), llmtest.Say("## Goal\nCount.\n\n## Open\n3?"))
	a.Session.SetModel(llm.Endpoint{Name: "fake/m", Origin: "fake", Model: fake})
	for _, prompt := range []string{"one", "two"} {
		for range a.Session.Turn(context.Background(), llm.Part{Kind: llm.Text, Text: prompt + strings.Repeat(" long", 200)}) {
		}
	}
	if e := run(t, a, "/compact edit"); see(e).Err == nil {
		t.Errorf("no summary yet: %+v", e)
	}
	if e := run(t, a, "/compact nonsense"); see(e).Err == nil || see(e).Turn != nil {
		t.Errorf("an unknown action: %+v", e)
	}
	for range see(run(t, a, "/compact")).Turn(context.Background()) {
	}
	e := run(t, a, "/compact edit")
	if see(e).Text != "/compact edit ## Goal\nCount.\n\n## Open\n3?" || !AllowsMultiline(see(e).Text, a.Commands) {
		t.Fatalf("the draft is %q", see(e).Text)
	}
	if e := run(t, a, strings.Replace(see(e).Text, "3?", "3 and 4?", 1)); see(e).Err != nil || see(e).SessionOpened == nil {
		t.Fatalf("%+v", e)
	}
	if _, text, _ := a.Session.Branch.LastSummary(); text != "## Goal\nCount.\n\n## Open\n3 and 4?" {
		t.Errorf("the summary is %q", text)
	}
	if e := run(t, a, "/compact undo"); see(e).Err != nil || see(e).SessionOpened == nil {
		t.Errorf("%+v", e)
	}
	if _, text, ok := a.Session.Branch.LastSummary(); ok || len(a.Session.History()) != 4 {
		t.Errorf("after undo: %q, %d messages", text, len(a.Session.History()))
	}
	if e := run(t, a, "/compact undo"); see(e).Err != session.ErrNoSummary {
		t.Errorf("a second time: %+v", e)
	}
}

// TestTakesLines: only commands that say so accept an argument of several lines; other such text is a message.
func TestTakesLines(t *testing.T) {
	commands := newApp(t).Commands
	for text, want := range map[string]bool{
		"/compact edit a\nb": true, "/summarize edit a\n\nb": true, "/compact edit a": true,
		"/compact a\nb": false, "/compact\nedit": false, "/compact editor\nb": false, "/rename edit\nb": false, "compact edit a\nb": false,
	} {
		if got := AllowsMultiline(text, commands); got != want {
			t.Errorf("%q: %v", text, got)
		}
		if _, _, ok := parseCommand(text, commands); ok != want && strings.Contains(text, "\n") {
			t.Errorf("%q is a command: %v", text, ok)
		}
	}
}
