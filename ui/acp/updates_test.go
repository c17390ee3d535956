package acp

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
)

var update = flag.Bool("update", false, "rewrite testdata/updates.txt")

// updatesOf returns the updates that a client gets for events, one a line.
func updatesOf(t *testing.T, events ...session.Event) string {
	t.Helper()
	var got strings.Builder
	v := newView("/w", func(u sdk.SessionUpdate) {
		b, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		if filepath.Separator != '/' {
			text = strings.ReplaceAll(text, `\\`, "/")
		}
		got.WriteString(text + "\n")
	})
	for _, e := range events {
		for _, c := range v.turn.Apply(e, time.Unix(100, 0)) {
			v.show(c)
		}
	}
	return got.String()
}

// testdata/updates.txt holds the updates for the events of turns.
func TestUpdates(t *testing.T) {
	delta := func(block string, kind llm.Kind, text string) llm.Delta {
		return llm.Delta{Block: block, Part: llm.Part{Kind: kind, Text: text}}
	}
	call := func(id, name, input string) llm.Part {
		return llm.Part{Kind: llm.Call, ID: id, Name: name, Input: input}
	}
	result := func(id, name, text string) llm.Part {
		return llm.Part{Kind: llm.Result, ID: id, Name: name, Text: text}
	}
	answered := func(parts ...llm.Part) session.Response {
		return session.Response{Message: llm.Message{Role: llm.RoleAssistant, Model: "a/b", Parts: parts}}
	}
	step := session.Step{Model: "a/b", Seq: 2}
	read := call("1", "read", `{"path":"x.go","offset":7}`)
	shell := call("1", "shell", `{"command":"make all"}`)
	approval := session.ApprovalRequest{Call: shell, Action: &act.Action{Tool: "shell", Command: "make all", Input: json.RawMessage(shell.Input)}}
	plan := call("1", act.PlanTool, `{"text":"- [x] one\n- [ ] two"}`)
	var got strings.Builder
	for _, turn := range []struct {
		name   string
		events []session.Event
	}{
		{"text and thinking", []session.Event{step, delta("t", llm.Thinking, "hm"), delta("t", llm.Thinking, "!"), delta("a", llm.Text, "One "), delta("a", llm.Text, "two\x1b"), delta("b", llm.Text, "Three"), session.Done{}}},
		{"text that turns out to be thinking", []session.Event{step, delta("a", llm.Text, "Hm, "), delta("a", llm.Thinking, ""), delta("a", llm.Thinking, "so"), delta("b", llm.Text, "Yes"), session.Done{}}},
		{"a call", []session.Event{
			step, llm.Delta{Block: "c", Part: call("1", "read", `{"path":`)}, llm.Delta{Block: "c", Part: call("", "", `"x.go","offset":7}`)}, answered(read), session.Call{Part: read},
			session.Decision{ID: "1", Verdict: act.Allow, By: "policy"}, session.Result{Part: result("1", "read", "package x\n")}, step, delta("a", llm.Text, "Fine"), session.Done{},
		}},
		{"a call that is asked about, with its output", []session.Event{
			step, llm.Delta{Block: "c", Part: shell}, answered(shell), session.Call{Part: shell}, approval, session.Decision{ID: "1", Verdict: act.Allow, By: "person"},
			session.Progress{ID: "1", Text: "one\n"}, session.Progress{ID: "1", Text: "two\n"}, session.Progress{ID: "9", Text: "of no call"}, session.Result{Part: result("1", "shell", "one\ntwo\n")}, session.Done{},
		}},
		{"a call that is denied", []session.Event{step, llm.Delta{Block: "c", Part: shell}, answered(shell), session.Call{Part: shell}, approval, session.Decision{ID: "1", Verdict: act.Deny, By: "person"}, session.Result{Part: result("1", "shell", "denied")}, session.Done{}}},
		{"a change of a file", []session.Event{
			step, llm.Delta{Block: "c", Part: call("1", "edit", `{"path":"f"}`)}, session.Call{Part: call("1", "edit", `{"path":"f"}`)}, session.Decision{ID: "1", Verdict: act.Allow},
			session.Result{Part: result("1", "edit", "done"), Diff: "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9 +9 @@\n-x\n+y\n--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+new\n"}, session.Done{},
		}},
		{"a plan", []session.Event{step, llm.Delta{Block: "c", Part: plan}, session.Call{Part: plan}, session.Decision{ID: "1", Verdict: act.Allow}, session.Result{Part: result("1", act.PlanTool, "ok")}, session.Done{}}},
		{"no plan", []session.Event{step, llm.Delta{Block: "c", Part: call("1", act.PlanTool, `{"text":"x"}`)}, session.Call{Part: call("1", act.PlanTool, `{"text":"x"}`)}, session.Decision{ID: "1", Verdict: act.Allow}, session.Result{Part: result("1", act.PlanTool, "ok")}, session.Done{}}},
		{"notices", []session.Event{
			llm.Notice{Text: "a notice"}, llm.Notice{Text: "an urgent one", Urgent: true}, session.Sandbox{Text: "it changed x"}, session.Fallback{From: "a/b", To: "c/d", Fault: llm.Quota}, session.Compacted{Messages: 3, Before: 10, After: 4},
		}},
		{"an answer that begins again before its text", []session.Event{step, delta("t", llm.Thinking, "hm"), llm.Retry{Attempt: 1, Fault: llm.Network, Discards: []string{"t"}}, delta("a", llm.Text, "Yes"), session.Done{}}},
		{"images, files and sources", []session.Event{step,
			llm.Delta{Block: "i", Part: llm.Part{Kind: llm.Media, MIME: "image/png", Data: []byte("x")}}, llm.Delta{Block: "f", Part: llm.Part{Kind: llm.Media, MIME: "audio/mp3", Data: []byte("x"), Name: "a.mp3"}},
			llm.Delta{Block: "u", Part: llm.Part{Kind: llm.Media, MIME: "image/png", URL: "https://a.example/x.png"}}, llm.Delta{Block: "s", Part: llm.Part{Kind: llm.Source, Name: "A", URL: "https://a.example"}}, llm.Delta{Block: "j", Part: llm.Part{Kind: llm.Source, Name: "B", URL: "javascript:x"}},
			session.Done{}}},
	} {
		got.WriteString("==== " + turn.name + "\n" + updatesOf(t, turn.events...))
	}
	file := filepath.Join("testdata", "updates.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(b), "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("line %d is\n%s\nwant\n%s", i+1, line, strings.Join(want[min(i, len(want)):min(i+1, len(want))], ""))
		}
	}
	if got := strings.Count(got.String(), "\n") + 1; got != len(want) {
		t.Errorf("%d lines, want %d", got, len(want))
	}
}

// Only the end of a long output is sent again.
func TestLiveOutputIsShort(t *testing.T) {
	shell := llm.Part{Kind: llm.Call, ID: "1", Name: "shell", Input: `{"command":"x"}`}
	events := []session.Event{session.Step{Seq: 2}, llm.Delta{Block: "c", Part: shell}, session.Call{Part: shell}, session.Decision{ID: "1", Verdict: act.Allow}}
	for _, text := range []string{strings.Repeat("é", livePart/2), "1", "2"} {
		events = append(events, session.Progress{ID: "1", Text: text})
	}
	lines := strings.Split(strings.TrimSpace(updatesOf(t, events...)), "\n")
	for i, want := range []string{strings.Repeat("é", livePart/2), strings.Repeat("é", livePart/2-1) + "1", strings.Repeat("é", livePart/2-1) + "12"} {
		if line := lines[len(lines)-3+i]; !strings.Contains(line, "```\\n"+want+"\\n```") {
			t.Errorf("update %d has no %.10s…%s: %.300s", i, want, want[len(want)-3:], line)
		}
	}
}
