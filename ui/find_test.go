package ui

import (
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/ui/uitest"
)

// Started to choose a conversation, the screen opens the list with what was asked
// for, and keeps the prompt for the one that is chosen.
func TestFindAtStart(t *testing.T) {
	s := setUp(t, 80, 30, llmtest.Say("about cats"), llmtest.Say("about dogs"))
	s.ask("cats", "about cats")
	s.idle()
	s.Press("ctrl+x", "n")
	s.ask("dogs", "about dogs")
	s.idle()
	words := "cats"
	o := s.m.o
	o.Session, _ = o.New()
	o.Find, o.Prompt = &words, []llm.Part{{Kind: llm.Text, Text: "the prompt"}}
	again := newModel(o)
	again.later = s.m.later
	d := uitest.New(t, again, 80, 30)
	d.WaitForText("Conversations  cats").WaitFor(func(screen string) bool { return strings.Contains(screen, "› cats") })
	d.Press("enter").WaitForText("about cats").WaitForText("› the prompt")
	if n := len(s.fake.Requests()); n != 2 {
		t.Errorf("%d requests: the prompt was sent before a conversation was chosen", n)
	}
}

// Escape leaves browsing, as its hint says, and stops no answer; a second one does.
func TestEscapeWhileBrowsing(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Hang("half an answer"))
	s.ask("hi", "half an answer")
	s.Press("tab").WaitForText("browse: j k")
	s.Press("esc").WaitFor(func(screen string) bool { return !strings.Contains(screen, "browse:") })
	if s.m.turn == nil || s.m.turn.stopped {
		t.Fatal("the answer was stopped")
	}
	s.Press("tab").Type("/half").Press("enter").WaitForText("search: n N")
	s.Press("esc", "esc").WaitFor(func(screen string) bool { return !strings.Contains(screen, "browse:") })
	if s.m.turn == nil || s.m.turn.stopped {
		t.Fatal("the answer was stopped")
	}
	s.Press("esc").WaitForText("stopped")
}
