package theme

import (
	"image/color"
	"math"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
)

// Contrast is what WCAG 2.2 asks for: 4.5 to 1 for what is read, 3 to 1 for
// rules and other drawing.
func TestContrast(t *testing.T) {
	for _, tt := range []struct {
		theme      *Theme
		background color.Color
	}{{Dark(), color.Black}, {Light(), color.White}} {
		th := tt.theme
		for _, st := range []struct {
			name  string
			style lipgloss.Style
			want  float64
		}{
			{"Text", th.Text, 4.5}, {"Dim", th.Dim, 4.5}, {"Accent", th.Accent, 4.5}, {"Strong", th.Strong, 4.5}, {"Code", th.Code, 4.5},
			{"Good", th.Good, 4.5}, {"Warn", th.Warn, 4.5}, {"Bad", th.Bad, 4.5}, {"Faint", th.Faint, 3},
		} {
			if got := contrast(st.style.GetForeground(), tt.background); got < st.want {
				t.Errorf("%s %s: contrast %.2f, want at least %.1f", th.Name, st.name, got, st.want)
			}
		}
	}
}

// contrast is the ratio of relative luminances as WCAG defines it.
func contrast(a, b color.Color) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	linear := func(v uint32) float64 {
		f := float64(v) / 0xffff
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

func TestPlainHasNoColours(t *testing.T) {
	th := Plain()
	for name, st := range map[string]lipgloss.Style{
		"Text": th.Text, "Dim": th.Dim, "Faint": th.Faint, "Accent": th.Accent, "Strong": th.Strong,
		"Code": th.Code, "Good": th.Good, "Warn": th.Warn, "Bad": th.Bad,
	} {
		if got := st.Render("x"); strings.Contains(got, "38;") || strings.Contains(got, "48;") {
			t.Errorf("%s renders %q, want no colour", name, got)
		}
	}
}

func TestFor(t *testing.T) {
	for _, tt := range []struct {
		name       string
		background color.Color
		want       string
	}{
		{"unknown", nil, "dark"},
		{"black", color.Black, "dark"},
		{"white", color.White, "light"},
		{"solarized light", lipgloss.Color("#fdf6e3"), "light"},
		{"solarized dark", lipgloss.Color("#002b36"), "dark"},
	} {
		if got := For(tt.background).Name; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
