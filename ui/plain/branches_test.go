package plain

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/app"
)

// TestBranches: an earlier message is edited as a branch, and the old branch remains.
func TestBranches(t *testing.T) {
	d := talk(t, nil, llmtest.Say("One."), llmtest.Say("Two."), llmtest.Say("Three."))
	d.enter("first", "second")
	d.enter("/tree", "/rewind", "1", "/draft", "another second", "/branches", "2", "/tree", "")
	d.golden("branches")
	d.valid()
}

// TestEditAndBranches: an edited message is a draft again, and what came after it is a branch that can be chosen.
func TestEditAndBranches(t *testing.T) {
	d := talk(t, nil, llmtest.Say("1"), llmtest.Say("2"), llmtest.Say("2!"))
	d.enter("one", "two")
	d.apply(d.drafts.edit(d.app.Session.Path()[2].Seq))
	if d.drafts.text != "two" {
		t.Fatalf("the draft is %q", d.drafts.text)
	}
	if e, failed := d.drafts.edit(99).(app.Failure); !failed || e.Err == nil {
		t.Errorf("no message: %+v", e)
	}
	d.drafts.text = ""
	d.enter("TWO")
	restored := false
	d.app.Files.Restore = func() app.Effect { restored = true; return nil }
	l := d.panels.branches()
	at := slices.IndexFunc(l.Items, func(i app.Item) bool { return i.Title == "two" })
	if at < 0 || l.Items[at].Current || l.Items[at].Detail != "you" {
		t.Fatalf("the branches are %+v", l.Items)
	}
	d.apply(l.Choose(l.Items[at].Value))
	d.heard("Continuing on the branch: two")
	if path := d.app.Session.Path(); path[2].Message.Text() != "two" || !restored {
		t.Errorf("continues with %q, files restored: %t", path[2].Message.Text(), restored)
	}
	if e, failed := l.Choose("99").(app.Failure); !failed || e.Err == nil {
		t.Errorf("no branch: %+v", e)
	}
	d.valid()
}

// TestQuestionForks: a conversation that does not fit continues in a copy, from a summary.
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

// TestCommandsWhileAModelRests: a question about a failed model accepts words as well as
// numbers. While the model is waited for, the listed commands work.
func TestCommandsWhileAModelRests(t *testing.T) {
	for name, tt := range map[string]struct {
		lines []string
		want  []string
	}{
		"continue now":     {[]string{"now"}, []string{"From the other."}},
		"stop at once":     {[]string{"/stop"}, []string{"Error: Server error"}},
		"wait, then now":   {[]string{"wait", "/wait", "/now"}, []string{"/now retries at once", " seconds left.", "Retrying now.", "From the same."}},
		"wait, then stop":  {[]string{"/wait", "/stop"}, []string{"Stopped."}},
		"nothing is there": {[]string{"1", "/now", "/stop"}, []string{"Not waiting to retry.", "Nothing is running."}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := talk(t, func(_ *app.Options, so *session.Options) {
					other := llmtest.New(llmtest.Say("From the other."))
					so.Attended, so.Fallback = true, func(session.FallbackNeed) []string { return []string{"other/x"} }
					so.OpenModel = func(string) (llm.Endpoint, error) { return endpoint("other/x", other), nil }
				}, llmtest.Fail(&llm.Error{Fault: llm.Server}), llmtest.Say("From the same."))
				d.enter("hi")
				d.heard("2. Wait for fake/m")
				d.pass(answerDelay)
				for i, line := range tt.lines {
					d.input.lastLine = time.Time{} // each as a separate line
					d.paste(line)
					if i == 0 && strings.HasSuffix(line, "wait") {
						d.heard("Retrying in ")
					}
					if line == "1" {
						d.idle()
					}
				}
				for _, want := range tt.want { // in the output of any of the lines
					d.until(func() bool { return strings.Contains(d.said(), want) })
				}
				d.idle()
				d.valid()
			})
		})
	}
}

// TestLateAnswer: a line that looks like an answer, after the question ended by itself, is
// not a prompt: it is reported, and sent if it is entered again. Any other line is a message.
func TestLateAnswer(t *testing.T) {
	for typed, held := range map[string]bool{"2": true, "wait": true, "n": true, "and what about ships?": false} {
		t.Run(typed, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := talk(t, func(_ *app.Options, so *session.Options) {
					so.Attended, so.Fallback = true, func(session.FallbackNeed) []string { return []string{"other/x"} }
					so.OpenModel = func(string) (llm.Endpoint, error) { return endpoint("other/x", llmtest.New()), nil }
				}, llmtest.Fail(&llm.Error{Fault: llm.Server}))
				d.enter("hi")
				d.heard("2. Wait for fake/m")
				d.turns.add(d.turns.current, session.QuestionAnswered{}) // by itself
				d.input.lastLine = time.Time{}
				d.paste(typed)
				said := strings.Contains(d.said(), "Not sent: "+typed+". The question it may answer has ended.")
				if queued := d.app.Session.Queue.Len() > 0; said != held || queued == held {
					t.Errorf("told %v, queued %v:\n%s", said, queued, d.said())
				}
				if d.paste(typed); d.app.Session.Queue.Len() == 0 {
					t.Errorf("%s is never sent", typed)
				}
			})
		})
	}
}
