package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/tui/overlay"
)

// attended makes the sessions of a stage ask when a model fails, because another one could continue.
func attended(other llm.Model) func(*Options) {
	return func(o *Options) {
		open := func(name string) (llm.Endpoint, error) {
			return llm.Endpoint{Model: other, Name: name, Origin: name, Strategy: "native"}, nil
		}
		model := o.App.Session.Model()
		o.App.Session = session.New(session.Options{Model: model, Attended: true, Now: o.App.Now, Fallback: func(session.FallbackNeed) []string { return []string{"other/two"} }, OpenModel: open})
	}
}

// half sends part of an answer, and fails.
func half(_ context.Context, _ llm.Request, out *llm.Out) error {
	out.Send(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "half an answer"}})
	return &llm.Error{Fault: llm.Server, Provider: "fake", Message: "no luck"}
}

// A failure in the middle of an answer is reported, and the user chooses how to continue: by
// number, by arrows and enter, or with esc.
func TestQuestionOnTheScreen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		keys []string
		want string
	}{
		"by number":          {[]string{"1"}, "whole"},
		"the same one again": {[]string{"2"}, "another answer"},
		"by arrows":          {[]string{"up", "up", "enter"}, "whole"},
		"enter stops":        {[]string{"enter"}, "Server error"},
		"esc stops":          {[]string{"esc"}, "Server error"},
		"ctrl+c stops":       {[]string{"ctrl+c"}, "Server error"},
	} {
		t.Run(name, func(t *testing.T) {
			other := llmtest.New(llmtest.Say("whole"))
			s := setUpWith(t, 80, 24, attended(other), half, llmtest.Say("another answer"))
			s.ask("hi", "Ask fake/one again")
			s.WaitForScreen(contains("half an answer", "fake/one: Server error (fake): no luck", "1  Continue with other/two", "› 3  Stop", "waiting for you"))
			s.seen().Press(tt.keys...).WaitForScreen(lacks("Ask fake/one again")).Shows(tt.want)
		})
	}
}

// A turn that a limit stopped waits for its reset if the user chooses so, at once or later with /wait. Meanwhile the
// user can write, and a user in another window is notified when it continues.
func TestLimitOnTheScreen(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) {
		o.App.Session = session.New(session.Options{Model: o.App.Session.Model(), Attended: true, Now: o.App.Now})
	}, llmtest.Fail(&llm.Error{Fault: llm.Quota, Provider: "fake", Message: "resets 3pm", Wait: 2 * time.Hour}), llmtest.Say("whole"))
	s.ask("hi", "Wait for fake/one until 03:46")
	s.Shows("fake/one: Quota exceeded (fake): resets 3pm", "› 2  Stop")
	s.seen().Press("enter").WaitForScreen(contains("Try again in 2 h (/wait waits for it), or choose another model with /model"))
	s.idle()
	s.Type("/wait").Press("enter").WaitForScreen(contains("Quota exceeded · continues at 03:46, in 1 h 59 min · ctrl+x g now · esc stops"))
	s.clock.Add(time.Hour)
	s.Type("meanwhile").Press("ctrl+x", "a").WaitForScreen(contains(band+"meanwhile", "Waiting, 59 min", "∙ waiting 1 h")).Lacks("no answer yet")
	s.Driver.Send(do(func() {
		s.m.Unfocused = true
		if s.m.event(session.Step{Model: "fake/one"}) == nil {
			t.Error("the user was not notified")
		}
	}))
	s.Press("ctrl+x", "g").WaitForText("whole")
	s.idle()
	s.Shows(band + "meanwhile").Lacks("continu")
}

// Keys typed for the draft reach it, and an enter after them answers nothing.
func TestQuestionKeepsWhatIsTyped(t *testing.T) {
	s := setUpWith(t, 80, 24, attended(llmtest.New()), half)
	s.ask("hi", "Ask fake/one again")
	s.Type("1 more thing")
	s.seen().Press("enter").Shows("  1  Continue with other/two", "  3  Stop")
	s.Press("esc").WaitForScreen(contains(band + "1 more thing"))
}

