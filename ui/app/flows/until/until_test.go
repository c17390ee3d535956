package until

import (
	"context"
	"fmt"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/app"
	"parley/ui/uitest/apptest"
)

// TestArguments: the command, the rounds before it, and what is refused.
func TestArguments(t *testing.T) {
	const runs = "Runs when the model is done: "
	for arg, want := range map[string]string{
		"go test ./...": runs + "go test ./... · 10 rounds of go test ./...",
		"3 make":        runs + "make · 3 rounds of make",
		"7":             "/until 7 needs a command, such as /until 7 go test ./... · ",
		"off":           "No command runs after the answer · ",
		"0 make":        "/until 0: use 1 round or more · ",
		"":              "/until needs a command, such as /until go test ./... · ",
	} {
		a := apptest.New(t, Register, func(o *app.Options) {
			o.Session = session.New(session.Options{Model: llm.Endpoint{Model: llmtest.New(llmtest.Say("done")), Name: "fake/m"}})
		})
		got := ""
		a.Machine.Until = func(_ *session.Session, command string, rounds int) session.Check {
			got = fmt.Sprintf("%d rounds of %s", rounds, command)
			return func(context.Context, func(session.Event)) ([]llm.Part, error) { return nil, nil }
		}
		a.FrontEnd.Busy = func() bool { return true }
		for e := range a.Session.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "go"}) {
			if _, ok := e.(session.Step); !ok {
				continue
			}
			seen := apptest.See(a.Command("until").Do(arg))
			text := seen.Toast
			if seen.Err != nil {
				text = seen.Err.Error()
			}
			if got = text + " · " + got; got != want {
				t.Errorf("/until %s: got %q, want %q", arg, got, want)
			}
		}
		if got == "" {
			t.Error("no step")
		}
		a.Session.Close()
	}
}

// TestEnding: a turn that runs no command, such as one that is ending, refuses it.
func TestEnding(t *testing.T) {
	a := apptest.New(t, Register)
	a.Machine.Until = func(*session.Session, string, int) session.Check {
		return func(context.Context, func(session.Event)) ([]llm.Part, error) { return nil, nil }
	}
	a.FrontEnd.Busy = func() bool { return true }
	if got, want := apptest.Toast(a.Command("until").Do("make")), "This turn runs no command: use /until again when it has ended"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestIdle: if no turn is running, the command runs at once, and its output is a prompt.
func TestIdle(t *testing.T) {
	a := apptest.New(t, Register)
	a.Machine.Until = func(*session.Session, string, int) session.Check {
		return func(_ context.Context, emit func(session.Event)) ([]llm.Part, error) {
			emit(llm.Notice{Text: "passed"})
			return nil, nil
		}
	}
	play, ok := a.Command("until").Do("make").(app.Play)
	if !ok {
		t.Fatal("no turn")
	}
	var events []string
	for e := range play(t.Context()) {
		events = append(events, fmt.Sprintf("%T", e))
	}
	if got := fmt.Sprint(events); got != "[llm.Notice session.Done]" {
		t.Errorf("events %s", got)
	}
}
