package describe_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"parley/tools/act"
	"parley/ui/describe"
)

// The questions about each kind of action, and the texts of its choices.
func TestQuestions(t *testing.T) {
	read := &act.Action{Tool: "read", Access: act.AccessRead, Path: "a\u00a0b"}
	created := &act.Action{Tool: "write", Access: act.AccessWrite, Path: "new.go", Diff: "--- /dev/null\n+++ b/new.go\n"}
	guarded := &act.Action{Tool: "write", Access: act.AccessWrite, Path: ".envrc"}
	noPath := &act.Action{Tool: "mcp__wiki__search", Access: act.AccessWrite, Diff: "--- /dev/null\n"}
	own := shell("./ticket")
	own.Tool = "ticket"
	for _, tt := range []struct {
		a                                           *act.Action
		question, always, what, name, session, rule string
		style                                       describe.Style
	}{
		{shell("ls"), "Run this command?", "Always allow this command?", "", "", "Allow this session", "Exactly this command runs", describe.Text},
		{own, "Run this command?", "Always allow this tool?", "", "ticket", "Allow ticket this session", "Every call of this tool runs", describe.Warning},
		{change(), "Edit cmd/main.go?", "Always allow edits to this file?", "edits to ", "cmd/main.go", "Allow all edits in this folder", "Every edit of this file runs", describe.Text},
		{guarded, "Edit .envrc?", "Always allow edits to this file?", "edits to ", ".envrc", "Allow edits to .envrc this session", "Every write of this file runs", describe.Text},
		{created, "Create new.go?", "Always allow edits to this file?", "edits to ", "new.go", "Allow all edits in this folder", "Every write of this file runs", describe.Text},
		{read, "Read a<U+00A0>b?", "Always allow this file?", "reading ", "a<U+00A0>b", "Allow reading a<U+00A0>b this session", "Every read of this file runs", describe.Text},
		{page(), "Fetch docs.example.com?", "Always allow this host?", "", "docs.example.com", "Allow docs.example.com this session", "Every fetch from this host runs", describe.Warning},
		{noPath, "Call search of wiki?", "Always allow this tool?", "", "search of wiki", "Allow search of wiki this session", "Every call of this tool runs", describe.Warning},
		{&act.Action{Tool: act.PlanTool, Proposal: "1"}, "Accept this plan?", "Always allow this tool?", "", act.PlanTool, "Accept, edits and sandboxed commands run", "Every call of this tool runs", describe.Warning},
		{&act.Action{Tool: "jobs", Question: "End job 3?", Command: "x"}, "End job 3?", "Always allow this tool?", "", "jobs", "Allow jobs this session", "Every call of this tool runs", describe.Warning},
	} {
		what, name := describe.SessionScope(tt.a)
		rule, style := describe.RuleMeaning(tt.a, 0, nil)
		got := []string{describe.Question(tt.a), describe.AlwaysQuestion(tt.a), what, name, describe.AllowSession.Text(tt.a, false), strings.SplitAfter(rule, " runs")[0]}
		if want := []string{tt.question, tt.always, tt.what, tt.name, tt.session, tt.rule}; !slices.Equal(got, want) || style != tt.style {
			t.Errorf("got  %q, style %d\nwant %q, style %d", got, style, want, tt.style)
		}
	}
}

// A rule of some words of a command is always shown as a warning.
func TestRuleOfWords(t *testing.T) {
	for _, rules := range [][]string{{"shell:go *"}, {"shell:git *", "shell:head *"}} {
		got, style := describe.RuleMeaning(shell("go"), 1, rules)
		if strings.Contains(got, "alone or together") != (len(rules) > 1) || !strings.Contains(got, "unless a later option") || style != describe.Warning {
			t.Errorf("%q: got %q, style %d", rules, got, style)
		}
	}
}

func TestSandboxPhrase(t *testing.T) {
	online := boxed("ls")
	online.Network = true
	for _, tt := range []struct {
		a      *act.Action
		online bool
		want   string
	}{
		{change(), false, ""},
		{shell("ls"), true, "not sandboxed"},
		{boxed("ls"), false, "sandboxed, offline"},
		{boxed("ls"), true, "sandboxed, online"},
		{online, false, "sandboxed, online"},
	} {
		if got := describe.SandboxPhrase(tt.a, tt.online); got != tt.want {
			t.Errorf("%q, online %v: got %q, want %q", tt.a.Title, tt.online, got, tt.want)
		}
	}
}

