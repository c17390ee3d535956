package app

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
)

// A switch to another model says what it would not get.
func TestModelFitWords(t *testing.T) {
	a := newApp(t)
	if words := ModelFitWords(a.Session, llm.Endpoint{Name: "a/b", Context: 1}); words != nil {
		t.Errorf("an empty conversation: %q", words)
	}
	media := func(mime string) llm.Part { return llm.Part{Kind: llm.Media, MIME: mime, Data: []byte{0, 1}} }
	a.Session.SetModel(llm.Endpoint{Name: "fake/m", Origin: "fake", Vision: true, Files: []string{"audio/", "video/", "application/"}, Cache: llm.Cache{Lifetime: time.Hour},
		Model: llmtest.New(llmtest.Script(
			llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "hm"}}, llm.Delta{Block: "a", Part: text("yes")},
			llm.Usage{Input: 4000, CacheRead: 3000, Output: 10}, llm.Finish{Reason: llm.Stop}))})
	for range a.Session.Turn(t.Context(), media("image/png"), media("image/gif"), media("audio/mp3"), media("video/mp4"), media("application/pdf"), media("application/zip"), text("look")) {
	}
	all := llm.Endpoint{Name: "b/c", Origin: "fake", Vision: true, Files: []string{"audio/", "video/", "application/"}}
	for name, c := range map[string]struct {
		change func(*llm.Endpoint)
		want   string
	}{
		"nothing":      {func(e *llm.Endpoint) {}, "prompt cache lost (3.0k tokens)"},
		"the same one": {func(e *llm.Endpoint) { e.Name = "fake/m" }, ""},
		"a window":     {func(e *llm.Endpoint) { e.Context = 100_000 }, "context 4% | prompt cache lost (3.0k tokens)"},
		"no room":      {func(e *llm.Endpoint) { e.Context = 1000 }, "context 401%: too long | prompt cache lost (3.0k tokens)"},
		"no files": {func(e *llm.Endpoint) { e.Vision, e.Blind, e.Files = false, true, nil },
			"2 images not sent | 1 PDF not sent | 1 audio file not sent | 1 video not sent | 1 file not sent | prompt cache lost (3.0k tokens)"},
		"thinking": {func(e *llm.Endpoint) { e.Origin = "other" }, "prompt cache lost (3.0k tokens) | thinking not sent"},
	} {
		model := all
		c.change(&model)
		if got := strings.Join(ModelFitWords(a.Session, model), " | "); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if got := (ModelChoice{Retires: "2027-01-01"}).Warnings(); len(got) != 1 || got[0] != "retires on 2027-01-01" {
		t.Errorf("warned %q", got)
	}
	if got := (ModelChoice{}).Warnings(); got != nil {
		t.Errorf("warned %q", got)
	}
}

// A limit is raised in its own unit.
func TestRaiseText(t *testing.T) {
	for _, c := range []struct {
		limit  session.Limit
		amount float64
		want   string
	}{
		{session.Limit{Cost: 2}, 4, "Raise it to $4.00"}, {session.Limit{Tokens: 1000}, 2000, "Raise it to 2.0k tokens"},
		{session.Limit{Cost: 2, Tokens: 1000}, 2000, "Raise it to 2.0k tokens"}, {session.Limit{Cost: 2, Tokens: 1000}, 1000, "Raise it to $1000.00"},
	} {
		if got := raiseText(c.limit, c.amount); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.limit, got, c.want)
		}
	}
	text, answers := QuestionText(session.Question{About: session.Overflow{Model: "a/b", Tokens: 20_000, Window: 8000, Widen: "start it with -c"}, Choices: []session.Choice{{Action: session.OmitOldest}, {Action: session.StopTurn}}})
	if want := "Too long for a/b: about 20k tokens, and its context window is 8.0k. Not sent yet.\nTo make it larger, start it with -c."; text != want || strings.Join(answers, " | ") != "Skip the oldest turns | Stop" {
		t.Errorf("got %q, %q", text, answers)
	}
}

// The user's messages are listed with their fate, the latest first.
func TestTurns(t *testing.T) {
	a := newApp(t)
	a.Session.SetModel(llm.Endpoint{})
	ask(t, a.Session, "a/b", [2]string{"one", "1"}, [2]string{"two", ""}, [2]string{"three", "3"}, [2]string{"four", ""})
	a.Now = func() time.Time { return time.Unix(1e9, 0) }
	list := func() string {
		var got []string
		for _, item := range Turns(a) {
			state, _, cut := strings.Cut(item.Detail, " · ")
			if !cut {
				state = "answered"
			}
			got = append(got, item.Title+": "+state)
		}
		return strings.Join(got, ", ")
	}
	if got, want := list(), "four: no answer, three: answered, two: no answer, one: answered"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	a.FrontEnd.Busy = func() bool { return true }
	if got, want := list(), "four: answered, three: answered, two: no answer, one: answered"; got != want {
		t.Errorf("during a turn: got %s, want %s", got, want)
	}
}

func TestStarted(t *testing.T) {
	a := newApp(t)
	a.Reopened = func() Effect { return Toast("back") }
	if e := a.Started(); see(e).Toast != "back" {
		t.Errorf("got %+v", e)
	}
	for _, failure := range []error{nil, os.ErrInvalid} {
		a.MCP.StartServers = func() error { return failure }
		if e := a.Started(); see(e).Toast != "back" || see(e).Failed != failure {
			t.Errorf("%v: got %+v", failure, e)
		}
	}
	called := 0
	a.Watch = append(a.Watch, func(func(func() Effect)) { called++ }, func(func(func() Effect)) { called++ })
	if a.WatchAll(func(func() Effect) {}); called != 2 {
		t.Errorf("%d watch", called)
	}
	if e := a.Annotate(llm.Notice{Text: "a notice"}); see(e).Event != (llm.Notice{Text: "a notice"}) {
		t.Errorf("shown is %+v", e)
	}
	see(a.SaveState("k", "v")).Async(context.Background())
	if got, _ := a.Library.Get("k"); got != "v" {
		t.Errorf("stored %q", got)
	}
}
