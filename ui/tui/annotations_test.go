package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools/act"
	"parley/ui/tui/common"
	"parley/ui/uitest"
)

// reopened is a stage whose stored conversations can be opened again.
type reopened struct {
	*stage
	t    *testing.T
	size [2]int
}

// setUpStored returns a stage with a second model as fallback.
func setUpStored(t *testing.T, w, h int, turns ...llmtest.Turn) *reopened {
	t.Helper()
	s := setUpWith(t, w, h, func(o *Options) {
		build := func(log *session.Log) *session.Session {
			one, _ := o.App.Models.Open("fake/one")
			return session.New(session.Options{Model: one, Log: log, Now: o.App.Now, Fallback: func(session.FallbackNeed) []string { return []string{"fake/two"} }, OpenModel: o.App.Models.Open, EstimateTokens: func(string) int { return 0 }})
		}
		o.App.Session = build(o.App.Library.Create(session.Info{Dir: o.App.Directory}))
		o.App.Opening.Resume = func(id string) (*session.Session, string, error) {
			log, err := o.App.Library.Resume(id)
			if err != nil {
				return nil, "", err
			}
			return build(log), "", nil
		}
		o.App.Machine.Shell = func(_ context.Context, _, command string, _ func(string)) act.Outcome {
			return act.Outcome{Text: "output of " + command + "\x1b[31m", Duration: 2 * time.Second}
		}
	}, turns...)
	return &reopened{s, t, [2]int{w, h}}
}

// scrolled returns the rows seen while scrolling through the whole conversation.
func scrolled(d *uitest.Driver) []string {
	d.Send(common.ToastExpiredMsg{})
	all := []string{conversation(d.Press("ctrl+home").Screen())}
	for range 50 {
		next := conversation(d.Press("pgdown").Screen())
		if next == all[len(all)-1] {
			break
		}
		all = append(all, next)
	}
	d.Press("ctrl+end")
	return all
}

// sameAgain opens the stored conversation again and compares its rows.
func (k *reopened) sameAgain() string {
	k.t.Helper()
	k.idle()
	k.clock.Add(time.Minute) // toasts have expired
	live := scrolled(k.Driver)
	if err := k.m.App.Session.Close(); err != nil {
		k.t.Fatal(err)
	}
	o := k.m.options()
	var err error
	if o.App.Session, _, err = o.App.Opening.Resume(k.m.App.Session.ID()); err != nil {
		k.t.Fatal(err)
	}
	again := newModel(o)
	again.Tick = k.m.Tick
	d := uitest.New(k.t, again, k.size[0], k.size[1])
	again.Send = func(msg tea.Msg) { d.Deliver(msg) }
	d.WaitForText("Ask anything")
	stored := scrolled(d)
	if strings.Join(stored, "\n----\n") != strings.Join(live, "\n----\n") {
		k.t.Errorf("shown again:\n%s\nwant\n%s", strings.Join(stored, "\n----\n"), strings.Join(live, "\n----\n"))
	}
	return strings.Join(stored, "\n")
}

func text(block, text string) llm.Delta {
	return llm.Delta{Block: block, Part: llm.Part{Kind: llm.Text, Text: text}}
}

// fault returns a provider's error.
func fault(f llm.Fault) error {
	return &llm.Error{Fault: f, Provider: "fake", Status: 503, Message: "no luck today", Key: "FAKE_KEY", URL: "https://fake.example/v1"}
}

// A setting changed while an answer arrives is shown again in its place. A model that the user
// chose then answers next: the switch back is not repeated.
func TestSetWhileAnswering(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"before the first word": "", "in the middle": "the first half"} {
		t.Run(name, func(t *testing.T) {
			ready, more := make(chan struct{}), make(chan struct{})
			k := setUpStored(t, 80, 24,
				func(_ context.Context, _ llm.Request, out *llm.Out) error {
					if first != "" {
						out.Send(text("a", first))
					}
					close(ready)
					<-more
					out.Send(text("a", " and the other"))
					out.Send(llm.Finish{Reason: llm.Stop})
					return nil
				},
				llmtest.Say("answer of two"),
			)
			k.Type("one").Press("enter")
			<-ready
			if first != "" {
				k.WaitForText(first)
			}
			k.Type("/model fake/two").Press("enter").WaitForText("Model: fake/one → fake/two")
			k.Type("/set temperature 1").Press("enter").WaitForText("Set: temperature 1")
			close(more)
			k.WaitForText("and the other")
			k.idle()
			k.ask("two", "answer of two")
			all := k.sameAgain()
			if n := strings.Count(all, "→"); n != 1 {
				t.Errorf("%d switches of the model are shown:\n%s", n, all)
			}
		})
	}
}

