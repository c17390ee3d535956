//go:build unix

package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"go.uber.org/goleak"

	"parley/session/hooks"
	"parley/session/hooks/runner"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns what runs hooks as the configuration has them, with real shells, in a new
// directory.
func open(t *testing.T, project bool, text string) (hooks.Runner, string) {
	t.Helper()
	var f hooks.File
	if _, err := toml.Decode(text, &f); err != nil {
		t.Fatal(err)
	}
	if err := hooks.Validate(f.Hooks); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	set, err := tools.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	var list []hooks.Hook
	for _, c := range f.Hooks {
		list = append(list, hooks.Hook{Config: c, Source: "hooks.toml", Project: project})
	}
	return runner.New(dir, func(ctx context.Context, run process.Run) process.Result {
		run.RequireSandbox = false // that is held in tools
		return set.RunProgram(ctx, run)
	}, list...), dir
}

// hook returns a table of the configuration.
func hook(event, matcher, command string) string {
	return "[[hooks]]\nevent = \"" + event + "\"\nmatcher = '" + matcher + "'\ncommand = '''" + command + "'''\ntimeout = 20\n"
}

func TestAnswers(t *testing.T) {
	pre := func(commands ...string) string {
		var all string
		for _, c := range commands {
			all += hook(act.HookPreToolUse, "", c)
		}
		return all
	}
	decide := func(verdict string) string {
		return `echo '{"hookSpecificOutput":{"permissionDecision":"` + verdict + `","permissionDecisionReason":"` + verdict + ` it"}}'`
	}
	tests := []struct {
		name, config string
		project      bool
		event        string
		verdict      act.Verdict
		reason       string // of the verdict
		context      string
		notices      string
		input        string
		stop         string
	}{
		{name: "nothing", config: pre("true")},
		{name: "words that are no JSON", config: pre("echo hello")},
		{name: "exit 2", config: pre("echo not this >&2; exit 2"), verdict: act.Deny, reason: "not this"},
		{name: "exit 2 without a reason", config: pre("exit 2"), verdict: act.Deny, reason: "the hook exit 2 forbids it"},
		{name: "exit 1 does not block", config: pre("echo oops >&2; exit 1"), notices: "hook echo oops >&2; exit 1 (PreToolUse): exit status 1: oops"},
		{name: "exit 1 with a decision", config: pre(decide("deny") + "; exit 1"), notices: "exit status 1"},
		{name: "no such program", config: "[[hooks]]\nevent = \"PreToolUse\"\ncommand = [\"/no/such\"]\n", notices: "/no/such"},
		{name: "broken JSON", config: pre("echo '{'"), notices: "not valid JSON"},
		{name: "allow", config: pre(decide("allow")), verdict: act.Allow},
		{name: "allow of a project", config: pre(decide("allow")), project: true},
		{name: "ask", config: pre(decide("ask")), verdict: act.Ask, reason: "ask it"},
		{name: "deny", config: pre(decide("deny")), verdict: act.Deny, reason: "deny it"},
		{name: "deny of a project", config: pre(decide("deny")), project: true, verdict: act.Deny, reason: "deny it"},
		{name: "deny before allow", config: pre(decide("deny"), decide("allow")), verdict: act.Deny, reason: "deny it"},
		{name: "deny behind allow", config: pre(decide("allow"), decide("ask"), decide("deny")), verdict: act.Deny, reason: "deny it"},
		{name: "ask behind allow", config: pre(decide("allow"), decide("ask")), verdict: act.Ask, reason: "ask it"},
		{name: "the old form", config: pre(`echo '{"decision":"block","reason":"old"}'`), verdict: act.Deny, reason: "old"},
		{name: "both forms", config: pre(`echo '{"decision":"block","reason":"old","hookSpecificOutput":{"permissionDecision":"allow"}}'`), verdict: act.Deny, reason: "old"},
		{name: "other arguments", config: pre(`echo '{"hookSpecificOutput":{"updatedInput":{"command":"ls"}}}'`), input: `{"command":"ls"}`},
		{name: "other arguments that are none", config: pre(`echo '{"hookSpecificOutput":{"updatedInput":"ls"}}'`)},
		{name: "contexts in order", config: pre(`sleep 0.1; echo '{"hookSpecificOutput":{"additionalContext":"one"}}'`, `echo '{"hookSpecificOutput":{"additionalContext":"two"}}'`), context: "one\n\ntwo"},
		{name: "stop", config: pre(`echo '{"continue":false,"stopReason":"enough"}'`), stop: "enough"},
		{name: "message", config: pre(`echo '{"systemMessage":"by the way"}'`), notices: "hook: by the way"},
		{name: "hostile", config: pre(`printf '{"systemMessage":"a\\u001b[31mb\\u202e"}'`), notices: "hook: ab"},
		{name: "much", config: pre(`printf '{"systemMessage":"'; head -c 500000 /dev/zero | tr '\0' x; printf '"}'`), notices: "characters hidden"},
		{name: "words of a prompt", event: act.HookUserPromptSubmit, config: hook(act.HookUserPromptSubmit, "", "echo today"), context: "today"},
		{name: "a blocked prompt", event: act.HookUserPromptSubmit, config: hook(act.HookUserPromptSubmit, "", "echo secret >&2; exit 2"), verdict: act.Deny, reason: "secret"},
		{name: "another event", event: act.HookStop, config: pre("exit 2")},
		{name: "a matcher", config: hook(act.HookPreToolUse, "Edit|Shell", "exit 2"), verdict: act.Deny, reason: "the hook exit 2 forbids it"},
		{name: "of the whole name", config: hook(act.HookPreToolUse, "she", "exit 2")},
		{name: "any", config: hook(act.HookPreToolUse, "*", "exit 2"), verdict: act.Deny, reason: "the hook exit 2 forbids it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, _ := open(t, tt.project, tt.config)
			in := act.HookInput{Event: act.HookPreToolUse, Tool: "shell", Input: []byte(`{"command":"rm x"}`)}
			if tt.event != "" {
				in = act.HookInput{Event: tt.event, Prompt: "hello"}
			}
			a := r.Fire(t.Context(), in)
			if a.Verdict != tt.verdict || tt.reason != "" && a.Reason != tt.reason || a.Context() != tt.context || string(a.Input) != tt.input || a.StopWhy != tt.stop {
				t.Errorf("got %+v", a)
			}
			if got := strings.Join(a.Notices, "\n"); (got == "") != (tt.notices == "") || !strings.Contains(got, tt.notices) || len(got) > 20_000 {
				t.Errorf("told %q, want %q", got, tt.notices)
			}
			if again := r.Fire(t.Context(), in); tt.notices != "" && !strings.Contains(tt.config, "systemMessage") && len(again.Notices) > 0 {
				t.Errorf("told again: %q", again.Notices)
			}
		})
	}
}

