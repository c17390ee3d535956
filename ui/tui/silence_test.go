package tui

import (
	"strings"
	"testing"
	"time"

	"parley/providers/llmtest"
	"parley/ui/tui/chat"
)

// An answer that takes long to begin is reported in a word. The status line alone names the key that stops.
func TestNoAnswerYet(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Hang())
	s.Type("think").Press("enter").WaitFor(func() (sent bool) {
		s.Do(func() { sent = s.m.chat.Turn != nil && s.m.chat.Turn.Model != "" })
		return sent
	})
	s.clock.Add(16 * time.Second)
	s.Send(chat.TickMsg{Of: s.m.chat.Turn})
	s.WaitForText("no answer yet esc stops").Shows("∙ no answer yet 16 s")
}

// A long silence in an answer is reported, with the keys that wait and stop.
func TestSilence(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Hang("half an answer"))
	s.ask("think", "half an answer")
	const line = "the server is still there · ctrl+x a wait · esc stop"
	later := func(d time.Duration) {
		s.clock.Add(d)
		s.Send(chat.TickMsg{Of: s.m.chat.Turn})
	}
	later(4 * time.Minute)
	if strings.Contains(s.Screen(), "No content") {
		t.Errorf("after four minutes:\n%s", s.Screen())
	}
	later(time.Minute)
	s.WaitForText("No content for 5 min, " + line)
	later(3 * time.Minute)
	s.WaitForText("No content for 8 min, " + line)
	beats := s.m.chat.Turn.Pulse.Beats()
	s.Press("ctrl+x", "a")
	if strings.Contains(s.Screen(), "No content") || s.m.chat.Turn.Pulse.Beats() != beats+1 {
		t.Errorf("after waiting on, with %d signs of life:\n%s", s.m.chat.Turn.Pulse.Beats()-beats, s.Screen())
	}
	later(5 * time.Minute)
	s.WaitForText("No content for 5 min, " + line)
	s.Press("esc")
	s.idle()
	if strings.Contains(s.Screen(), "No content") {
		t.Errorf("after the end:\n%s", s.Screen())
	}
}
