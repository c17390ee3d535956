package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/providers/llmtest"
)

// on returns the cell of a text on the screen.
func (s *stage) on(t *testing.T, text string) (x, y int) {
	t.Helper()
	for y, row := range strings.Split(s.Screen(), "\n") {
		if before, _, ok := strings.Cut(row, text); ok {
			return ansi.StringWidth(before), y
		}
	}
	t.Fatalf("%q is not on the screen:\n%s", text, s.Screen())
	return 0, 0
}

func TestMouseSelects(t *testing.T) {
	state := t.TempDir()
	s := setUpWith(t, 80, 24, func(o *Options) { o.Config.Mouse, o.App.Getenv = true, bare(state) }, llmtest.Say("Use **the `mouse`** now."))
	s.ask("how?", "Use the mouse now.")
	s.idle()
	x, y := s.on(t, "the mouse")
	s.Send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	s.Send(tea.MouseMotionMsg{X: x + 8, Y: y, Button: tea.MouseLeft})
	s.Send(tea.MouseMotionMsg{X: x + 12, Y: y, Button: tea.MouseLeft})
	if cursor := s.View().Cursor; cursor == nil || cursor.Y != 21 {
		t.Errorf("the cursor left the composer: %+v", cursor)
	}
	s.Send(tea.MouseReleaseMsg{X: x + 12, Y: 22, Button: tea.MouseLeft}) // over the composer
	s.WaitForText("Copied selection")
	if got := s.copied(); len(got) != 1 || got[0] != "the `mouse`** now" {
		t.Errorf("the terminal got %q", got)
	}
	if !strings.Contains(s.Styled(), "\x1b[7m") {
		t.Error("what was copied does not stay to be seen")
	}
	if s.Press("a"); strings.Contains(s.Styled(), "\x1b[7m") || !strings.Contains(s.Screen(), band+"a") {
		t.Errorf("a key writes, and takes the selection away:\n%s", s.Styled())
	}
	s.Send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	s.Send(tea.MouseReleaseMsg{X: x, Y: y, Button: tea.MouseLeft})
	s.Send(tea.MouseClickMsg{X: x + 4, Y: y, Button: tea.MouseLeft})
	s.Send(tea.MouseReleaseMsg{X: x + 4, Y: y, Button: tea.MouseLeft})
	if got := s.copied(); len(got) != 1 {
		t.Errorf("clicks copied: %q", got)
	}
	if v := s.View(); v.MouseMode != tea.MouseModeCellMotion {
		t.Errorf("mouse mode %v", v.MouseMode)
	}
	s.Press("ctrl+x", "o").WaitForText("the terminal selects")
	if v := s.View(); v.MouseMode != tea.MouseModeNone {
		t.Errorf("mouse mode %v with capture off", v.MouseMode)
	}
}