// The input of a hook has Claude's names.
func TestInput(t *testing.T) {
	r, dir := open(t, false, hook(act.HookPostToolUse, "", "cat >in.json"))
	r.Fire(t.Context(), act.HookInput{Session: "s1", Event: act.HookPostToolUse, Tool: "shell", Input: []byte(`{"command":"ls"}`), Response: &act.HookResponse{Output: "a"}})
	got, err := os.ReadFile(filepath.Join(dir, "in.json"))
	want := `{"session_id":"s1","cwd":"` + dir + `","hook_event_name":"PostToolUse","tool_name":"shell","tool_input":{"command":"ls"},"tool_response":{"output":"a","is_error":false}}` + "\n"
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// A hook that takes too long blocks nothing, and one that is canceled says nothing: both are gone.
func TestEnd(t *testing.T) {
	slow := "[[hooks]]\nevent = \"Stop\"\ncommand = 'exec sleep 1000'\ntimeout = \"50ms\"\n"
	r, _ := open(t, false, slow)
	if a := r.Fire(t.Context(), act.HookInput{Event: act.HookStop}); a.Verdict != "" || len(a.Notices) != 1 || !strings.Contains(a.Notices[0], "timed out after 50ms") {
		t.Errorf("too slow: %+v", a)
	}
	r, dir := open(t, false, hook(act.HookStop, "", "touch began; sleep 1000; exit 2"))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(dir, "began")); err == nil {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if a := r.Fire(ctx, act.HookInput{Event: act.HookStop}); a.Verdict != "" || len(a.Notices) != 0 {
		t.Errorf("canceled: %+v", a)
	}
}
