package tui

import (
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
)

// asksUser offers the tool ask_user to the model of a stage.
func asksUser(t *testing.T) func(*Options) {
	return func(o *Options) {
		set, err := tools.Open(o.App.Directory)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { set.Close() })
		o.App.Machine.ToolSet = func(string) act.Set { return set }
		model := o.App.Session.Model()
		o.App.Session = session.New(session.Options{Model: model, Tools: set, Policy: tools.NewPolicy(act.ModeYolo), Now: o.App.Now, Log: o.App.Library.Create(session.Info{Dir: o.App.Directory})})
	}
}

// twoQuestions is a turn that asks two questions.
func twoQuestions() llmtest.Turn {
	return llmtest.Call(llm.Part{ID: "1", Name: act.AskTool, Input: `{"questions":[{"question":"Which one?","choices":["Alpha: first","Beta"]},{"question":"How many?","several":true,"choices":["one","two"]}]}`})
}

// The answers of the user are the result of the call: by digits, arrows, or typed. The screen says that it waits.
func TestAskUser(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first, second []string
		want          string
	}{
		"by digits": {[]string{"2"}, []string{"1", "2", "enter"}, "Which one?\n→ Beta\n\nHow many?\n→ one\n→ two"},
		"by arrows": {[]string{"down", "up", "enter"}, []string{"down", "enter"}, "Which one?\n→ Alpha\n\nHow many?\n→ two"},
		"typed":     {[]string{"n", "o", "enter"}, []string{"esc"}, "Which one?\n→ no\n\nThe user did not answer."},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUpWith(t, 80, 24, asksUser(t), twoQuestions(), llmtest.Say("fine"))
			s.ask("do it", "Which one?")
			s.Shows("1 of 2", "waiting for you", "› 1  Alpha  recommended · first").Lacks("esc stops")
			s.seen().Press(tt.first...).WaitForText("How many?")
			s.seen().Press(tt.second...).WaitForText("fine")
			s.Lacks("waiting for you")
			if got := s.fake.Requests()[1].Messages[2].Parts[0].Text; !strings.HasPrefix(got, tt.want) {
				t.Errorf("the model was told %q", got)
			}
		})
	}
}

// A question returns after another dialog covered it, and keeps what was typed for the draft.
func TestAskUserCovered(t *testing.T) {
	s := setUpWith(t, 80, 24, asksUser(t), twoQuestions(), llmtest.Say("fine"))
	s.ask("do it", "Which one?")
	s.seen().Press("o", "w", "n").WaitForText("› 3  own")
	s.Press("f1").WaitForText("Keys").Press("esc").WaitForText("› 3  own")
	s.seen().Press("enter").WaitForText("How many?")
}

// Ctrl+c at a question stops the turn. The next prompt is sent with a valid history.
func TestAskUserStopped(t *testing.T) {
	s := setUpWith(t, 80, 24, asksUser(t), twoQuestions(), llmtest.Say("fine"))
	s.ask("do it", "Which one?")
	s.seen().Press("ctrl+c").WaitForScreen(lacks("Which one?"))
	s.idle()
	s.ask("go on", "fine")
	s.Lacks("waiting for you")
	calls, results := 0, 0
	for _, m := range s.fake.Requests()[1].Messages {
		for _, p := range m.Parts {
			switch p.Kind {
			case llm.Call:
				calls++
			case llm.Result:
				results++
			}
		}
	}
	if calls != 1 || results != 1 {
		t.Errorf("%d calls have %d results", calls, results)
	}
}
