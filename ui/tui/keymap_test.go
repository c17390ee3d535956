package tui

import (
	"fmt"
	"strings"
	"testing"

	"parley/providers/llmtest"
)

// What may follow a leader is shown when it has stood for a while, and goes with the next
// key: esc leaves without a word.
func TestWhichKey(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{50, 15}, {80, 24}, {120, 40}, {240, 80}} {
		name := fmt.Sprintf("whichkey-%dx%d", size[0], size[1])
		t.Run(name, func(t *testing.T) {
			s := setUp(t, size[0], size[1])
			s.Press("ctrl+x")
			if strings.Contains(s.Screen(), "m model") && !strings.Contains(s.Screen(), "ctrl+x m model") {
				t.Error("shown at once")
			}
			s.Send(leaderMsg(s.m.keymap.presses))
			s.Golden(name)
		})
	}
	t.Run("the next key runs its command", func(t *testing.T) {
		s := setUp(t, 80, 24)
		s.Press("ctrl+x").Send(leaderMsg(1))
		s.WaitForText("l sessions").Press("m").WaitForText("fake/two")
		s.Press("esc").WaitForScreen(lacks("fake/two")).Lacks("l sessions")
	})
	t.Run("esc leaves silently", func(t *testing.T) {
		s := setUp(t, 80, 24)
		before := s.Screen()
		s.Press("ctrl+x").Send(leaderMsg(1))
		s.WaitForText("l sessions").Press("esc")
		if after := s.Screen(); after != before {
			t.Errorf("the screen is\n%s\nwas\n%s", after, before)
		}
	})
	t.Run("a key without a command says so", func(t *testing.T) {
		setUp(t, 80, 24).Press("ctrl+x", "z").WaitForText("No command on ctrl+x z")
	})
	t.Run("the time of a leader that was followed up shows nothing", func(t *testing.T) {
		s := setUp(t, 80, 24, llmtest.Say("fine"))
		s.Press("ctrl+x", "esc", "ctrl+x").Send(leaderMsg(1))
		if strings.Contains(s.Screen(), "l sessions") {
			t.Errorf("shown at once:\n%s", s.Screen())
		}
	})
}
