package common

import (
	"testing"

	"parley/ui/theme"
)

// A label always looks like its current text and style.
func TestLabel(t *testing.T) {
	var l Label
	for _, c := range []struct {
		theme *theme.Theme
		text  string
	}{{theme.Dark(), "∙ "}, {theme.Dark(), "∙ "}, {theme.Light(), "∙ "}, {theme.Light(), "› "}, {theme.Light(), ""}} {
		if got, want := l.Render(c.theme, &c.theme.Accent, c.text), c.theme.Accent.Render(c.text); got != want {
			t.Errorf("%s %q: got %q, want %q", c.theme.Name, c.text, got, want)
		}
	}
	th := theme.Dark()
	l.Render(th, &th.Accent, "› ")
	if n := testing.AllocsPerRun(10, func() { l.Render(th, &th.Accent, "› ") }); n > 0 {
		t.Errorf("the same again takes %v allocations", n)
	}
}
