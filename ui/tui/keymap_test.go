package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/providers/llmtest"
	"parley/ui/app/flows"
)

// The keys that may follow a leader are shown after a delay, and disappear with the
// next key. Esc leaves silently.
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
	t.Run("in the words of the command list", func(t *testing.T) {
		list := actions(flows.Commands())
		for _, l := range leaderWords {
			name, word := l.name, l.words
			at := slices.IndexFunc(list, func(a action) bool { return a.Name == name })
			if at < 0 {
				t.Fatalf("no command %s", name)
			}
			for _, w := range strings.Fields(strings.ToLower(word)) {
				if !strings.Contains(strings.ToLower(list[at].Help), strings.TrimSuffix(w, "s")) {
					t.Errorf("%s is %q beside its key, and %q in the list", name, word, list[at].Help)
				}
			}
		}
		s := setUp(t, 240, 80)
		s.Press("ctrl+x").Send(leaderMsg(1))
		for _, internal := range []string{"tree", "compact", "w wire", "copy-code", "next-model", "palette"} {
			s.Lacks(internal)
		}
	})
	t.Run("columns", func(t *testing.T) {
		for _, tt := range []struct {
			cells   []int
			width   int
			height  int
			columns []int
		}{
			{[]int{5, 3, 4, 2}, 20, 1, []int{5, 3, 4, 2}},
			{[]int{5, 3, 4, 2}, 19, 2, []int{5, 4}},
			{[]int{5, 3, 4, 2}, 3, 4, []int{5}},
			{nil, 20, 0, nil},
		} {
			if height, columns := fitLeaders(tt.cells, tt.width, 2); height != tt.height || !slices.Equal(columns, tt.columns) {
				t.Errorf("%v in %d: %d rows, columns %v", tt.cells, tt.width, height, columns)
			}
		}
	})
	t.Run("the next key runs its command", func(t *testing.T) {
		s := setUp(t, 80, 24)
		s.Press("ctrl+x").Send(leaderMsg(1))
		s.WaitForText("l conversations").Press("m").WaitForText("fake/two")
		s.Press("esc").WaitForScreen(lacks("fake/two")).Lacks("l conversations")
	})
	t.Run("esc leaves silently", func(t *testing.T) {
		s := setUp(t, 80, 24)
		before := s.Screen()
		s.Press("ctrl+x").Send(leaderMsg(1))
		s.WaitForText("l conversations").Press("esc")
		if after := s.Screen(); after != before {
			t.Errorf("the screen is\n%s\nwas\n%s", after, before)
		}
	})
	t.Run("a key without a command says so", func(t *testing.T) {
		setUp(t, 80, 24).Press("ctrl+x", "9").WaitForText("No command on ctrl+x 9")
	})
	t.Run("the time of a leader that was followed up shows nothing", func(t *testing.T) {
		s := setUp(t, 80, 24, llmtest.Say("fine"))
		s.Press("ctrl+x", "esc", "ctrl+x").Send(leaderMsg(1))
		if strings.Contains(s.Screen(), "l conversations") {
			t.Errorf("shown at once:\n%s", s.Screen())
		}
	})
}
