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
		{"a new file", changed("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"), []string{"Create x?", "new file: x", "  at line 1:", "added line 1: a"}},
		{"a diff of another file", changed("--- a/x\n+++ b/y\n@@ -98,2 +98,1 @@ f:\n a\n-b\n"), []string{"Edit x?", "path: x", "  --- a/x", "  +++ b/y", "  at line 98: f:", "line 98: a", "removed line 99: b"}},
		{"a file that is moved", changed("--- a/y\n+++ b/x\n@@ -7,1 +0,0 @@\n-b\n"), []string{"Edit x?", "path: x", "  --- a/y", "  +++ b/x", "  at line 7:", "removed line 7: b"}},
		{"text outside of hunks", changed("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nFake: c\n@@ -0,0 +0,0 @@"), []string{"Edit x?", "path: x", "  at line 1:", "removed line 1: a", "added line 1: b", "  Fake: c", "  @@ -0,0 +0,0 @@"}},
		{"warnings", &act.Action{Tool: "jobs", Caution: "a\u202e", Irreversible: "b\nc", Input: json.RawMessage("{}")}, []string{"Call jobs?", "a<U+202E>", "b<U+000A>c"}},
		{"nothing", &act.Action{Tool: "jobs", Input: json.RawMessage("{}")}, []string{"Call jobs?", "without arguments"}},
		{"arguments that are no JSON", &act.Action{Tool: "jobs", Input: json.RawMessage("[1]")}, []string{"Call jobs?", "  [", "    1", "  ]"}},
		{"a path among the arguments", &act.Action{Tool: "read", Access: act.AccessRead, Path: "x", Input: json.RawMessage(`{"path":"x","from":1,"note":""}`)}, []string{"Read x?", "path: x", "", "  from: 1", `  note: ""`}},
		{"short and long lists", &act.Action{Tool: "jobs", Input: json.RawMessage(`{"a":["` + strings.Repeat("x", 56) + `"],"b":["` + strings.Repeat("x", 57) + `"],"c":"` + strings.Repeat("x", 61) + `"}`)},
			[]string{"Call jobs?", `  a: ["` + strings.Repeat("x", 56) + `"]`, "  b: [", `    "` + strings.Repeat("x", 57) + `"`, "  ]", `  c: "` + strings.Repeat("x", 61) + `"`}},
		{"gaps up to the deepest indentation", shell("a" + strings.Repeat(" ", 16) + "b" + strings.Repeat(" ", 17) + "c\td"), []string{"Run this command? (not sandboxed)", "$ a" + strings.Repeat(" ", 16) + "b <17 spaces> c␉   d", "", "  timeout: 120"}},
		{"eight odd characters", shell("абвгабвгдежз"), []string{"Run this command? (not sandboxed)", "$ абвгабвгдежз", "", "  timeout: 120",
			"not ASCII, check: U+0430 а, U+0431 б, U+0432 в, U+0433 г, U+0434 д, U+0435 е, U+0436 ж, U+0437 з"}},
		{"nine of them", shell("абвгдежзи"), []string{"Run this command? (not sandboxed)", "$ абвгдежзи", "", "  timeout: 120",
			"not ASCII, check: U+0430 а, U+0431 б, U+0432 в, U+0433 г, U+0434 д, U+0435 е, U+0436 ж, U+0437 з, …"}},
		{"a control character is ASCII", shell("a\x7f"), []string{"Run this command? (not sandboxed)", "$ a<U+007F>", "", "  timeout: 120"}},
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

