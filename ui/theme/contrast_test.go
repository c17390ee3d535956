package theme

import (
	"fmt"
	"image/color"
	"math"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// A backed theme is a theme with its own colors, with the backgrounds that it is made
// for: its own, and the extreme one.
type backed struct {
	*Theme
	backgrounds []color.Color
	want        float64 // WCAG 2.2: 4.5 to 1 for text (AA), 7 to 1 (AAA)
}

func lit() (all []backed) {
	for _, p := range palettes {
		extreme, want := "#FFFFFF", 4.5
		if p.dark {
			extreme = "#000000"
		}
		if strings.HasPrefix(p.name, "high-contrast") {
			want = 7
		}
		all = append(all, backed{p.theme(), []color.Color{lipgloss.Color(p.background), lipgloss.Color(extreme)}, want})
	}
	return all
}

// inks returns the styles of text.
func inks(th *Theme) map[string]color.Color {
	all := codeInks(th)
	for name, st := range map[string]lipgloss.Style{
		"Dim": th.Dim, "Faint": th.Faint, "Accent": th.Accent, "Strong": th.Strong, "Code": th.Code, "Good": th.Good, "Warn": th.Warn, "Bad": th.Bad,
	} {
		all[name] = st.GetForeground()
	}
	return all
}

// codeInks returns the styles of code.
func codeInks(th *Theme) map[string]color.Color {
	c := th.Syntax
	all := map[string]color.Color{}
	for name, st := range map[string]lipgloss.Style{
		"Text": th.Text, "Comment": c.Comment, "Keyword": c.Keyword, "String": c.String, "Number": c.Number, "Function": c.Function, "Type": c.Type,
	} {
		all[name] = st.GetForeground()
	}
	return all
}

// Text has enough contrast on every background that the theme is made for; rules and
// footers are at least visible.
func TestContrast(t *testing.T) {
	const faint = 3
	for _, tt := range lit() {
		for name, ink := range inks(tt.Theme) {
			want := tt.want
			if name == "Faint" && want < 7 {
				want = faint
			}
			for _, background := range tt.backgrounds {
				if got := contrast(ink, background); got < want-0.01 {
					t.Errorf("%s %s on %v: contrast %.2f, want at least %.1f", tt.Name, name, background, got, want)
				}
			}
		}
	}
}

// In a diff, code is on another background, and changed words on a stronger one. Both
// are clearly distinguishable.
func TestContrastInDiffs(t *testing.T) {
	for _, tt := range lit() {
		for side, styles := range map[string][2]lipgloss.Style{"Added": {tt.Diff.Added, tt.Diff.AddedWord}, "Removed": {tt.Diff.Removed, tt.Diff.RemovedWord}} {
			line, word := styles[0].GetBackground(), styles[1].GetBackground()
			for name, ink := range codeInks(tt.Theme) {
				if got := contrast(ink, line); got < min(tt.want, 4.5)-0.01 {
					t.Errorf("%s %s on %s: contrast %.2f, want at least 4.5", tt.Name, name, side, got)
				}
				if got := contrast(ink, word); got < 3 {
					t.Errorf("%s %s on a word of %s: contrast %.2f, want at least 3", tt.Name, name, side, got)
				}
			}
			const seen = 9 // CIE76
			for what, pair := range map[string][2]color.Color{"its background": {line, tt.backgrounds[0]}, "a changed word": {line, word}} {
				if got := distance(linear(pair[0]), linear(pair[1])); got < seen {
					t.Errorf("%s: %s differs from %s by %.1f, want at least %d", tt.Name, side, what, got, seen)
				}
			}
		}
		if got := distance(linear(tt.Diff.Added.GetBackground()), linear(tt.Diff.Removed.GetBackground())); got < 12 {
			t.Errorf("%s: added and removed lines differ by %.1f", tt.Name, got)
		}
	}
}

// The user's own messages are readable on their faint band.
func TestContrastOnBand(t *testing.T) {
	for _, tt := range lit() {
		band := tt.Band.GetBackground()
		for name, ink := range inks(tt.Theme) {
			if got := contrast(ink, band); name != "Faint" && got < 3 || name == "Text" && got < 4.5 { // faint text is never on it
				t.Errorf("%s %s on the band: contrast %.2f", tt.Name, name, got)
			}
		}
		if got := contrast(band, tt.backgrounds[0]); got > 1.6 {
			t.Errorf("%s: the band stands out by %.2f, more than faintly", tt.Name, got)
		}
	}
}

// On an unknown background, colors are readable on black and on white.
func TestNeutral(t *testing.T) {
	th := Neutral()
	for name, ink := range inks(th) {
		if ink == (lipgloss.NoColor{}) {
			continue // the terminal's own color
		}
		for _, background := range []string{"#000000", "#FFFFFF"} {
			if got := contrast(ink, lipgloss.Color(background)); got < 4 {
				t.Errorf("%s on %s: contrast %.2f, want at least 4", name, background, got)
			}
		}
	}
}

// With 16 colors of unknown shades, text has the default color, and the accent is not
// the color of errors.
func TestBasic(t *testing.T) {
	for _, tt := range lit() {
		th := tt.Basic()
		if th.Name != tt.Name || th.Text.GetForeground() != (lipgloss.NoColor{}) {
			t.Errorf("%s: text has a color", tt.Name)
		}
		for name, ink := range inks(th) {
			if _, ok := ink.(ansi.BasicColor); !ok && ink != (lipgloss.NoColor{}) {
				t.Errorf("%s %s is %v, none of the 16", tt.Name, name, ink)
			}
		}
		if th.Accent.GetForeground() == th.Bad.GetForeground() || th.Accent.GetForeground() == th.Warn.GetForeground() {
			t.Errorf("%s: the accent is the color of errors or warnings", tt.Name)
		}
	}
	if Plain().Basic().Accent.GetForeground() != (lipgloss.NoColor{}) {
		t.Error("the theme without colors has one on 16")
	}
}

func TestFromEnvironment(t *testing.T) {
	for value, want := range map[string]string{
		"15;0": "dark", "0;15": "light", "0;default;15": "light", "7;8": "dark", "0;7": "light", "12;4": "dark",
		"": "", "15": "", "15;": "", "15;default": "", "0;99": "", "0;-1": "",
	} {
		got := ""
		if th := FromEnvironment(value); th != nil {
			got = th.Name
		}
		if got != want {
			t.Errorf("COLORFGBG=%q is %q, want %q", value, got, want)
		}
	}
}

// Terminals with 256 colors show the nearest colors; text must remain readable with
// those.
func TestContrastWithFewerColors(t *testing.T) {
	profile := colorprofile.ANSI256
	for i, tt := range lit() {
		least := 3.0
		if i >= 4 { // tints of themes from elsewhere have no near neighbors
			least = 2.2
		}
		for side, background := range map[string]color.Color{
			"its background": tt.backgrounds[0],
			"Added":          profile.Convert(tt.Diff.Added.GetBackground()),
			"Removed":        profile.Convert(tt.Diff.Removed.GetBackground()),
		} {
			for name, ink := range inks(tt.Theme) {
				if got := contrast(profile.Convert(ink), background); got < least && name != "Faint" {
					t.Errorf("%s %s on %s: contrast %.2f, want at least %.1f", tt.Name, name, side, got, least)
				}
			}
		}
	}
}

// Without colors no style has a color, and distinctions by bold and faint remain.
func TestWithoutColours(t *testing.T) {
	for _, tt := range lit() {
		for name, ink := range inks(tt.Theme) {
			if got := colorprofile.ASCII.Convert(ink); got != nil {
				t.Errorf("%s %s has the colour %v on a terminal without any", tt.Name, name, got)
			}
		}
	}
}

// A user who cannot distinguish red and green can still tell good from bad, and
// added from removed lines, by their lightness or blue part. Every such state
// also has a sign; see the screens of ui/tui/transcript, which are the same
// without colors.
func TestDeuteranopia(t *testing.T) {
	const noticeable = 10 // CIE76; 2.3 is just noticeable side by side
	for _, tt := range lit() {
		if got := distance(deuteranope(tt.Good.GetForeground()), deuteranope(tt.Bad.GetForeground())); got < noticeable {
			t.Errorf("%s: Good and Bad differ by %.1f for a deuteranope, want at least %d", tt.Name, got, noticeable)
		}
	}
}

// contrast returns the ratio of relative luminances, as defined by WCAG.
func contrast(a, b color.Color) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(c color.Color) float64 {
	l := linear(c)
	return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2]
}

// linear returns the linear components of a color, without sRGB's gamma.
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

// deuteranope returns a color as seen by an eye without M cones, with the matrix of
// Machado, Oliveira and Fernandes (2009).
func deuteranope(c color.Color) [3]float64 {
	l := linear(c)
	return [3]float64{
		0.367322*l[0] + 0.860646*l[1] - 0.227968*l[2],
		0.280085*l[0] + 0.672501*l[1] + 0.047413*l[2],
		-0.011820*l[0] + 0.042940*l[1] + 0.968881*l[2],
	}
}

// distance returns the difference of two colors: CIE76, computed with XYZ and Lab
// at the white of sRGB.
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
	// Output: [dark light high-contrast high-contrast-light catppuccin-mocha catppuccin-latte dracula gruvbox-dark gruvbox-light nord rose-pine solarized-dark solarized-light tokyo-night terminal plain]
}
