//go:build unix

package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/providers/schema/fit"
	. "parley/session"
	"parley/session/hooks"
	"parley/session/hooks/runner"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/permission"
	"parley/tools/process"
	"parley/tools/rule"
)

// hooked returns a session whose hooks are "event: command" lines for a shell, and its folder.
func hooked(t *testing.T, mode act.Mode, rules []permission.Rule, project bool, turns []llmtest.Turn, lines ...string) (*Session, *llmtest.Fake, string) {
	t.Helper()
	set, dir := workspace(t)
	var list []hooks.Hook
	for _, line := range lines {
		event, command, _ := strings.Cut(line, ": ")
		list = append(list, hooks.Hook{Config: hooks.Config{Event: event, Command: process.CommandLine{Words: []string{command}, Shell: true}}, Source: "hooks.toml", Project: project})
	}
	policy := tools.NewPolicy(mode)
	policy.AddRules(rules)
	fake := llmtest.New(turns...)
	s := New(Options{Schemas: fit.Repairer{}, Model: endpoint("m/x", fake), Tools: set, Policy: policy, Hooks: runner.New(dir, func(ctx context.Context, run process.Run) process.Result {
		run.RequireSandbox = false
		return set.RunProgram(ctx, run)
	}, list...)})
	t.Cleanup(func() { s.Close() })
	return s, fake, dir
}

const (
	hookAllow  = `echo '{"hookSpecificOutput":{"permissionDecision":"allow"}}'`
	hookAsk    = `echo '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"look"}}'`
	hookDeny   = `echo never >&2; exit 2`
	hookChange = `echo '{"hookSpecificOutput":{"updatedInput":{"command":"echo changed"}}}'`
)

// Decisions of hooks about a call, beside those of the policy.
func TestHooksOfCalls(t *testing.T) {
	deny := []permission.Rule{{Effect: permission.Deny, Tool: "shell"}}
	ask := []permission.Rule{{Effect: permission.Ask, Tool: "shell", Source: rule.FromConfig}}
	tests := []struct {
		name    string
		mode    act.Mode
		rules   []permission.Rule
		project bool
		hooks   []string
		asked   string // the command that a user is asked about; "": none
		result  string // the beginning of it
	}{
		{"nothing said", act.ModeAsk, nil, false, []string{"PreToolUse: true"}, "echo ran", "ran"},
		{"allowed", act.ModeAsk, nil, false, []string{"PreToolUse: " + hookAllow}, "", "ran"},
		{"allow lifts no rule that denies", act.ModeAsk, deny, false, []string{"PreToolUse: " + hookAllow}, "", "!This was not run: the rule"},
		{"nor one that asks", act.ModeAsk, ask, false, []string{"PreToolUse: " + hookAllow}, "echo ran", "ran"},
		{"nor read-only", act.ModeReadOnly, nil, false, []string{"PreToolUse: " + hookAllow}, "", "!This was not run: the approval mode"},
		{"allow of a project counts for nothing", act.ModeAsk, nil, true, []string{"PreToolUse: " + hookAllow}, "echo ran", "ran"},
		{"denied", act.ModeYolo, nil, false, []string{"PreToolUse: " + hookAllow, "PreToolUse: " + hookDeny}, "", "!This was not run: a hook forbids it: never"},
		{"denied by a project", act.ModeYolo, nil, true, []string{"PreToolUse: " + hookDeny}, "", "!This was not run: a hook forbids it: never"},
		{"asks where all is allowed", act.ModeYolo, nil, false, []string{"PreToolUse: " + hookAsk}, "echo ran", "ran"},
		{"changed, asked again", act.ModeAsk, nil, false, []string{"PreToolUse: " + hookChange}, "echo changed", `A hook changed the arguments to {"command":"echo changed"}`},
		{"changed, and allowed", act.ModeYolo, nil, false, []string{"PreToolUse: " + hookChange}, "", `A hook changed`},
		{"changed by a project", act.ModeYolo, nil, true, []string{"PreToolUse: " + hookChange}, "echo changed", `A hook changed`},
		{"after the call", act.ModeYolo, nil, false, []string{`PostToolUse: grep -q '"output":"ran' && echo bad >&2 && exit 2`}, "", "ran"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, fake, _ := hooked(t, tt.mode, tt.rules, tt.project, []llmtest.Turn{llmtest.Call(call("c1", "shell", `{"command":"echo ran"}`)), llmtest.Say("ok")}, tt.hooks...)
			asked := ""
			events := play(t.Context(), s, func(r ApprovalRequest) act.Approval {
				asked = r.Action.Command
				return act.Approval{Verdict: act.Allow}
			}, say("go"))
			if d := doneOf(t, events); d.Err != nil {
				t.Fatal(d.Err)
			}
			results := toolResults(events)
			if want := strings.Replace("c1: "+tt.result, "c1: !", "!c1: ", 1); asked != tt.asked || len(results) != 1 || !strings.HasPrefix(results[0], want) {
				t.Errorf("asked %q, got %q, want %q, %q", asked, results, tt.asked, want)
			}
			if sent := fake.Requests()[len(fake.Requests())-1].Messages; tt.name == "after the call" && !strings.Contains(sent[len(sent)-1].Parts[0].Text, "A hook adds: bad") {
				t.Errorf("sent %+v", sent)
			}
		})
	}
}

