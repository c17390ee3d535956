package session_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools"
	"parley/tools/act"
)

// An approval of one call decides about the next ones, within its own
// scope.
func TestAnswersAreRemembered(t *testing.T) {
	first, second, third := `{"command":"echo one"}`, `{"command":"echo two"}`, `{"command":"echo one"}`
	tests := []struct {
		name   string
		folder string
		answer act.Approval
		asked  []string
		notice string
	}{
		{"once", "/w", act.Approval{}, []string{"echo one", "echo two", "echo one"}, ""},
		{"this session", "/w", act.Approval{Session: true}, []string{"echo one", "echo two"}, ""},
		{"always", "/w", act.Approval{Always: true}, []string{"echo one", "echo two"}, ""},
		{"always what begins so", "/w", act.Approval{Always: true, PrefixWords: 1}, []string{"echo one"}, ""},
		{"always, in no workspace", "", act.Approval{Always: true}, []string{"echo one", "echo two", "echo one"}, "not remembered: there is no workspace"},
		{"more words than there are", "/w", act.Approval{Always: true, PrefixWords: 9}, []string{"echo one", "echo two", "echo one"}, "not remembered: the command has no 9 words"},
		{"with the network it is for one time", "/w", act.Approval{Session: true, Always: true, Network: true}, []string{"echo one", "echo two", "echo one"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set, _ := workspace(t)
			fake := llmtest.New(llmtest.Call(call("1", "shell", first)), llmtest.Call(call("2", "shell", second)), llmtest.Call(call("3", "shell", third)), llmtest.Say("ok"))
			policy := tools.NewPolicy(act.ModeAsk)
			policy.SetWorkspace(tt.folder)
			s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: policy})
			var asked []string
			notice := ""
			for _, e := range play(t.Context(), s, func(a ApprovalRequest) act.Approval {
				asked = append(asked, a.Action.Command)
				answer := tt.answer
				answer.Verdict = act.Allow
				return answer
			}, say("hi")) {
				switch e := e.(type) {
				case llm.Notice:
					notice = e.Text
				case Result:
					if e.Part.Failed {
						t.Errorf("%s did not run: %s", e.Part.ID, e.Part.Text)
					}
				}
			}
			if !slices.Equal(asked, tt.asked) {
				t.Errorf("asked %q, want %q", asked, tt.asked)
			}
			if !strings.HasPrefix(notice, tt.notice) || tt.notice == "" && notice != "" {
				t.Errorf("notice %q, want %q", notice, tt.notice)
			}
		})
	}
}

// After an approval of all edits, further edits of the conversation run unasked, and commands ask.
func TestAllEditsAreRemembered(t *testing.T) {
	set, dir := workspace(t)
	fake := llmtest.New(llmtest.Call(call("1", "edit", `{"path":"a.txt","old":"alpha","new":"beta"}`)), llmtest.Call(call("2", "write", `{"path":"b.txt","content":"b"}`), call("3", "edit", `{"path":"a.txt","old":"beta","new":"gamma"}`)),
		llmtest.Call(call("4", "shell", `{"command":"echo"}`)), llmtest.Call(call("5", "write", `{"path":".envrc","content":"b"}`)), llmtest.Say("ok"))
	policy := tools.NewPolicy(act.ModeAsk)
	policy.SetWorkspace(dir)
	var asked []string
	play(t.Context(), New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: policy}), func(a ApprovalRequest) act.Approval {
		asked = append(asked, a.Call.ID)
		return act.Approval{Verdict: act.Allow, Session: a.Call.ID == "1"}
	}, say("hi"))
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); string(text) != "gamma\n" || !slices.Equal(asked, []string{"1", "4", "5"}) {
		t.Errorf("asked about %q, and a.txt has %q, %v", asked, text, err)
	}
}

// The model is told which rule stands in the way, in every mode.
func TestDeniedByRule(t *testing.T) {
	set, _ := workspace(t)
	fake := llmtest.New(llmtest.Call(call("1", "shell", `{"command":"true; env rm -rf x"}`)), llmtest.Say("ok"))
	policy := tools.NewPolicy(act.ModeYolo)
	rule, err := tools.ParseRule("shell:rm *")
	if err != nil {
		t.Fatal(err)
	}
	rule.Effect = "deny"
	policy.AddRules(append(policy.Rules(), rule))
	s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: policy})
	got := toolResults(play(t.Context(), s, allow, say("hi")))
	if want := `!1: This was not run: the rule "shell:rm *" denies it.`; len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
