package print

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/colorprofile"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/theme"
)

// slow writes to a slow terminal.
type slow struct{ to *bytes.Buffer }

func (s slow) Write(p []byte) (int, error) {
	time.Sleep(time.Second)
	return s.to.Write(p)
}

// TestOrderOnATerminal: because standard output and standard error may be the same terminal,
// the reason why an answer is incomplete follows the complete answer.
func TestOrderOnATerminal(t *testing.T) {
	for _, render := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var screen bytes.Buffer
			out := newAsyncWriter(slow{&screen}, func(error) {})
			w := newTextWriter(cmdutil.PrintOptions{Out: out, Err: &colorprofile.Writer{Forward: &screen, Profile: colorprofile.NoTTY}, Theme: theme.Plain(), Render: render, Width: 40}, out)
			for _, e := range []session.Event{
				llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "cut"}},
				session.Response{Message: llm.Message{Parts: []llm.Part{{Kind: llm.Text, Text: "cut"}}}, Finish: llm.Finish{Reason: llm.Length}},
				session.Done{Reason: llm.Length},
			} {
				if err := w.event(e, exit.Incomplete); err != nil {
					t.Fatal(err)
				}
			}
			out.Close()
			if want := "cut\nNote: Answer cut off at the output limit\n"; screen.String() != want {
				t.Errorf("render %t: got %q, want %q", render, screen.String(), want)
			}
		})
	}
}

// TestRuleOfDenied: the suggested rule allows the denied call, and nothing else.
func TestRuleOfDenied(t *testing.T) {
	for _, a := range []*act.Action{
		{Tool: "write", Path: "app/[id]/page.tsx"},
		{Tool: "edit", Path: "a*.go"},
		{Tool: "edit", Path: "a.go"},
		{Tool: "shell", Command: "rm *"},
		{Tool: "shell", Command: "go test ./..."},
		{Tool: "fetch", Host: "example.com"},
		{Tool: "mine", Command: "make x"},
		{Tool: "mcp__a__b"},
	} {
		policy := &tools.Policy{}
		policy.SetWorkspace("/w")
		if err := policy.AllowAlways(a, 0); err != nil {
			t.Fatal(err)
		}
		want := policy.Rules()[0]
		text := rule(session.ApprovalRequest{Action: a, Policy: policy})
		got, err := tools.ParseRule(text, "mine")
		if got.Effect, got.Source, got.Workspace = want.Effect, want.Source, want.Workspace; err != nil || got != want {
			t.Errorf("%+v: --allow %q is %+v, %v; want %+v", *a, text, got, err, want)
		}
	}
}
