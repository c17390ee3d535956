//go:build unix

package until_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/session/settings"
	"parley/session/until"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/undo/snapshot"
)

// write is an answer that calls the tool write.
func write(id, path, text string) llmtest.Turn {
	return llmtest.Call(llm.Part{ID: id, Name: "write", Input: `{"path":"` + path + `","content":"` + text + `"}`})
}

func shell(id, command string) llmtest.Turn {
	return llmtest.Call(llm.Part{ID: id, Name: "shell", Input: `{"command":"` + command + `"}`})
}

// TestUntil: the model continues until the command passes, or a rule ends it.
func TestUntil(t *testing.T) {
	done := llmtest.Say("done")
	for name, test := range map[string]struct {
		command string
		rounds  int
		turns   []llmtest.Turn
		prompts int    // that the model received after the first one
		notice  string // part of the last notice, if the command passed
		err     string // part of the error; "" if the command passed
	}{
		"passes at once":        {"true", 3, []llmtest.Turn{done}, 0, "passed at once: true", ""},
		"passes after a change": {"test -e new", 3, []llmtest.Turn{done, write("1", "new", "x"), done}, 1, "passed in round 1: test -e new", ""},
		"a change of a command": {"test -e new", 3, []llmtest.Turn{done, shell("1", "echo > new"), done}, 1, "passed in round 1: test -e new", ""},
		"no change": {"false", 3, []llmtest.Turn{done, done}, 1, "",
			"the last round changed no file, and false still fails (exit status 1)"},
		"a command without a change": {"exit 3", 3, []llmtest.Turn{done, shell("1", "echo ok"), done}, 1, "",
			"the last round changed no file, and exit 3 still fails (exit status 3)"},
		"no change but that of the command itself": {"echo >> log; false", 3, []llmtest.Turn{done, done}, 1, "", "changed no file"},
		"too many rounds": {"false", 2, []llmtest.Turn{done, write("1", "a", "1"), done, write("2", "a", "2"), done}, 2, "",
			"after 2 rounds false still fails (exit status 1)"},
		"the file of the check is removed": {"sh check", 2, []llmtest.Turn{shell("1", "rm -f check"), done, write("2", "check", "exit 0"), done}, 1, "passed in round 1: sh check", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			set, err := tools.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			set.SetPolicy(tools.NewPolicy(act.ModeYolo)) // there is no sandbox
			lib := session.MemoryStore()
			defer lib.Close()
			fake := llmtest.New(test.turns...)
			s := session.New(session.Options{
				Model: llm.Endpoint{Model: fake, Name: "m/x", Origin: "m/x", Strategy: "native"}, Tools: set, Policy: tools.NewPolicy(act.ModeYolo),
				Log: lib.Create(session.Info{Dir: dir}), Files: snapshot.Open(filepath.Join(t.TempDir(), "undo")).Files,
			})
			defer s.Close()
			s.Check.Set(until.New(s, set.RunConfined, test.command, test.rounds))
			prompts, notice := -1, ""
			var ended session.Done
			for e := range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "go"}) {
				switch e := e.(type) {
				case session.Prompt:
					prompts++
				case llm.Notice:
					notice = e.Text
				case session.Done:
					ended = e
				}
			}
			if prompts != test.prompts || !strings.Contains(notice, test.notice) || len(fake.Requests()) != len(test.turns) {
				t.Errorf("%d more prompts, %d requests, notice %q; want %d, %d, %q", prompts, len(fake.Requests()), notice, test.prompts, len(test.turns), test.notice)
			}
			if (ended.Err == nil) != (test.err == "") || ended.Err != nil && (!strings.Contains(ended.Err.Error(), test.err)) {
				t.Errorf("ended with %v, want %q", ended.Err, test.err)
			}
			for e := range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "again"}) { // the check is for one turn
				if _, called := e.(session.Call); called {
					t.Error("the next turn ran the command")
				}
			}
		})
	}
}

// TestPrompt: the model receives the last lines of the output, within bounds, and only in this turn.
func TestPrompt(t *testing.T) {
	for name, test := range map[string]struct{ command, want, unwanted string }{
		"all of it": {"echo one; echo two >&2; false", "\none\ntwo\n</output>\n[exit status 1]", "not sent"},
		"last lines": {"i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done; false",
			"[… earlier output not sent …]\nline 4940\n", "line 4939\n"},
		"one long line":       {"head -c 100000 /dev/zero | tr '\\0' x; false", "not sent …]\nxxx", strings.Repeat("x", 6<<10+1)},
		"escapes are removed": {`printf 'a\033[31mb\033]0;t\007c\n'; false`, "\nabc\n", "\x1b"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			set, err := tools.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			set.SetPolicy(tools.NewPolicy(act.ModeYolo)) // there is no sandbox
			fake := llmtest.New(llmtest.Say("done"), llmtest.Say("done"))
			s := session.New(session.Options{Model: llm.Endpoint{Model: fake, Name: "m/x", Origin: "m/x", Strategy: "native"}, Tools: set})
			defer s.Close()
			s.Check.Set(until.New(s, set.RunConfined, test.command, 5))
			for range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "go"}) {
			}
			last := fake.Requests()[1].Messages[2]
			if text := last.Text(); !strings.Contains(text, test.want) || strings.Contains(text, test.unwanted) || len(text) > 8<<10 {
				t.Errorf("the prompt is %q (%d bytes), want %q in it", text[:min(300, len(text))], len(text), test.want)
			}
		})
	}
}

