package features

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/ui/app"
	"parley/ui/tui/common"
	"parley/ui/tui/panel"
)

// A statusFixture has a stopped clock, and runs of the command that the test ends.
type statusFixture struct {
	*StatusCommand
	now   time.Time
	runs  chan []byte     // input of each run
	ends  chan statusMsg  // result of each run
	begun tea.Cmd         // the running command
	later []time.Duration // requested timers
}

func newStatusFixture(t *testing.T) *statusFixture {
	f := &statusFixture{now: time.Unix(1e9, 0), runs: make(chan []byte, 1), ends: make(chan statusMsg)}
	c := common.DefaultConfig()
	c.StatusCommand = "prompt"
	s := common.New(c, func(string) string { return "" }, func() time.Time { return f.now })
	s.Tick = func(d time.Duration, msg tea.Msg) tea.Cmd {
		f.later = append(f.later, d)
		return func() tea.Msg { return msg }
	}
	a := &app.App{Options: app.Options{Directory: "/work", FirstScreen: app.FirstScreen{Version: "1.2"}}}
	a.Machine.Filter = func(_ context.Context, command string, input []byte) (string, error) {
		if command != "prompt" {
			t.Errorf("ran %q", command)
		}
		f.runs <- input
		end := <-f.ends
		return end.text, end.err
	}
	f.StatusCommand = &StatusCommand{Deps: &panel.Deps{Screen: s, App: a}}
	return f
}

// begin starts a run.
func (f *statusFixture) begin(facts statusFacts) {
	f.begun = f.changed(facts)
	<-f.runs
}

// end ends the run and handles its result.
func (f *statusFixture) end(text string, err error) {
	f.ends <- statusMsg{text, err}
	f.Update(f.begun())
}

// The command runs when its input has changed, one run at a time, and no sooner than 300
// ms after the last.
func TestStatusCommandRuns(t *testing.T) {
	f := newStatusFixture(t)
	one, two, three := statusFacts{Model: "a/b"}, statusFacts{Model: "a/c"}, statusFacts{Model: "a/d"}
	f.begin(one)
	if f.changed(two) != nil || len(f.runs) > 0 {
		t.Fatal("a second one runs beside the first")
	}
	f.end("first\n", nil)
	if f.StatusText != "first" {
		t.Errorf("it said %q", f.StatusText)
	}
	if f.changed(one) != nil {
		t.Error("it runs though nothing changed")
	}
	f.now = f.now.Add(100 * time.Millisecond)
	due := f.changed(two)
	if len(f.runs) > 0 || !reflect.DeepEqual(f.later, []time.Duration{200 * time.Millisecond}) {
		t.Fatalf("it waits %v", f.later)
	}
	if f.changed(three) != nil {
		t.Error("it waits twice")
	}
	f.now = f.now.Add(200 * time.Millisecond)
	f.Update(due())
	f.begin(three)
	f.end("second", nil)
	if f.StatusText != "second" {
		t.Errorf("it said %q", f.StatusText)
	}
}

// A failure is reported once, and the command does not run again.
func TestStatusCommandFails(t *testing.T) {
	f := newStatusFixture(t)
	f.begin(statusFacts{Model: "a"})
	f.end("", errors.New("exit status 127: prompt: not found"))
	if got, want := f.ToastText(), "Status line: status_command failed: exit status 127: prompt: not found"; got != want || f.StatusText != "" {
		t.Errorf("said %q, want %q", got, want)
	}
	f.now = f.now.Add(time.Hour)
	if f.changed(statusFacts{Model: "b"}) != nil || len(f.runs) > 0 || f.isConfigured() {
		t.Error("it runs again")
	}
}

// Only the first line of its result is shown, without escape sequences.
func TestStatusCommandText(t *testing.T) {
	for said, want := range map[string]string{
		"": "", "\n\nmain\r\nmore": "main", "\x1b[31mred\x1b[0m  x ": "red  x", "a\x1b]52;c;aGk=\x07b": "ab",
	} {
		f := newStatusFixture(t)
		f.begin(statusFacts{Model: "a"})
		if f.end(said, nil); f.StatusText != want {
			t.Errorf("%q is shown as %q, want %q", said, f.StatusText, want)
		}
	}
}

// Its input has the fields that scripts for other programs expect.
func TestStatusCommandInput(t *testing.T) {
	f := newStatusFixture(t)
	for _, tt := range []struct {
		facts statusFacts
		want  string
	}{
		{
			statusFacts{Session: "s1", Title: "Greeting", Model: "openai/gpt-x", Effort: "high", Mode: "ask", Window: 1000, Filled: 250, Total: llm.Usage{Input: 9, Output: 2, Cost: 0.5, Priced: true}, Busy: true},
			`{"session_id":"s1","session_name":"Greeting","version":"1.2","cwd":"/work","model":{"id":"openai/gpt-x","display_name":"gpt-x"},
			"workspace":{"current_dir":"/work","project_dir":"/work"},"cost":{"total_cost_usd":0.5},
			"context_window":{"total_input_tokens":9,"total_output_tokens":2,"context_window_size":1000,"used_percentage":25,"remaining_percentage":75},
			"effort":{"level":"high"},"approval_mode":"ask","busy":true,"queued":0}`,
		},
		{
			statusFacts{Model: "m", Total: llm.Usage{Output: 3}},
			`{"session_id":"","session_name":"","version":"1.2","cwd":"/work","model":{"id":"m","display_name":"m"},
			"workspace":{"current_dir":"/work","project_dir":"/work"},"cost":{"total_cost_usd":null},
			"context_window":{"total_input_tokens":0,"total_output_tokens":3,"context_window_size":null,"used_percentage":null,"remaining_percentage":null},
			"effort":{"level":""},"approval_mode":"","busy":false,"queued":0}`,
		},
	} {
		var got, want any
		if err := errors.Join(json.Unmarshal(f.input(tt.facts), &got), json.Unmarshal([]byte(tt.want), &want)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %s, %v", f.input(tt.facts), err)
		}
	}
}

// A command that runs is ended with the screen. Without a command, nothing runs.
func TestStatusCommandEnds(t *testing.T) {
	d := newDesk(t, "a/one")
	f := &StatusCommand{Deps: d.Deps}
	if cmd, _ := f.Update(common.UpdatedMsg{}); cmd != nil {
		t.Error("runs no command")
	}
	f.Update(common.ShutdownMsg{})
	d.Config.StatusCommand = "prompt"
	d.App.Machine.Filter = func(ctx context.Context, _ string, input []byte) (string, error) {
		<-ctx.Done()
		return string(input), nil
	}
	cmd, _ := f.Update(common.UpdatedMsg{})
	f.Update(common.ShutdownMsg{})
	if got := run(cmd); len(got) != 1 || !strings.Contains(got[0].(statusMsg).text, `"id":"a/one"`) {
		t.Errorf("%v", got)
	}
}