// Everything between the messages appears again when a stored conversation is
// opened: notices, a fallback, errors with their hints, stopped answers, the user's
// commands, switches, and calls begun by an interrupted answer.
func TestAnnotationsShownAgain(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			k := setUpStored(t, size[0], size[1],
				func(_ context.Context, _ llm.Request, out *llm.Out) error { // a dropped setting, retries, success
					out.Send(llm.Notice{Text: "fake: setting top_k left out"})
					out.Send(llm.Retry{Attempt: 1, Wait: time.Second, Fault: llm.Server})
					out.Send(llm.Retry{Attempt: 2, Wait: time.Second, Fault: llm.Server})
					out.Send(text("a", "the lost beginning"))
					out.Send(llm.Retry{Attempt: 3, Fault: llm.Network, Remote: true, Discards: []string{"a"}})
					out.Send(text("a", "the first half"))
					out.Send(llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "now think"}})
					out.Send(llm.Notice{Text: "fake: a call was mended\x1b[2J"})
					out.Send(text("b", "the other half"))
					out.Send(llm.Usage{Input: 10, Output: 20})
					out.Send(llm.Finish{Reason: llm.Stop})
					return nil
				},
				func(_ context.Context, _ llm.Request, out *llm.Out) error { // breaks off, and another model continues
					out.Send(llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "half a thought of one"}})
					return fault(llm.Server)
				},
				llmtest.Say("answer of two"),
				llmtest.Fail(fault(llm.Authentication)), // no answer
				llmtest.Say("it works now"),
				func(ctx context.Context, _ llm.Request, out *llm.Out) error { // stopped
					out.Send(text("a", "I look it up"))
					out.Send(llm.Delta{Block: "s1", Part: llm.Part{Kind: llm.Call, ID: "s1", Name: "web_search", Input: `{"query":"whales"}`, Remote: true}})
					out.Send(llm.Delta{Block: "r1", Part: llm.Part{Kind: llm.Result, ID: "s1", Name: "web_search", Text: "whales are big", Remote: true}})
					out.Send(llm.Delta{Block: "s2", Part: llm.Part{Kind: llm.Call, ID: "s2", Name: "web_search", Input: `{"query":"ships"}`, Remote: true}})
					out.Send(llm.Delta{Block: "c", Part: llm.Part{Kind: llm.Call, ID: "c", Name: "read", Input: `{"path":"a.t`}})
					out.Send(text("b", "and so far it says"))
					<-ctx.Done()
					return ctx.Err()
				},
				llmtest.Say("the end"),
			)
			k.ask("one", "the other half")
			if s := k.Screen(); strings.Contains(s, "lost beginning") {
				t.Errorf("an answer that began again shows its first beginning:\n%s", s)
			}
			k.idle()
			k.ask("two", "answer of two")
			k.idle()
			k.Type("/model fake/two").Press("enter").WaitFor(func() bool { return strings.Count(k.Screen(), "Model: fake/one → fake/two") == 2 })
			k.ask("three", "no luck today")
			k.idle()
			k.Press("ctrl+x", "r").WaitForText("it works now")
			k.idle()
			k.Type("!ls -l").Press("enter").WaitForText("output of ls -l")
			k.ask("four", "and so far it says")
			k.Press("esc").WaitForText("stopped")
			k.idle()
			k.ask("five", "the end")
			all := k.sameAgain()
			for _, want := range []string{"top_k left out", "a call was mended", "fake/one: Server error · continuing with fake/two",
				"Replace the key in FAKE_KEY", "retry", "earlier models' thinking", "! ls -l", "web_search", "read", "stopped"} {
				if !strings.Contains(all, want) {
					t.Errorf("%q is missing", want)
				}
			}
			last := k.fake.Requests()
			for _, m := range last[len(last)-1].Messages {
				for _, p := range m.Parts {
					if p.Remote || strings.Contains(p.Text, "top_k") || strings.Contains(p.Text, "no luck") {
						t.Errorf("the last request holds %+v", p)
					}
				}
			}
		})
	}
}