// TestBudget: the limit of a turn is for all its rounds together.
func TestBudget(t *testing.T) {
	dir := t.TempDir()
	set, err := tools.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	set.SetPolicy(tools.NewPolicy(act.ModeYolo)) // there is no sandbox
	var turns []llmtest.Turn
	for n := range 5 {
		id := string(rune('a' + n))
		turns = append(turns, llmtest.Call(llm.Part{ID: id, Name: "write", Input: `{"path":"` + id + `","content":"` + strings.Repeat("long ", 400) + `"}`}), llmtest.Say("done"))
	}
	fake := llmtest.New(turns...)
	s := session.New(session.Options{
		Model: llm.Endpoint{Model: fake, Name: "m/x", Origin: "m/x", Strategy: "native"}, Tools: set, Policy: tools.NewPolicy(act.ModeYolo),
		Limits: []session.Limit{{Period: settings.PerTurn, Tokens: 7000}},
	})
	defer s.Close()
	s.Check.Set(until.New(s, set.RunConfined, "false", 9))
	var ended session.Done
	for e := range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "go"}) {
		ended, _ = e.(session.Done)
	}
	if requests := len(fake.Requests()); !errors.Is(ended.Err, session.ErrBudget) || requests < 3 || requests >= len(turns) {
		t.Errorf("ended with %v after %d requests and %d tokens", ended.Err, requests, ended.Usage.Input+ended.Usage.Output)
	}
}

// TestUnrecorded: where changes are not recorded, a round may have changed a file if a program ran, even one that failed.
func TestUnrecorded(t *testing.T) {
	call := func(name, input string) llmtest.Turn {
		return llmtest.Call(llm.Part{ID: "1", Name: name, Input: input})
	}
	for name, test := range map[string]struct {
		call    llmtest.Turn
		mode    act.Mode
		changes bool
	}{
		"a command that failed":         {shell("1", "echo > a; false"), act.ModeYolo, true},
		"a command that is not allowed": {shell("1", "echo > a; false"), act.ModePlan, false},
		"an edit":                       {write("1", "a", "x"), act.ModeYolo, true},
		"an edit that failed":           {call("edit", `{"path":"none","old":"a","new":"b"}`), act.ModeYolo, false},
		"a tool of a server":            {call("mcp__x__do", `{}`), act.ModeYolo, true},
		"a question to the user":        {call(act.AskTool, `{}`), act.ModeYolo, false},
		"a tool of parley's that reads": {call("list", `{}`), act.ModeYolo, false},
		"parley's memory":               {call(act.RememberTool, `{}`), act.ModeYolo, false},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := tools.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			set.SetPolicy(tools.NewPolicy(act.ModeYolo)) // there is no sandbox
			for _, name := range []string{"mcp__x__do", act.AskTool, act.RememberTool} {
				if err := set.AddExternal(tools.External{Name: name, Plan: func(context.Context, json.RawMessage) (*act.Action, error) {
					return &act.Action{Do: func(context.Context, func(string)) act.Outcome { return act.Outcome{Text: "done"} }}, nil
				}}); err != nil {
					t.Fatal(err)
				}
			}
			fake := llmtest.New(llmtest.Say("done"), test.call, llmtest.Say("done"), llmtest.Say("done"))
			s := session.New(session.Options{Model: llm.Endpoint{Model: fake, Name: "m/x", Origin: "m/x", Strategy: "native"}, Tools: set, Policy: tools.NewPolicy(test.mode)})
			defer s.Close()
			s.Check.Set(until.New(s, set.RunConfined, "false", 2))
			for range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "go"}) {
			}
			if changes := len(fake.Requests()) == 4; changes != test.changes {
				t.Errorf("%d requests; counts as a change: %v", len(fake.Requests()), changes)
			}
		})
	}
}

// TestFromCheck: without a turn, the command runs first. Canceling it ends everything.
func TestFromCheck(t *testing.T) {
	dir := t.TempDir()
	set, err := tools.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	set.SetPolicy(tools.NewPolicy(act.ModeYolo)) // there is no sandbox
	fake := llmtest.New(write("1", "new", "x"), llmtest.Say("done"))
	s := session.New(session.Options{Model: llm.Endpoint{Model: fake, Name: "m/x", Origin: "m/x", Strategy: "native"}, Tools: set, Policy: tools.NewPolicy(act.ModeYolo)})
	defer s.Close()
	run := func(ctx context.Context, command string) (end session.Done) {
		s.Check.Set(until.New(s, set.RunConfined, command, 5))
		for e := range s.TurnFromCheck(ctx) {
			if d, ok := e.(session.Done); ok {
				end = d
			}
		}
		return end
	}
	if end := run(t.Context(), "cat new"); end.Err != nil || len(fake.Requests()) != 2 {
		t.Errorf("%d requests, error %v", len(fake.Requests()), end.Err)
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err != nil {
		t.Error(err)
	}
	if end := run(t.Context(), "true"); end.Err != nil || len(fake.Requests()) != 2 {
		t.Errorf("passes at once: %d requests, error %v", len(fake.Requests()), end.Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.Check.Set(until.New(s, set.RunConfined, "echo started; sleep 1000", 5))
	for e := range s.TurnFromCheck(ctx) {
		switch e := e.(type) {
		case session.Progress:
			cancel()
		case session.Done:
			if !llm.Canceled(e.Err) {
				t.Errorf("canceled: ended with %v", e.Err)
			}
		}
	}
	cancel()
}
