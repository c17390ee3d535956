package composer_test

import (
	"strings"
	"testing"

	"parley/ui/theme"
	"parley/ui/tui/composer"
)

// TestResize: at every width the draft is laid out as if it had been typed there, with the
// cursor at the same position of the text.
func TestResize(t *testing.T) {
	write := func(width int) *composer.Model {
		m := composer.New(theme.Plain())
		m.Focus(true)
		m.SetSize(width, 20)
		play(t, m, "one two three four five six seven", "ctrl+j", "日本語 and eight", "alt+b", "alt+b")
		return m
	}
	m := write(80)
	text := m.Value()
	for _, width := range []int{80, 20, 7, 1, 20, 33, 80} {
		m.SetSize(width, 20)
		if got, want := screen(m), screen(write(width)); got != want {
			t.Errorf("at width %d, got\n%s\nwant\n%s", width, got, want)
		}
		if m.Value() != text {
			t.Errorf("at width %d the draft is %q", width, m.Value())
		}
	}
	if rows := strings.Count(screen(m), "\n") + 1; rows != 2 {
		t.Errorf("back at the first width it takes %d rows", rows)
	}
}
