package theme

import (
	"fmt"
	"image/color"
	"math"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// lit lists the themes with colors of their own, on the backgrounds that they are
// made for: the one that gives most contrast, and what terminals have for it.
var lit = []struct {
	theme      *Theme
	background string
	want       float64 // WCAG 2.2: 4.5 to 1 for what is read (AA), 7 to 1 (AAA)
}{
	{Dark(), "#000000", 4.5},
	{Light(), "#FFFFFF", 4.5},
	{HighContrast(), "#000000", 7},
	{HighContrastLight(), "#FFFFFF", 7},
}

// inks returns the styles that text is written in.
func inks(th *Theme) map[string]color.Color {
	all := map[string]color.Color{}
	for name, st := range map[string]lipgloss.Style{
		"Text": th.Text, "Dim": th.Dim, "Faint": th.Faint, "Accent": th.Accent, "Strong": th.Strong,
		"Code": th.Code, "Good": th.Good, "Warn": th.Warn, "Bad": th.Bad,
	} {
		all[name] = st.GetForeground()
	}
	return all
}

func TestContrast(t *testing.T) {
	for _, tt := range lit {
		for name, ink := range inks(tt.theme) {
			if got := contrast(ink, lipgloss.Color(tt.background)); got < tt.want {
				t.Errorf("%s %s: contrast %.2f, want at least %.1f", tt.theme.Name, name, got, tt.want)
			}
		}
	}
}

// In a diff text stands on another background. Line numbers do not.
func TestContrastInDiffs(t *testing.T) {
	for _, tt := range lit {
		for side, style := range map[string]lipgloss.Style{"Added": tt.theme.Added, "Removed": tt.theme.Removed} {
			for name, ink := range inks(tt.theme) {
				if got := contrast(ink, style.GetBackground()); got < tt.want && name != "Faint" {
					t.Errorf("%s %s on %s: contrast %.2f, want at least %.1f", tt.theme.Name, name, side, got, tt.want)
				}
			}
		}
	}
}

// On terminals with fewer colors the nearest ones are taken; text must remain
// readable with those, whichever the background becomes.
func TestContrastWithFewerColours(t *testing.T) {
	for _, profile := range []colorprofile.Profile{colorprofile.ANSI256, colorprofile.ANSI} {
		for _, tt := range lit {
			for side, background := range map[string]color.Color{
				"its background": lipgloss.Color(tt.background),
				"Added":          profile.Convert(tt.theme.Added.GetBackground()),
				"Removed":        profile.Convert(tt.theme.Removed.GetBackground()),
			} {
				for name, ink := range inks(tt.theme) {
					if got := contrast(profile.Convert(ink), background); got < 3 {
						t.Errorf("%s %s on %s with %s: contrast %.2f, want at least 3", tt.theme.Name, name, side, profile, got)
					}
				}
			}
		}
	}
}

// Without colors nothing of a style is a color, and what is told apart by bold
// and faint stays so.
func TestWithoutColours(t *testing.T) {
	for _, tt := range lit {
		for name, ink := range inks(tt.theme) {
			if got := colorprofile.ASCII.Convert(ink); got != nil {
				t.Errorf("%s %s has the colour %v on a terminal without any", tt.theme.Name, name, got)
			}
		}
	}
}

// Who sees no difference between red and green still tells good from bad, and
// added from removed lines, by how light or how blue they are. Every such state
// has a sign besides; see the screens of ui/tui/transcript, which are the same
// without colors.
func TestDeuteranopia(t *testing.T) {
	const noticeable = 10 // CIE76; 2.3 is just noticeable side by side
	for _, tt := range lit {
		if got := distance(deuteranope(tt.theme.Good.GetForeground()), deuteranope(tt.theme.Bad.GetForeground())); got < noticeable {
			t.Errorf("%s: Good and Bad differ by %.1f for a deuteranope, want at least %d", tt.theme.Name, got, noticeable)
		}
	}
}

// contrast returns the ratio of relative luminances as WCAG defines it.
func contrast(a, b color.Color) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(c color.Color) float64 {
	l := linear(c)
	return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2]
}

// linear returns the parts of a color as light, without sRGB's gamma.
func linear(c color.Color) (l [3]float64) {
	r, g, b, _ := c.RGBA()
	for i, v := range []uint32{r, g, b} {
		f := float64(v) / 0xffff
		if l[i] = f / 12.92; f > 0.04045 {
			l[i] = math.Pow((f+0.055)/1.055, 2.4)
		}
	}
	return l
}

// deuteranope returns how a color looks to an eye without M cones, by the matrix of
// Machado, Oliveira and Fernandes (2009).
func deuteranope(c color.Color) [3]float64 {
	l := linear(c)
	return [3]float64{
		0.367322*l[0] + 0.860646*l[1] - 0.227968*l[2],
		0.280085*l[0] + 0.672501*l[1] + 0.047413*l[2],
		-0.011820*l[0] + 0.042940*l[1] + 0.968881*l[2],
	}
}

// distance returns how different two colors look: CIE76, by way of XYZ and Lab at
// the white of sRGB.
func distance(a, b [3]float64) float64 {
	x, y := lab(a), lab(b)
	return math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
}

func lab(l [3]float64) [3]float64 {
	f := func(v float64) float64 {
		if v > 0.008856 {
			return math.Cbrt(v)
		}
		return 7.787*v + 16.0/116
	}
	x := f((0.4124*l[0] + 0.3576*l[1] + 0.1805*l[2]) / 0.9505)
	y := f(0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2])
	z := f((0.0193*l[0] + 0.1192*l[1] + 0.9505*l[2]) / 1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

func ExampleNames() {
	fmt.Println(Names())
	// Output: [dark light high-contrast high-contrast-light terminal plain]
}
