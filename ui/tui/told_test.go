package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/ui/app"
	"parley/ui/tui/common"
)

// status returns the last row.
func (s *stage) status() string {
	rows := strings.Split(strings.TrimRight(s.Screen(), "\n"), "\n")
	return rows[len(rows)-1]
}

// The known cost stays visible when the price of an answer is unknown, marked
// as a lower bound.
func TestKnownCostStays(t *testing.T) {
	paid := func(u llm.Usage) llmtest.Turn {
		return func(_ context.Context, _ llm.Request, out *llm.Out) error {
			out.Send(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: fmt.Sprintf("answer of %d", u.Output)}})
			out.Send(u)
			out.Send(llm.Finish{Reason: llm.Stop})
			return nil
		}
	}
	s := setUp(t, 80, 24, paid(llm.Usage{Input: 10, Output: 5, Cost: 0.31, Priced: true}), paid(llm.Usage{Input: 20, Output: 6}))
	s.ask("one", "answer of 5")
	s.idle()
	s.WaitFor(func() bool { return strings.Contains(s.status(), " $0.31") })
	s.ask("two", "answer of 6")
	s.idle()
	s.WaitFor(func() bool { return strings.Contains(s.status(), "≥$0.31") })
	s.Type("/usage").Press("enter").WaitForText("This conversation: 30 in · 11 out · ≥$0.31")
}

// A context window that only the server knows is shown once it has answered.
func TestServerTellsContextWindow(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) {
		model := o.App.Session.Model()
		learned := model
		model.Context, learned.Context = 0, 40_000
		o.App.Session.SetModel(model)
		o.App.Models.Local.Learn = func(_ context.Context, name string) (llm.Endpoint, bool) { return learned, name == learned.Name }
	}, func(_ context.Context, _ llm.Request, out *llm.Out) error {
		out.Send(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "the answer"}})
		out.Send(llm.Usage{Input: 3900, Output: 100})
		out.Send(llm.Finish{Reason: llm.Stop})
		return nil
	})
	if strings.Contains(s.status(), "%") {
		t.Errorf("%q, before anything is known", s.status())
	}
	s.ask("hi", "the answer")
	s.idle()
	s.WaitFor(func() bool { return strings.Contains(s.status(), "10% of 40k") })
}

// /context and the status line describe the same request.
func TestContextIsWhatTheStatusSays(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) {
		o.App.Context = func() []app.ContextItem {
			return []app.ContextItem{{Name: "system prompt", Tokens: 1000}, {Name: "tool read", Tokens: 2000}}
		}
	}, func(_ context.Context, _ llm.Request, out *llm.Out) error {
		out.Send(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "the answer"}})
		out.Send(llm.Usage{Input: 4000, Output: 900})
		out.Send(llm.Finish{Reason: llm.Stop})
		return nil
	})
	s.WaitFor(func() bool { return strings.Contains(s.status(), "3% of 100k") })
	s.Type("/context").Press("enter").WaitForText("3.0k tokens · 3% of the")
	s.Press("esc")
	s.ask("hi", "the answer")
	s.idle()
	s.WaitFor(func() bool { return strings.Contains(s.status(), "5% of 100k") })
	s.Type("/context").Press("enter").WaitForText("4.9k tokens · 5% of the").WaitForText("1.9k tokens") // of the conversation
}

// A stopped answer, one that broke off, and the duration of thinking look the same
// when the conversation is opened again.
func TestShownAgainAsItWas(t *testing.T) {
	var s *stage
	thinks := func(_ context.Context, _ llm.Request, out *llm.Out) error {
		out.Send(llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "let me see"}})
		s.WaitForText("let me see")
		s.clock.Add(7 * time.Second)
		out.Send(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "I have seen it"}})
		out.Send(llm.Usage{Input: 10, Output: 20, Priced: true})
		out.Send(llm.Finish{Reason: llm.Stop})
		return nil
	}
	s = setUp(t, 80, 60, thinks, llmtest.Hang("half an answer"))
	s.ask("think", "I have seen it")
	s.idle()
	if !strings.Contains(s.Screen(), "thought for 7 s") {
		t.Errorf("it does not say how long was thought:\n%s", s.Screen())
	}
	s.ask("go on", "half an answer")
	s.Press("esc").WaitForText("Stopped")
	s.idle()
	s.clock.Add(time.Minute)
	live := conversation(s.Send(common.ToastExpiredMsg{}).Screen())
	if stored := s.shownAgain(t, 80, 60, "half an answer"); stored != live {
		t.Errorf("shown again:\n%s\nwant\n%s", stored, live)
	}
}

// Queuing a prompt does not move the text being read.
func TestQueueWhileReading(t *testing.T) {
	long := strings.Repeat("a line of it\n\n", 60)
	s := setUp(t, 80, 24, llmtest.Say(long), llmtest.Hang("half an answer"))
	s.ask("one", "a line of it")
	s.idle()
	s.ask("two", "half an answer")
	s.Press("ctrl+home").WaitForText("▌ one")
	s.Type("queued one").Press("enter").WaitForText("1 queued")
	if screen := s.Screen(); !strings.HasPrefix(screen, "▌ one") || s.m.chat.Transcript.AtBottom() {
		t.Errorf("the reader was moved:\n%s", screen)
	}
}

// A toast does not hide that a message is being edited, and disappears when it
// no longer applies.
func TestToasts(t *testing.T) {
	t.Parallel()
	t.Run("editing stays in sight", func(t *testing.T) {
		s := setUp(t, 80, 24, llmtest.Say("first answer"))
		s.ask("the question", "first answer")
		s.idle()
		s.Press("esc", "esc").WaitForText("Edit which").Press("enter").WaitForText("Editing an earlier message")
		s.Press("shift+tab").WaitForText("Approval mode: auto").Shows("Editing an earlier message")
	})
	t.Run("queued, until it is not", func(t *testing.T) {
		s := setUp(t, 80, 24, llmtest.Hang("half an answer"))
		s.ask("one", "half an answer")
		s.Type("two").Press("enter").WaitForText("Queued – sent with")
		s.Type("/unqueue").Press("enter").WaitForScreen(func(screen string) bool { return !strings.Contains(screen, "Queued – sent with") })
	})
	t.Run("of a command, until the next one", func(t *testing.T) {
		s := setUp(t, 80, 24)
		s.Type("a draft").Press("ctrl+x", "s").WaitForText("Draft stashed · ctrl+x s restores it")
		s.Press("ctrl+x", "s").WaitForText(band + "a draft").Lacks("Draft stashed")
	})
	t.Run("quit, until something is typed", func(t *testing.T) {
		s := setUp(t, 80, 24)
		s.Press("ctrl+c").WaitForText("Press ctrl+c again to quit")
		s.Type("x").WaitForScreen(func(screen string) bool { return !strings.Contains(screen, "Press ctrl+c again to quit") })
	})
}

// The status names the answering model, even if another one was chosen for later prompts.
func TestStatusNamesWhoAnswers(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Hang("half an answer"))
	s.ask("hi", "half an answer")
	s.Type("/model fake/two").Press("enter").WaitForText("Model: fake/one → fake/two")
	if got := s.status(); !strings.HasPrefix(got, "  fake/one") {
		t.Errorf("the status says %q while fake/one answers", got)
	}
	s.Press("esc").WaitForText("Stopped")
	s.WaitFor(func() bool { return strings.HasPrefix(s.status(), "  fake/two") })
}