// changed returns an edit of x.
func changed(diff string) *act.Action {
	return &act.Action{Tool: "edit", Access: act.AccessWrite, Path: "x", Diff: diff, Input: json.RawMessage(`{"old":"a"}`)}
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

// With details, a plan is followed by the arguments as sent. The styles are for front ends with a theme.
func TestDetails(t *testing.T) {
	plan := &act.Action{Tool: act.PlanTool, Proposal: "- [>] now", Input: json.RawMessage(`{"z":1}`)}
	for name, tt := range map[string]struct {
		a    *act.Action
		want []describe.Line
	}{
		"a plan": {plan, []describe.Line{
			{Gutter: "▸ ", Text: "now", Style: describe.Strong, Exact: true}, {},
			{Gutter: "  ", Text: "{", Style: describe.Dim, Exact: true}, {Gutter: "  ", Text: `  "z": 1`, Style: describe.Dim, Exact: true}, {Gutter: "  ", Text: "}", Style: describe.Dim, Exact: true},
		}},
		"a change": {changed("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\u202e\n+b\n"), []describe.Line{
			{Gutter: "path  ", Text: "x", Exact: true}, {Text: "@@ -1 +1 @@\n-a<U+202E>\n+b\n", Style: describe.Diff}, {},
			{Gutter: "  ", Text: "{", Style: describe.Dim, Exact: true}, {Gutter: "  ", Text: `  "old": "a"`, Style: describe.Dim, Exact: true}, {Gutter: "  ", Text: "}", Style: describe.Dim, Exact: true},
		}},
	} {
		if got := describe.Action(tt.a, true); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", name, got, tt.want)
		}
	}
	for name, tt := range map[string]struct {
		a    *act.Action
		want []describe.Line
	}{
		"the arguments are the subject of a call": {&act.Action{Tool: "jobs", Input: json.RawMessage(`{"n":1}`)}, []describe.Line{{Gutter: "  ", Text: "n: 1", Exact: true}}},
		"and not of a command":                    {shell("ls"), []describe.Line{{Gutter: "$ ", Text: "ls", Style: describe.Strong, Exact: true}, {}, {Gutter: "  ", Text: "timeout: 120", Style: describe.Dim, Exact: true}}},
		"numbers have the width of the last one": {changed("--- a/x\n+++ b/y\n@@ -98,2 +98,2 @@\n a\n-b\n+c\n\\ No newline\n"), []describe.Line{
			{Gutter: "path  ", Text: "x", Exact: true}, {Gutter: "  ", Text: "--- a/x", Style: describe.Dim}, {Gutter: "  ", Text: "+++ b/y", Style: describe.Dim}, {Gutter: "  ", Text: "@@ -98,2 +98,2 @@", Style: describe.Dim},
			{Gutter: " 98 ", Text: " a"}, {Gutter: " 99 ", Text: "-b", Style: describe.Removed}, {Gutter: " 99 ", Text: "+c", Style: describe.Added}, {Gutter: "    ", Text: `\ No newline`, Style: describe.Dim},
		}},
	} {
		if got := describe.Action(tt.a, false); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", name, got, tt.want)
		}
	}
}

func TestDiffWords(t *testing.T) {
	for _, tt := range []struct {
		diff           string
		want           []string
		added, removed int
	}{
		{"--- a/x\n+++ b/x\n@@ -9,3 +9,2 @@\n a\n-b\n-c\n+d\n", []string{"  at line 9:", "line 9: a", "removed line 10: b", "removed line 11: c", "added line 10: d"}, 1, 2},
		{"@@ -9,2 +0,0 @@ f\n-a\n-b\n", []string{"  at line 9: f:", "removed line 9: a", "removed line 10: b"}, 0, 2},
	} {
		words, added, removed := describe.DiffWords(tt.diff)
		if !slices.Equal(words, tt.want) || added != tt.added || removed != tt.removed {
			t.Errorf("got %q, +%d -%d; want %q, +%d -%d", words, added, removed, tt.want, tt.added, tt.removed)
		}
	}
}

// Nothing invisible stays: it is shown by a symbol or its number.
func TestReveal(t *testing.T) {
	for in, want := range map[string]string{
		"plain ~\t":                 "plain ~\t",
		"\x7f\x1f\x00":              "<U+007F>␟␀",
		"é 日本 👩\u200d👧":             "é 日本 👩\u200d👧",
		"a\u200bb":                  "a<U+200B>b",
		"e\u0301":                   "e\u0301",
		"a\u00a0\u3000\u2800\u00ad": "a<U+00A0><U+3000><U+2800><U+00AD>",
		"\u202e":                    "<U+202E>",
		"é\tx":                      "é\tx",
	} {
		if got := describe.Reveal(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if got := describe.IsPlain(in); got != (in == "plain ~\t") {
			t.Errorf("%q is plain: %v", in, got)
		}
	}
}
