package plain

import (
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/app"
)

// TestBranches: an earlier message is edited as a branch, and the old one is still there.
func TestBranches(t *testing.T) {
	d := talk(t, nil, llmtest.Say("One."), llmtest.Say("Two."), llmtest.Say("Three."))
	d.enter("first", "second")
	d.enter("/tree", "/undo", "1", "/draft", "another second", "/branches", "2", "/tree", "")
	d.golden("branches")
	d.valid()
}

// TestQuestionForks: a conversation that does not fit goes on in a copy, from a summary.
func TestQuestionForks(t *testing.T) {
	said := llmtest.Script(llm.Delta{Block: "1", Part: llm.Part{Kind: llm.Text, Text: strings.Repeat("word ", 700)}}, llm.Finish{Reason: llm.Stop})
	d := talk(t, func(_ *app.Options, so *session.Options) {
		so.Model.Context, so.Attended, so.Tools = 1200, true, nil
	}, said, llmtest.Say("In short."), llmtest.Say("An answer in the copy."))
	d.enter("one")
	first := d.app.Session
	d.enter(strings.Repeat("more ", 300))
	d.heard("2. Fork: summarize in a copy, keep this as is")
	d.enter("2")
	d.heard("An answer in the copy.")
	d.idle()
	for _, want := range []string{"Forked: this copy continues from a summary; the original is unchanged.", "Conversation summarized:"} {
		if !strings.Contains(d.said(), want) {
			t.Errorf("not said: %s\n%s", want, d.said())
		}
	}
	if d.app.Session == first || len(first.History()) != 2 {
		t.Errorf("the original has %d messages", len(first.History()))
	}
	d.valid()
}