// Another model takes over when the countdown ends: the question disappears. If another
// dialog covers it, the question is shown first.
func TestQuestionEndsByItself(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Hang("so far"))
	s.ask("hi", "so far")
	q := session.Question{
		ID: 1, About: session.Failure{Err: &llm.Error{Fault: llm.RateLimit, Provider: "a"}, From: "a/x", To: "b/y"}, Wait: 5 * time.Second,
		Choices: []session.Choice{{Action: session.SwitchModel, Model: "b/y"}, {Action: session.StopTurn}},
	}
	s.Press("f1").WaitForText("Keys")
	s.Driver.Send(do(func() { s.m.event(q) }))
	s.Press("esc").WaitForScreen(contains("› 1  Continue with b/y")).Lacks("in 5.0 s")
	s.Driver.Send(do(func() { s.m.event(session.Countdown{Question: q}) }))
	s.WaitForScreen(contains("Continue with b/y in 5.0 s", "continuing in 5.0 s"))
	s.Driver.Send(do(func() { s.m.event(session.QuestionAnswered{Question: q, Choice: q.Choices[0]}) }))
	s.Send(overlay.DrawnMsg{})
	s.Lacks("Continue with b/y")
}

// do returns a message whose handling calls f.
func do(f func()) doMsg {
	return func() tea.Cmd {
		f()
		return nil
	}
}

// windowed makes the session of a stage ask about requests that do not fit a window of 1,200
// tokens, at four bytes a token.
func windowed(o *Options) {
	small := func(e llm.Endpoint, err error) (llm.Endpoint, error) {
		e.Context = 1200
		return e, err
	}
	lib, open := o.App.Library, o.App.Models.Open
	model, _ := small(o.App.Session.Model(), nil)
	build := func(log *session.Log) *session.Session {
		return session.New(session.Options{Model: model, Attended: true, Now: o.App.Now, Log: log})
	}
	o.App.Session = build(lib.Create(session.Info{Dir: o.App.Directory}))
	o.App.Models.Open = func(name string) (llm.Endpoint, error) { return small(open(name)) }
	o.App.Opening.Fork = func(id string, head int) (*session.Session, string, error) {
		log, _, err := lib.ForkInto(lib, id, head)
		return build(log), "", err
	}
}

// A conversation that does not fit continues in a copy, from a summary. The prompt and queued
// messages go to the copy, while the original keeps its end.
func TestQuestionForks(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ w, h int }{{120, 40}, {80, 24}, {50, 15}} {
		t.Run(fmt.Sprint(size.w), func(t *testing.T) {
			one := strings.Repeat("word ", 700)
			said := llmtest.Script(llm.Delta{Block: "1", Part: llm.Part{Kind: llm.Text, Text: one}}, llm.Finish{Reason: llm.Stop})
			s := setUpWith(t, size.w, size.h, windowed, said, llmtest.Say("in short"), llmtest.Say("an answer in the copy"), llmtest.Say("and to what was queued"))
			s.ask("one", "word")
			s.idle()
			first := s.m.App.Session
			first.Queue.Add(llm.Part{Kind: llm.Text, Text: "then this"})
			s.Paste(strings.Repeat("more ", 300))
			s.clock.Add(time.Second) // enter right after a paste is part of it
			s.Press("enter").WaitForText("2  Fork: summarize in a copy, keep this as is")
			s.seen().Press("2").WaitForText("to what was queued")
			s.WaitForScreen(contains("an answer in the copy"))
			if own := s.m.App.Session; own.ID() == first.ID() || len(first.History()) != 2 || first.Queue.Len() > 0 {
				t.Errorf("the original has %d messages, %d queued", len(first.History()), first.Queue.Len())
			}
			requests := s.fake.Requests()
			if sent := requests[len(requests)-2].Messages; !strings.Contains(sent[0].Text(), "in short") || !strings.Contains(sent[len(sent)-1].Text(), "more more") {
				t.Errorf("sent %.300v", sent)
			}
		})
	}
}

