package theme_test

import (
	"testing"

	"charm.land/lipgloss/v2"

	"parley/ui/theme"
)

func TestSGR(t *testing.T) {
	for name, style := range map[string]lipgloss.Style{
		"nothing": lipgloss.NewStyle(), "color": theme.Dark().Accent, "background": theme.Dark().Diff.Added,
		"attributes": lipgloss.NewStyle().Bold(true).Italic(true).Reverse(true), "faint": theme.Plain().Dim,
	} {
		for _, text := range []string{"a", "two words", "  ", "日本"} {
			if got, want := theme.NewSGR(style).Apply(text), style.Render(text); got != want {
				t.Errorf("%s: %q is %q, want %q as lipgloss writes it", name, text, got, want)
			}
		}
		if got := theme.NewSGR(style).Apply(""); got != "" {
			t.Errorf("%s: no text is %q", name, got)
		}
	}
}

// Lipgloss would write sequences between the runes of one character.
func TestUnderliningKeepsCharactersWhole(t *testing.T) {
	const text = "👩‍🚒 é"
	underlined := theme.NewSGR(lipgloss.NewStyle().Underline(true))
	if got := underlined.Apply(text); underlined.On == "" || got != underlined.On+text+underlined.Off {
		t.Errorf("got %q", got)
	}
}

// A background lies under all parts of a line, whatever styles they have.
func TestUnder(t *testing.T) {
	band, bold := theme.SGR{On: "<b>", Off: "<0>"}, theme.SGR{On: "<1>", Off: "<0>"}
	for line, want := range map[string]string{
		"":                            "",
		"text":                        "<b>text<0>",
		"a " + bold.Apply("b") + " c": "<b>a <1>b<0><b> c<0>",
	} {
		if got := band.Under(line); got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
		if got := (theme.SGR{}).Under(line); got != line {
			t.Errorf("%q: got %q without a style", line, got)
		}
	}
}