func TestChoices(t *testing.T) {
	online, each, plan := boxed("ls"), shell("ls"), &act.Action{Tool: act.PlanTool, Proposal: "1", AskEachTime: true}
	online.Network, each.AskEachTime = true, true
	for _, tt := range []struct {
		name             string
		a                *act.Action
		editable, online bool
		want             []string
	}{
		{"a command", shell("ls"), true, false, []string{"Allow once", "Allow this session", "Always allow…", "Deny", "Edit"}},
		{"without an editor", shell("ls"), false, false, []string{"Allow once", "Allow this session", "Always allow…", "Deny"}},
		{"in the sandbox", boxed("ls"), true, false, []string{"Allow once", "Allow this session", "Always allow…", "Deny", "Edit", "Allow with network"}},
		{"its network was chosen", boxed("ls"), true, true, []string{"Allow with network", "Deny", "Without network"}},
		{"it has the network", online, true, false, []string{"Allow once", "Allow this session", "Always allow…", "Deny", "Edit"}},
		{"it asks each time", each, true, false, []string{"Allow once", "Deny", "Edit"}},
		{"a plan", plan, true, false, []string{"Accept, ask before changes", "Accept, edits and sandboxed commands run", "Keep planning", "Edit"}},
		{"an edit", change(), false, false, []string{"Allow once", "Allow all edits in this folder", "Always allow…", "Deny"}},
	} {
		var got []string
		for _, c := range describe.Choices(tt.a, tt.editable, tt.online) {
			got = append(got, c.Text(tt.a, tt.online))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A user edits the command, if one argument is the command, or else all arguments.
func TestEditable(t *testing.T) {
	twice := shell("ls")
	twice.Input = json.RawMessage(`{"a":"ls","b":"ls","c":1}`)
	broken := shell("ls")
	broken.Input = json.RawMessage(`{"command":`)
	for _, tt := range []struct {
		a          *act.Action
		name, text string
	}{
		{shell("ls"), "command", "ls"},
		{twice, "", "{\n  \"a\": \"ls\",\n  \"b\": \"ls\",\n  \"c\": 1\n}"},
		{broken, "", `{"command":`},
		{&act.Action{Input: json.RawMessage(`{"path":""}`)}, "", "{\n  \"path\": \"\"\n}"},
		{&act.Action{Proposal: "1. read", Input: json.RawMessage(`{"text":""}`)}, "text", "1. read"},
	} {
		if name, text := describe.Editable(tt.a); name != tt.name || text != tt.text {
			t.Errorf("%s: got %q, %q; want %q, %q", tt.a.Input, name, text, tt.name, tt.text)
		}
	}
}

func TestArguments(t *testing.T) {
	broken := &act.Action{Input: json.RawMessage(`{`)}
	for _, tt := range []struct {
		a                   *act.Action
		name, written, want string
		err                 string // beginning; "" for none
	}{
		{shell("ls"), "command", "a && b <c>", `{"command":"a && b <c>","timeout":120}`, ""},
		{shell("ls"), "command", " \n", "", `the argument "command" is empty`},
		{broken, "command", "ls", "", "unexpected end"},
		{shell("ls"), "", "{\n  \"z\": 1.50,\n  \"a\": [1, 2]\n}", `{"z":1.50,"a":[1,2]}`, ""},
		{shell("ls"), "", "{", "", "the arguments are not a JSON object: unexpected end"},
		{shell("ls"), "", "[1]", "", "the arguments are not a JSON object: json: cannot unmarshal array"},
		{shell("ls"), "", "null", "", "the arguments are not a JSON object: null"},
	} {
		got, err := describe.Arguments(tt.a, tt.name, tt.written)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
			t.Errorf("%q: got %q, %v; want %q, %q", tt.written, got, err, tt.want, tt.err)
		}
	}
}
