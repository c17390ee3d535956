package tui

import (
	"fmt"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

const sideAnswer = "An HTTP date, such as `Wed, 21 Oct 2026`.\n\n- one\n- two\n- three\n- four\n- five\n- six\n"

// A side question is answered in a pane above the input, also while a turn runs. It takes at most a third of the
// screen, returns after other views, and its keys work while the input is empty.
func TestAside(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {50, 15}, {120, 40}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			s := setUp(t, size[0], size[1], llmtest.Hang("the first half of it"), llmtest.Say(sideAnswer), llmtest.Fail(&llm.Error{Fault: llm.Server, Provider: "fake", Message: "on fire"}))
			s.ask("explain", "first half")
			s.Type("/btw What does it hold?").Press("enter").WaitForText("k keep")
			s.Golden(fmt.Sprintf("aside-%dx%d", size[0], size[1]))
			s.Press("k").WaitForText("Kept as a branch when the turn ends").Lacks("keep")
			s.Press("enter").Shows("six", "Aside").Press("esc").Shows("What does it hold?")
			s.Press("ctrl+x", "m").WaitForText("fake/two").Press("esc").Shows("What does it hold?")
			if !s.busy() {
				t.Error("the turn was stopped")
			}
			s.packet(t, "k", "e", "e", "p")
			s.Type(" typing").Shows("keep typing", "What does it hold?")
			s.Press("ctrl+u").Type("/side and?").Press("enter").WaitForText("on fire")
			s.Press("esc").Lacks("on fire", "Aside")
			s.Press("esc")
			s.idle()
			if n := len(s.m.App.Session.Path()); n != 2 {
				t.Errorf("the conversation has %d messages", n)
			}
		})
	}
}

// The answer of a side question is copied and kept as a branch, and its pane closes with the conversation.
func TestAsideKept(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Say("hello"), llmtest.Say("because"), llmtest.Hang("it begins"))
	s.ask("hi", "hello")
	s.idle()
	s.Press("ctrl+x", "/").Shows("/btw").Type("why?").Press("enter").WaitForText("k keep")
	s.Press("y").WaitFor(func() bool { return strings.Join(s.copied(), "|") == "because" })
	s.Press("k").WaitForText("Kept as a branch")
	if all := s.m.App.Session.Nodes(); len(all) != 4 || all[3].Text() != "because" || s.m.App.Session.Head() != 2 {
		t.Errorf("kept %+v", all)
	}
	s.Lacks("keep as branch").Shows("y copy")
	s.Type("/btw close").Press("enter").WaitForScreen(func(screen string) bool {
		return strings.Contains(screen, "Aside closed") && !strings.Contains(screen, "y copy")
	})
	s.Type("/btw again?").Press("enter").WaitForText("it begins")
	s.Press("ctrl+x", "n").WaitForScreen(func(screen string) bool { return !strings.Contains(screen, "Aside") })
}

// A short answer after others names the key that shows all. Answers that are not kept are shown again when the user
// returns to the conversation, until esc closes them.
func TestAsideReturns(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Say("hello"), llmtest.Say("because"), llmtest.Say("as ever"))
	s.ask("hi", "hello")
	s.idle()
	first := s.m.App.Session.ID()
	s.Type("/btw why?").Press("enter").WaitForText("because").WaitForText("k keep")
	s.Lacks("enter read all")
	s.Type("/btw how?").Press("enter").WaitForText("as ever").WaitForText("enter read all")
	back := func() { s.Deliver(s.m.App.OpenSession(first, 0)) }
	s.Press("ctrl+x", "n").WaitForScreen(func(screen string) bool { return !strings.Contains(screen, "Aside") })
	back()
	s.Shows("as ever", "k keep", "how?").Press("esc").Lacks("Aside")
	s.Press("ctrl+x", "n").WaitForScreen(func(screen string) bool { return !strings.Contains(screen, "hello") })
	back()
	s.Shows("hello").Lacks("Aside")
}