// A failed copy loses nothing: the prompt can be sent from where it is.
func TestQuestionForkFails(t *testing.T) {
	said := llmtest.Script(llm.Delta{Block: "1", Part: llm.Part{Kind: llm.Text, Text: strings.Repeat("word ", 700)}}, llm.Finish{Reason: llm.Stop})
	s := setUpWith(t, 80, 24, func(o *Options) {
		windowed(o)
		o.App.Opening.Fork = func(string, int) (*session.Session, string, error) { return nil, "", errors.New("the disk is full") }
	}, said, llmtest.Say("an answer"))
	s.ask("one", "word")
	s.idle()
	s.Paste(strings.Repeat("more ", 300))
	s.clock.Add(time.Second) // enter right after a paste is part of it
	s.Press("enter").WaitForText("2  Fork")
	s.seen().Press("2").WaitForText("The disk is full")
	s.Press("ctrl+x", "r").WaitForText("4  Send anyway")
	s.seen().Press("4").WaitForText("an answer")
}

// While a failed model is waited for, the displayed keys work: the model is asked at once,
// the wait continues, or the turn ends.
func TestKeysWhileAModelRests(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ keys, want string }{
		"now":  {"ctrl+x g", "again"},
		"wait": {"ctrl+x a", " s left"},
		"stop": {"esc", "Stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // no countdown ends during a step
				s := newStage(t, 50, 15, attended(llmtest.New()), llmtest.Fail(&llm.Error{Fault: llm.Server}), llmtest.Say("again"))
				s.ask("hi", "2  Wait for fake/one")
				s.seen().Press("2").WaitForScreen(contains("retrying in ", "∙ waiting", "ctrl+x g now", "esc stops"))
				s.Press(strings.Fields(tt.keys)...).WaitForText(tt.want)
			})
		})
	}
	t.Run("nothing waits", func(t *testing.T) {
		s := setUp(t, 80, 24)
		s.Press("ctrl+x", "g").WaitForText("Not waiting to retry")
	})
}

// A sentence whose first letter would answer the open question goes to the input and answers nothing,
// with every kind of question. The same letter alone answers.
func TestSentenceAtQuestion(t *testing.T) {
	t.Parallel()
	approval := func(t *testing.T) *stage {
		s := setUp(t, 80, 24, llmtest.Call(touch("1", "b")), llmtest.Say("done"))
		s.ask("do it", "Run this command?")
		return s
	}
	trust := func(t *testing.T) *stage {
		s := setUpWith(t, 80, 24, func(o *Options) {
			o.App.Trust.Question, o.App.Trust.Decide = "Do you trust this?", func(bool) (string, error) { return "", nil }
		})
		s.WaitForText("Do you trust this?")
		return s
	}
	turn := func(t *testing.T) *stage {
		s := setUpWith(t, 80, 24, attended(llmtest.New(llmtest.Say("whole"))), half, llmtest.Say("again"))
		s.ask("hi", "Ask fake/one again")
		return s
	}
	for name, c := range map[string]struct {
		asks     func(*testing.T) *stage
		question string
		answers  string // each of them begins a sentence
		foot     string // while the sentence is typed; "" if unchanged
	}{
		"approval": {approval, "Run this command?", "yaepn", "Press y, n, a, p, e"},
		"trust":    {trust, "Do you trust this?", "yn", ""},
		"turn":     {turn, "Ask fake/one again", "12", "↑ ↓ select"},
	} {
		for _, letter := range c.answers {
			t.Run(name+" "+string(letter), func(t *testing.T) {
				s := c.asks(t)
				s.seen().packet(t, string(letter), "space", "f", "u", "n", "enter")
				s.Shows(c.question).Shows(c.foot).Press("esc").Shows(band + string(letter) + " fun")
				s.idle()
			})
			t.Run(name+" "+string(letter)+" alone", func(t *testing.T) {
				s := c.asks(t)
				s.seen().Press(string(letter)).WaitForScreen(lacks(c.question)).Lacks(band + string(letter))
			})
		}
	}
}
