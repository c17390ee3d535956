package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/tui/overlay"
)

// attended makes the sessions of a stage ask when a model fails: another one could go on.
func attended(other llm.Model) func(*Options) {
	return func(o *Options) {
		open := func(name string) (llm.Endpoint, error) {
			return llm.Endpoint{Model: other, Name: name, Origin: name, Strategy: "native"}, nil
		}
		model := o.Session.Model()
		o.Session = session.New(session.Options{Model: model, Attended: true, Now: o.Now, Fallback: session.FallbackModels("other/two"), OpenModel: open})
	}
}

// half answers in part, and fails.
func half(_ context.Context, _ llm.Request, out *llm.Out) error {
	out.Send(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "half an answer"}})
	return &llm.Error{Fault: llm.Server, Provider: "fake", Message: "no luck"}
}

// A model that fails in the middle is told, and what follows is the user's choice: by number,
// by arrows and enter, or esc.
func TestQuestionOnTheScreen(t *testing.T) {
	for name, tt := range map[string]struct {
		keys []string
		want string
	}{
		"by number":          {[]string{"1"}, "whole"},
		"the same one again": {[]string{"2"}, "again"},
		"by arrows":          {[]string{"up", "up", "enter"}, "whole"},
		"enter stops":        {[]string{"enter"}, "Server error"},
		"esc stops":          {[]string{"esc"}, "Server error"},
		"ctrl+c stops":       {[]string{"ctrl+c"}, "Server error"},
	} {
		t.Run(name, func(t *testing.T) {
			other := llmtest.New(llmtest.Say("whole"))
			s := setUpWith(t, 80, 24, attended(other), half, llmtest.Say("again"))
			s.ask("hi", "Ask fake/one again")
			s.WaitFor(contains("half an answer", "fake/one: Server error (fake): no luck", "1  Continue with other/two", "› 3  Stop", "waiting for you"))
			s.seen().Press(tt.keys...).WaitForText(tt.want)
			s.WaitFor(lacks("Ask fake/one again"))
		})
	}
}

// What was on its way into the draft gets there, and enter behind it answers nothing.
func TestQuestionKeepsWhatIsTyped(t *testing.T) {
	s := setUpWith(t, 80, 24, attended(llmtest.New()), half)
	s.ask("hi", "Ask fake/one again")
	s.Type("1 more thing")
	s.seen().Press("enter").WaitFor(contains("  1  Continue with other/two", "  3  Stop"))
	s.Press("esc").WaitFor(contains("› 1 more thing"))
}

// Another model goes on by itself when the countdown is over: the question goes with it, and
// comes up first where another dialog lay over it.
func TestQuestionEndsByItself(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Hang("so far"))
	s.ask("hi", "so far")
	q := session.Question{
		ID: 1, About: session.Failure{Err: &llm.Error{Fault: llm.RateLimit, Provider: "a"}, From: "a/x", To: "b/y"}, Wait: 5 * time.Second,
		Choices: []session.Choice{{Action: session.SwitchModel, Model: "b/y"}, {Action: session.StopTurn}},
	}
	s.Press("f1").WaitForText("Keys")
	s.Driver.Send(do(func() { s.m.event(q) }))
	s.Press("esc").WaitFor(contains("› 1  Continue with b/y")).WaitFor(lacks("in 5.0 s"))
	s.Driver.Send(do(func() { s.m.event(session.Countdown{Question: q}) }))
	s.WaitForText("Continue with b/y in 5.0 s")
	s.Driver.Send(do(func() { s.m.event(session.Answered{Question: q, Choice: q.Choices[0]}) }))
	s.Send(overlay.PaintedMsg{})
	s.WaitFor(func(screen string) bool { return !strings.Contains(screen, "Continue with b/y") })
}

// do returns a message whose handling calls f.
func do(f func()) doMsg {
	return func() tea.Cmd {
		f()
		return nil
	}
}