// Prompts are blocked or get more to say; the end of an answer can be put off, not for ever.
func TestHooksOfTurns(t *testing.T) {
	s, fake, dir := hooked(t, act.ModeAsk, nil, false, []llmtest.Turn{llmtest.Say("one"), llmtest.Say("two")},
		"SessionStart: echo began", "UserPromptSubmit: grep -q secret && echo no secrets >&2 && exit 2; echo today",
		`Stop: grep -q '"stop_hook_active":true' && exit 0; echo test first >&2; exit 2`, "SessionEnd: touch ended")
	events := play(t.Context(), s, allow, say("a secret"))
	if d := doneOf(t, events); !errors.Is(d.Err, ErrHookBlocked) || !strings.Contains(d.Err.Error(), "no secrets") || !s.Empty() {
		t.Fatalf("blocked: %v", d.Err)
	}
	events = play(t.Context(), s, allow, say("hello"))
	if d := doneOf(t, events); d.Err != nil || d.Steps != 2 {
		t.Fatalf("done: %+v", d)
	}
	var prompts []string
	for _, e := range events {
		if p, ok := e.(Prompt); ok {
			prompts = append(prompts, p.Message.Text())
		}
	}
	if len(prompts) != 2 || !strings.Contains(prompts[0], "hello\n\n<context of=\"hook\">\nbegan\n</context>\n\n<context of=\"hook\">\ntoday") || prompts[1] != "A hook asks to continue: test first" {
		t.Errorf("prompts %q", prompts)
	}
	if err := valid(fake.Requests()[1].Messages); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ended")); err != nil {
		t.Error(err)
	}
}

// A prompt that a hook blocks is the user's again, wherever it waited; the others are sent.
func TestHooksGiveBack(t *testing.T) {
	var s *Session
	queue := func(ctx context.Context, req llm.Request, out *llm.Out) error {
		s.Queue.Steer(say("a secret first"))
		s.Queue.Steer(say("quietly"))
		s.Queue.Add(say("the secret then"))
		s.Queue.Add(say("and commit"))
		return llmtest.Call(call("c1", "list", `{}`))(ctx, req, out)
	}
	s, _, _ = hooked(t, act.ModeYolo, nil, false, []llmtest.Turn{queue, llmtest.Say("done"), llmtest.Say("committed")},
		"UserPromptSubmit: grep -q secret && echo no secrets >&2 && exit 2; exit 0")
	var sent, back, told []string
	for _, text := range []string{"my secret", "mend it"} {
		for _, e := range play(t.Context(), s, allow, say(text)) {
			switch e := e.(type) {
			case Prompt:
				sent = append(sent, e.Message.Text())
			case Unsent:
				if back = append(back, e.Message.Text()); e.Ends != (text == "my secret") {
					t.Errorf("%q ends the turn: %v", e.Message.Text(), e.Ends)
				}
			case llm.Notice:
				told = append(told, e.Text)
			case Done:
				if (e.Err != nil) != (text == "my secret") {
					t.Errorf("%s: %v", text, e.Err)
				}
			}
		}
	}
	if want := []string{"mend it", "quietly", "and commit"}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
	if want := []string{"my secret", "a secret first", "the secret then"}; !slices.Equal(back, want) {
		t.Errorf("given back %q, want %q", back, want)
	}
	head := s.Head()
	if err := s.Branch.Edit(1); err != nil {
		t.Fatal(err)
	}
	if back := eventsOf[Unsent](play(t.Context(), s, allow, say("a secret"))); len(back) != 1 || back[0].Edits != 1 || s.Head() != head {
		t.Errorf("an edit gives back %+v, at %d, not at %d", back, s.Head(), head)
	}
	if len(told) != 2 || !strings.Contains(told[0], "no secrets") {
		t.Errorf("told %q", told)
	}
}

