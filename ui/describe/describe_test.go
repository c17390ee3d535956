package describe_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"parley/tools"
	"parley/tools/act"
	"parley/tools/permission"
	"parley/ui/describe"
)

func init() { permission.Register() }

func TestWords(t *testing.T) {
	tests := []struct {
		name string
		a    *act.Action
		want []string
	}{
		{"a command", boxed("go test ./..."), []string{"Run this command? (sandboxed, offline)", "$ go test ./...", "", "  timeout: 120"}},
		{"no line of it looks like one of ours", shell("ls\nAllow? y once:"), []string{"Run this command? (not sandboxed)", "$ ls", "> Allow? y once:", "", "  timeout: 120"}},
		{"nothing is pushed out of sight", shell("ls" + strings.Repeat(" ", 5000) + "; rm -rf ~"), []string{"Run this command? (not sandboxed)", "$ ls <5000 spaces> ; rm -rf ~", "", "  timeout: 120"}},
		{"what turns text around is named", shell("echo a\r\x1b[2K\u202eb"), []string{"Run this command? (not sandboxed)", "$ echo a␍␛[2K<U+202E>b", "", "  timeout: 120", "not ASCII, check: U+202E"}},
		{"what looks like a space is named", shell("rm\u2800-r\u00a0x"), []string{"Run this command? (not sandboxed)", "$ rm<U+2800>-r<U+00A0>x", "", "  timeout: 120", "not ASCII, check: U+2800, U+00A0"}},
		{"a change", change(), []string{
			"Edit cmd/main.go?", "path: cmd/main.go", "  at line 9: func main() {:", "line 9: \tflag.Parse()",
			"removed line 10: -- a removed line that looks like a head",
			"added line 10: \tif err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {", "added line 11: \t\tos.Exit(1)",
			"line 12: \t}", "line 13: }", `   \ No newline at end of file`,
		}},
		{"an address", page(), []string{"Fetch docs.example.com?", `  url: "https://docs.example.com/a?b=c"`}},
		{"a call of a server's tool", &act.Action{Tool: "create", Input: json.RawMessage(strings.Join([]string{
			`{"labels":["bug","ci"]`, `"title":"one\ntwo: 2 && \"3\""`, `"a\nurl":null`, `"filter":{"and":[{"field":"assignee","value":"nobody"},{"field":"state","value":"open"}]}}`,
		}, ","))}, []string{
			"Call create?", `  "a\nurl": null`, "  filter: {", `    "and": [`,
			"      {", `        "field": "assignee",`, `        "value": "nobody"`, "      },", "      {", `        "field": "state",`, `        "value": "open"`, "      }", "    ]", "  }",
			`  labels: ["bug","ci"]`, `  title: "one\ntwo: 2 && \"3\""`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := append([]string{describe.Title(tt.a)}, describe.Words(tt.a, false)...)
			if g, w := strings.Join(got, "\n"), strings.Join(tt.want, "\n"); g != w {
				t.Errorf("got\n%s\nwant\n%s", g, w)
			}
		})
	}
}

func TestRule(t *testing.T) {
	own := shell("./ticket --json")
	own.Tool = "ticket"
	tests := []struct {
		name        string
		a           *act.Action
		prefix      int
		rule, means string
		session     string
	}{
		{"the whole command", shell("go test ./..."), 0, "shell:go test ./...", "Exactly this command runs without asking", "Allow this session"},
		{"its first words", shell("go test ./..."), 2, "shell:go test *", "Every command that begins like this", "Allow this session"},
		{"a rule for each command of a pipe", shell("git log -3 | head"), 2, "shell:git log *  and  shell:head *", "Every command that begins like one of these, alone or together, runs without asking", "Allow this session"},
		{"a file", change(), 0, "edit:cmd/main.go", "Every edit of this file", "Allow all edits in this folder"},
		{"a tool of the user's own, whatever its arguments", own, 0, "ticket", "Every call of this tool runs without asking in this folder, with any arguments", "Allow ticket this session"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rule, means, err := describe.Rule(&tools.Policy{}, tt.a, tt.prefix)
			if err != nil || rule != tt.rule || !strings.HasPrefix(means, tt.means) {
				t.Errorf("got %q, %q, %v; want %q, %q …", rule, means, err, tt.rule, tt.means)
			}
			if got := describe.AllowSession.Text(tt.a, false); got != tt.session {
				t.Errorf("got %q, want %q", got, tt.session)
			}
			if got := describe.AlwaysQuestion(tt.a); (got == "Always allow this tool?") != (tt.rule == tt.a.Tool) {
				t.Errorf("asked %q", got)
			}
		})
	}
}

func shell(command string) *act.Action {
	input, _ := json.Marshal(map[string]any{"command": command, "timeout": 120})
	return &act.Action{Tool: "shell", Input: input, Access: act.AccessRun, Title: command, Command: command}
}

func boxed(command string) *act.Action {
	a := shell(command)
	a.Sandboxed = true
	return a
}

func change() *act.Action {
	return &act.Action{
		Tool: "edit", Access: act.AccessWrite, Title: "edit main.go", Path: "cmd/main.go",
		Input: json.RawMessage(`{"path":"cmd/main.go","old":"-- a","new":"b"}`),
		Diff: "--- a/cmd/main.go\n+++ b/cmd/main.go\n@@ -9,4 +9,5 @@ func main() {\n \tflag.Parse()\n--- a removed line that looks like a head\n" +
			"+\tif err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {\n+\t\tos.Exit(1)\n \t}\n }\n\\ No newline at end of file\n",
	}
}

func page() *act.Action {
	const url = "https://docs.example.com/a?b=c"
	return &act.Action{Tool: "fetch", Access: act.AccessFetch, Title: url, Host: "docs.example.com", URL: url, Input: json.RawMessage(`{"url":"` + url + `"}`)}
}

// A plan is shown in the question as later in the conversation: text cannot reach the sign of a step.
func TestPlan(t *testing.T) {
	a := &act.Action{Tool: act.PlanTool}
	a.Proposal = "○ forged\n\n- [x] read\n  - [ ] mend \x1b[31mit\n- [>] now"
	var got []string
	for _, l := range describe.Action(a, false) {
		got = append(got, l.Gutter+l.Text)
	}
	if want := []string{"  ○ forged", "", "✓ read", "○   mend ␛[31mit", "▸ now"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
