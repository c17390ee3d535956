package acp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
	"parley/tools/sanitize"
)

// TestAnswerBeginsAgain: a client is informed that sent text is not part of the answer, and that
// a call no longer runs.
func TestAnswerBeginsAgain(t *testing.T) {
	var said strings.Builder
	failed := false
	v := &view{texts: map[string]*sanitize.Stream{}, calls: map[string]*sentCall{}, send: func(u sdk.SessionUpdate) {
		if m := u.AgentMessageChunk; m != nil && m.Content.Text != nil {
			said.WriteString(m.Content.Text.Text)
		}
		text, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		failed = failed || u.ToolCallUpdate != nil && strings.Contains(string(text), `"failed"`)
	}}
	for _, e := range []session.Event{
		session.Step{Model: "a/b", Seq: 2}, llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "Hel"}},
		llm.Delta{Block: "c", Part: llm.Part{Kind: llm.Call, ID: "1", Name: "Bash", Input: "{}", Remote: true}},
		llm.Retry{Attempt: 1, Fault: llm.Network, Remote: true, Discards: []string{"a", "c"}},
		llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "Hello"}},
	} {
		for _, c := range v.turn.Apply(e, time.Unix(100, 0)) {
			v.show(c)
		}
	}
	if want := "Hel\n\nNetwork error · retrying (attempt 1). The answer begins again:\n\nHello"; said.String() != want || !failed {
		t.Errorf("said %q, want %q; the call failed: %v", said.String(), want, failed)
	}
}

// A wait for the reset of a limit is reported once, as a thought.
func TestWaitForReset(t *testing.T) {
	var said []string
	v := &view{send: func(u sdk.SessionUpdate) {
		if u.AgentThoughtChunk != nil {
			said = append(said, u.AgentThoughtChunk.Content.Text.Text)
		}
	}}
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	for _, c := range v.turn.Apply(llm.Retry{Attempt: 1, Fault: llm.Quota, Wait: time.Hour, Until: at.Add(time.Hour)}, at) {
		v.show(c)
	}
	for _, c := range v.turn.Tick(at.Add(time.Minute)) {
		v.show(c)
	}
	if text := strings.TrimSpace(strings.Join(said, "|")); text != "Quota exceeded · continues at 11:00, in 1 h 0 min" {
		t.Errorf("said %q", text)
	}
}

// Clients know the kind of each tool.
func TestToolsHaveAKind(t *testing.T) {
	kinds := []sdk.ToolKind{sdk.ToolKindRead, sdk.ToolKindSearch, sdk.ToolKindEdit, sdk.ToolKindExecute, sdk.ToolKindFetch, sdk.ToolKindThink}
	for _, tool := range act.Tools {
		if kind := kindOf(tool.Name); !slices.Contains(kinds, kind) {
			t.Errorf("%s is of the kind %q, want one of %q", tool.Name, kind, kinds)
		}
	}
	if kind := kindOf("mcp__files__read"); kind != sdk.ToolKindOther {
		t.Errorf("a server's tool is of the kind %q", kind)
	}
}

// A client shows questions and tool results as Markdown: it hides no part of
// them, and no character in a diff is invisible.
func TestNothingHides(t *testing.T) {
	v := &view{folder: "/w", calls: map[string]*sentCall{}}
	const command = "ls <!--\nrm -r ~ # ```` -->\n[x]: <y>"
	ask := v.call(session.ApprovalRequest{Action: &act.Action{Tool: "shell", Command: command, Input: json.RawMessage(`{}`)}})
	if got, want := ask.Content[0].Content.Content.Text.Text, "`````\n$ ls <!--\n> rm -r ~ # ```` -->\n> [x]: <y>\n`````"; got != want {
		t.Errorf("asked with %q, want %q", got, want)
	}
	if got, want := textContent("![x](https://example.com/x)\n")[0].Content.Content.Text.Text, "```\n![x](https://example.com/x)\n```"; got != want {
		t.Errorf("answered with %q, want %q", got, want)
	}
	const unified = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+a\u200b\U000e0041\u00a0b\n"
	if got, want := v.diffs(unified)[0].Diff.NewText, "a<U+200B><U+E0041><U+00A0>b\n"; got != want {
		t.Errorf("the new text is %q, want %q", got, want)
	}
}

// A diff of a file with CRLF line ends looks like any other. Line ends that change or differ are shown.
func TestLineEndsInDiffs(t *testing.T) {
	v := &view{folder: "/w", calls: map[string]*sentCall{}}
	for _, tt := range []struct{ hunk, before, after string }{
		{" a\r\n-b\r\n+c\r", "a\nb\n", "a\nc\n"},
		{" a\r\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file", "a\nb\n", "a\nc\n"},
		{" a\r\n-b\r\n+b", "a␍\nb␍\n", "a␍\nb\n"},
		{" a\n-b\n+b\rc", "a\nb\n", "a\nb␍c\n"},
	} {
		d := v.diffs("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n" + tt.hunk + "\n")[0].Diff
		if *d.OldText != tt.before || d.NewText != tt.after {
			t.Errorf("%q: %q becomes %q, want %q and %q", tt.hunk, *d.OldText, d.NewText, tt.before, tt.after)
		}
	}
}

// A code block ends after its text, regardless of backticks in it. Many of them cost no more than
// other text.
func TestCodeBlock(t *testing.T) {
	for text, want := range map[string]string{
		"a\n":              "```\na\n```",
		"a `b`":            "```\na `b`\n```",
		"```\n![x](//y)\n": "````\n```\n![x](//y)\n````",
		"`` ````` ```":     "``````\n`` ````` ```\n``````",
	} {
		if got := codeBlock(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	marks := strings.Repeat("`", 1000)
	if n := testing.AllocsPerRun(10, func() { codeBlock(marks) }); n > 5 {
		t.Errorf("%v allocations", n)
	}
}