// The annotations of one branch are not shown on another.
func TestAnnotationsStayOnTheirBranch(t *testing.T) {
	noted := func(n int) llmtest.Turn {
		return func(_ context.Context, _ llm.Request, out *llm.Out) error {
			out.Send(llm.Notice{Text: fmt.Sprintf("notice %d", n)})
			out.Send(text("a", fmt.Sprintf("answer %d", n)))
			out.Send(llm.Finish{Reason: llm.Stop})
			return nil
		}
	}
	k := setUpStored(t, 80, 24, noted(1), noted(2), noted(3))
	k.ask("one", "answer 1")
	k.idle()
	k.Press("tab").Press("r").WaitForText("answer 2") // a second answer
	k.idle()
	k.WaitForScreen(contains("notice 2")).WaitForScreen(lacks("notice 1"))
	k.Press("esc", "esc").WaitForText("Edit which message").Press("enter").WaitForText("Editing an earlier message")
	k.Type(", edited").Press("enter").WaitForText("answer 3")
	k.idle()
	k.WaitForScreen(contains("notice 3")).WaitForScreen(lacks("notice 2"))
	k.Press("ctrl+x", "t").WaitForScreen(contains("Branches", "answer 1")).Press("up").Press("up").Press("up").Press("down").Press("enter")
	k.WaitForScreen(contains("notice 1", "answer 1")).Lacks("notice 2", "notice 3")
	if all := k.sameAgain(); strings.Contains(all, "notice 2") || strings.Contains(all, "notice 3") {
		t.Errorf("another branch's notices show:\n%s", all)
	}
}

// The duration of thinking is the stored one, regardless of when the screen saw it.
func TestThinkingTakesTheStoredTime(t *testing.T) {
	var k *reopened
	k = setUpStored(t, 80, 24, func(_ context.Context, _ llm.Request, out *llm.Out) error {
		out.Send(llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "hm"}})
		k.clock.Add(7 * time.Second) // whether or not the screen has seen it
		out.Send(text("a", "well"))
		out.Send(llm.Finish{Reason: llm.Stop})
		return nil
	})
	k.ask("think", "well")
	if all := k.sameAgain(); !strings.Contains(all, "thought for 7 s") {
		t.Errorf("it shows:\n%s", all)
	}
}

// Consecutive switches of the model are one line, live and when the conversation is opened
// again, and none if they lead back. In an empty conversation the first screen stays.
func TestSwitchesInARow(t *testing.T) {
	s := setUpStored(t, 80, 24, llmtest.Say("an answer"))
	open := s.m.App.Models.Open
	s.m.App.Models.Open = func(name string) (llm.Endpoint, error) {
		model, err := open("fake/two")
		model.Name = name
		return model, err
	}
	s.m.App.Models.Recent = []string{"fake/one", "fake/two", "fake/three"}
	s.Press("f2").WaitForText("Model: fake/one → fake/two").Shows("? help")
	s.Press("shift+f2").WaitForText("fake/two → fake/one")
	s.ask("hi", "an answer")
	s.idle()
	s.Press("f2").WaitForText("⇄ Model: fake/one → fake/two")
	s.Press("f2").WaitForText("⇄ Model: fake/one → fake/three")
	s.Press("f2").WaitForScreen(func(screen string) bool { return !strings.Contains(screen, "⇄") })
	s.Press("f2").WaitForText("→ fake/two").Press("f2").WaitForText("⇄ Model: fake/one → fake/three")
	if again := s.sameAgain(); strings.Count(again, "⇄") != 1 {
		t.Errorf("not one line of switches:\n%s", again)
	}
}