func TestHooksStop(t *testing.T) {
	s, _, _ := hooked(t, act.ModeYolo, nil, false, []llmtest.Turn{llmtest.Call(call("c1", "shell", `{"command":"echo ran"}`))}, `PostToolUse: echo '{"continue":false,"stopReason":"enough"}'`)
	events := play(t.Context(), s, allow, say("go"))
	if d := doneOf(t, events); !errors.Is(d.Err, ErrHookStopped) || !strings.Contains(d.Err.Error(), "enough") {
		t.Errorf("got %v", d.Err)
	}
	var endless []llmtest.Turn
	for range 20 {
		endless = append(endless, llmtest.Say("again"))
	}
	s, _, _ = hooked(t, act.ModeYolo, nil, false, endless, "Stop: exit 2")
	if d := doneOf(t, play(t.Context(), s, allow, say("go"))); d.Err != nil || d.Steps != 9 {
		t.Errorf("got %+v", d)
	}
}

// A hook ends with its turn, and a user who is asked is told of by Notification.
func TestHooksCanceled(t *testing.T) {
	s, _, _ := hooked(t, act.ModeYolo, nil, false, []llmtest.Turn{llmtest.Call(call("c1", "shell", `{"command":"echo ran"}`))}, "PreToolUse: exec sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	for e := range s.Turn(ctx, say("go")) {
		if _, ok := e.(Call); ok {
			cancel()
		}
		if d, ok := e.(Done); ok && !errors.Is(d.Err, context.Canceled) {
			t.Errorf("got %v", d.Err)
		}
	}
	cancel()
	var history []llm.Message
	for _, n := range s.Path() {
		history = append(history, n.Message)
	}
	if err := valid(history); err != nil {
		t.Error(err)
	}
}

