package app

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
)

// A model that is retired soon has a warning.
func TestModelWarnings(t *testing.T) {
	if got := (ModelChoice{Retires: "2027-01-01"}).Warnings(); len(got) != 1 || got[0] != "retires on 2027-01-01" {
		t.Errorf("warned %q", got)
	}
	if got := (ModelChoice{}).Warnings(); got != nil {
		t.Errorf("warned %q", got)
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