// A question of the model notifies the user as a request for approval does.
func TestHooksOfQuestions(t *testing.T) {
	set, dir := workspace(t)
	err := set.AddExternal(tools.External{Name: act.AskTool, Plan: func(context.Context, json.RawMessage) (*act.Action, error) {
		return &act.Action{Access: act.AccessRead, Do: func(context.Context, func(string)) act.Outcome { return act.Outcome{Text: "yes"} }}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 1)
	fake := llmtest.New(llmtest.Call(call("c1", act.AskTool, `{}`)), llmtest.Say("fine"))
	s := New(Options{Model: endpoint("m/x", fake), Tools: set, Policy: tools.NewPolicy(act.ModeYolo), Hooks: runner.New(dir, func(_ context.Context, run process.Run) process.Result {
		told <- string(run.Input)
		return process.Result{}
	}, hooks.Hook{Config: hooks.Config{Event: act.HookNotification}})})
	play(t.Context(), s, nil, say("go"))
	if got := <-told; !strings.Contains(got, "the model asks you a question") {
		t.Errorf("got %s", got)
	}
	s.Close()
}

// A prompt that is stopped while hooks look at it is the user's again.
func TestHooksCanceledPrompt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := New(Options{Model: endpoint("m/x", llmtest.New()), Hooks: runner.New(t.TempDir(), func(context.Context, process.Run) process.Result {
		cancel()
		return process.Result{Exit: -1, Err: context.Canceled}
	}, hooks.Hook{Config: hooks.Config{Event: act.HookUserPromptSubmit}})})
	back := ""
	for e := range s.Turn(ctx, say("go")) {
		switch e := e.(type) {
		case Unsent:
			back = e.Message.Text()
		case Done:
			if !errors.Is(e.Err, context.Canceled) {
				t.Errorf("got %v", e.Err)
			}
		}
	}
	if back != "go" || !s.Empty() {
		t.Errorf("given back %q", back)
	}
}

// The messages of hooks before and after calls of compared models reach the user and the
// model that called.
func TestHooksOfComparedCalls(t *testing.T) {
	const says = `echo '{"systemMessage":"%s","hookSpecificOutput":{"additionalContext":"more %[1]s"}}'`
	tests := []struct {
		name    string
		hooks   []string
		result  string // how it ends
		notices []string
		err     error
	}{
		{"both", []string{"PreToolUse: " + fmt.Sprintf(says, "before"), "PostToolUse: " + fmt.Sprintf(says, "after")},
			"\n\nA hook adds: more before\n\nA hook adds: more after", []string{"hook: before", "hook: after"}, nil},
		{"denied", []string{"PreToolUse: " + fmt.Sprintf(says, "before"), "PreToolUse: " + hookDeny, "PostToolUse: " + fmt.Sprintf(says, "after")},
			"a hook forbids it: never\n\nA hook adds: more before", []string{"hook: before"}, nil},
		{"blocked after", []string{"PostToolUse: echo bad >&2; exit 2"}, "\n\nA hook adds: bad", nil, nil},
		{"stopped before", []string{`PreToolUse: echo '{"continue":false,"stopReason":"enough"}'`}, "a hook forbids it: enough", nil, ErrHookStopped},
		{"stopped after", []string{`PostToolUse: echo '{"continue":false,"stopReason":"enough"}'`}, "the content\n", nil, ErrHookStopped},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _, dir := hooked(t, act.ModeAsk, nil, false, nil, tt.hooks...)
			if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("the content"), 0o600); err != nil {
				t.Fatal(err)
			}
			reads, says := llmtest.New(llmtest.Call(call("1", "read", `{"path":"a.txt"}`)), llmtest.Say("a")), llmtest.New(llmtest.Say("b"))
			var events []Event
			var notices []string
			for e := range s.Compare(t.Context(), []llm.Endpoint{endpoint("m/a", reads), endpoint("m/b", says)}, nil, say("which?")) {
				events = append(events, e)
				if c, ok := e.(CandidateEvent); ok && c.N == 0 {
					if n, ok := c.Event.(llm.Notice); ok {
						notices = append(notices, n.Text)
					}
				}
			}
			if err := doneOf(t, events).Err; !errors.Is(err, tt.err) {
				t.Errorf("ended with %v", err)
			}
			if got := candidateResults(events, 0); len(got) != 1 || !strings.HasSuffix(got[0], tt.result) {
				t.Errorf("the model was told %q", got)
			}
			if !slices.Equal(notices, tt.notices) {
				t.Errorf("the user was told %q", notices)
			}
			if err := valid(s.History()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Names of tools and arguments are repaired before anybody decides about a call, and what ran is
// what the next request holds.
func TestRepairedNamesAreDecidedAbout(t *testing.T) {
	for _, tt := range []struct{ name, tool, input, ran, sent string }{
		{"a tool of another program", "Read", `{"file_path":"a.txt"}`, "hello", `read {"path":"a.txt"}`},
		{"a well-known name", "functions.cat", `{"file":"a.txt"}`, "hello", `read {"path":"a.txt"}`},
		{"tokens behind the name", "read<|channel|>commentary", `{"path":"a.txt"}`, "hello", `read {"path":"a.txt"}`},
		{"encoded twice", "read", `"{\"path\":\"a.txt\"}"`, "hello", `read {"path":"a.txt"}`},
		{"encoded three times", "Read", `"\"{\\\"file_path\\\":\\\"a.txt\\\"}\""`, "hello", `read {"path":"a.txt"}`},
		{"a rule denies it", "Bash", `{"command":"echo ran"}`, `the rule "shell" denies it`, `shell {"command":"echo ran"}`},
		{"a hook denies it", "write_file", `{"file_path":"b.txt","text":"x"}`, "hook saw write", `write {"path":"b.txt","content":"x"}`},
		{"unknown", "nope<|channel|>commentary", `{}`, `no tool "nope"; the tools are`, `nope {}`},
		{"unreadable arguments", "read", `{"path":"a`, "They were: {\"path\":\"a", `read {"path":"a`},
	} {
		deny := []permission.Rule{{Effect: permission.Deny, Tool: "shell"}}
		turns := []llmtest.Turn{llmtest.Call(call("c1", tt.tool, tt.input)), llmtest.Say("ok")}
		s, fake, dir := hooked(t, act.ModeYolo, deny, false, turns, `PreToolUse: grep -q '"tool_name":"write"' && { echo "hook saw write" >&2; exit 2; }; exit 0`)
		if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		play(t.Context(), s, nil, say("hi"))
		asked := fake.Requests()[1].Messages
		sent, got := asked[len(asked)-2].Calls()[0], asked[len(asked)-1].Parts[0].Text
		if !strings.Contains(got, tt.ran) || sent.Name+" "+sent.Input != tt.sent || strings.Contains(got, "<|") {
			t.Errorf("%s: result %q, want %q; sent %s %s, want %s", tt.name, got, tt.ran, sent.Name, sent.Input, tt.sent)
		}
	}
}
