package theme

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// A seen theme is a theme at a depth of colors, with the backgrounds that it is made for.
type seen struct {
	*Theme
	at          string
	backgrounds []color.Color
	least       float64 // WCAG 2.2: 4.5 to 1 for text (AA), 7 to 1 (AAA)
}

func (s seen) String() string { return s.Name + s.at }

// lit returns each palette on its own background and on the extreme one, and parley's on
// further backgrounds that a terminal may report, with 24 bits and with 256 colors.
func lit() (all []seen) {
	for _, p := range palettes {
		extreme, least := "#FFFFFF", 4.5
		if p.dark {
			extreme = "#000000"
		}
		if strings.HasPrefix(p.name, "high-contrast") {
			least = 7
		}
		all = append(all, seen{p.theme(nil), "", []color.Color{lipgloss.Color(p.background), lipgloss.Color(extreme)}, least})
	}
	for _, reported := range []string{"#000000", "#1E1E2E", "#282A36", "#2E3440", "#FAFAFA", "#FDF6E3", "#EFF1F5"} {
		c := lipgloss.Color(reported)
		all = append(all, seen{ForBackground(c), " on " + reported, []color.Color{c}, 4.5})
	}
	for _, s := range all {
		s.Theme, s.at = s.Indexed(), s.at+" of 256"
		all = append(all, s)
	}
	return all
}

// need returns the contrast that a role needs on the background, and on the bands.
func need(s seen, role string) (plain, band float64) {
	own := s.Name == "dark" || s.Name == "light"
	for _, r := range roles {
		switch {
		case r.name != role:
		case r.contrast == 3: // not read
			return 3, 3
		case s.least == 7:
			return 7, 4.5
		case own && role == "text":
			return 7, 7
		default:
			return r.contrast, min(r.contrast, 4)
		}
	}
	return 0, 0
}

// Text has enough contrast on every background that the theme is made for, and on the bands;
// rules and bars are at least visible. The bands show on the background, faintly.
func TestContrast(t *testing.T) {
	for _, s := range lit() {
		var row strings.Builder
		for _, r := range roles {
			ink := r.style(s.Theme).GetForeground()
			if r.contrast == 0 || r.name == "code" {
				continue
			}
			plain, band := need(s, r.name)
			least := math.Inf(1)
			for _, background := range s.backgrounds {
				least = min(least, contrast(ink, background))
			}
			onBand := min(contrast(ink, s.Band.GetBackground()), contrast(ink, s.Composer.GetBackground()))
			fmt.Fprintf(&row, "  %s %.1f/%.1f", r.name, least, onBand)
			if least < plain-0.05 {
				t.Errorf("%s: %s has a contrast of %.2f, want at least %.1f", s, r.name, least, plain)
			}
			if onBand < band-0.05 {
				t.Errorf("%s: %s has a contrast of %.2f on a band, want at least %.1f", s, r.name, onBand, band)
			}
		}
		t.Logf("%-32s%s", s, &row)
		shows := [...]float64{1.07, 1.12, 1.25}
		if s.Dark {
			shows = [...]float64{1.13, 1.20, 1.40}
		}
		for i, band := range []lipgloss.Style{s.Band, s.Composer, s.Selected} {
			if got := contrast(band.GetBackground(), s.backgrounds[0]); got < shows[i]-0.005 || got > 1.75 {
				t.Errorf("%s: band %d has a contrast of %.2f with the background, want %.2f to 1.75", s, i, got, shows[i])
			}
		}
	}
}

// codeRoles are the roles of code in a diff.
var codeRoles = []string{"text", "comment", "keyword", "string", "number", "function", "type"}

// In a diff, code is on another background, and changed words on a stronger one. Both sides
// and their words are clearly distinguishable: from each other, and from the background.
func TestContrastInDiffs(t *testing.T) {
	const distinct = 9 // CIE76; 2.3 is just noticeable side by side
	for _, s := range lit() {
		for side, styles := range map[string][3]lipgloss.Style{"added": {s.Diff.Added, s.Diff.AddedWord, s.Good}, "removed": {s.Diff.Removed, s.Diff.RemovedWord, s.Bad}} {
			line, word := styles[0].GetBackground(), styles[1].GetBackground()
			if got := distance(linear(line), linear(s.backgrounds[0])); got < distinct {
				t.Errorf("%s: %s differs from the background by %.1f, want at least %d", s, side, got, distinct)
			}
			if s.Diff.Gutter { // code has the color of the side, on the background
				if got := contrast(styles[0].GetForeground(), line); got < 4.5 {
					t.Errorf("%s: the line number on %s has a contrast of %.2f", s, side, got)
				}
				continue
			}
			for _, r := range roles {
				if !slices.Contains(codeRoles, r.name) {
					continue
				}
				ink := r.style(s.Theme).GetForeground()
				want := 4.5
				if word == (lipgloss.NoColor{}) { // bold and underlined; of 256 colors, few are near
					want = 4.1
				}
				if got := contrast(ink, line); got < want-0.01 {
					t.Errorf("%s: %s on %s has a contrast of %.2f, want at least %.1f", s, r.name, side, got, want)
				}
				if want < 4.5 {
					continue
				}
				if got := contrast(ink, word); got < 3 {
					t.Errorf("%s: %s on a word of %s has a contrast of %.2f, want at least 3", s, r.name, side, got)
				}
			}
			if word != (lipgloss.NoColor{}) {
				if got := distance(linear(line), linear(word)); got < distinct {
					t.Errorf("%s: a changed word of %s differs by %.1f, want at least %d", s, side, got, distinct)
				}
			}
		}
		if got := distance(linear(s.Diff.Added.GetBackground()), linear(s.Diff.Removed.GetBackground())); got < 12 {
			t.Errorf("%s: added and removed lines differ by %.1f", s, got)
		}
	}
}

// Parley's own colors of 256 are fixed, not the nearest.
func TestOwnIndices(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"dark": {"text": "254", "dim": "248", "faint": "244", "accent": "216", "accent-dim": "137", "voice": "117", "voice-dim": "67", "good": "114", "warn": "221", "bad": "203",
			"band": "235", "composer": "236", "selected": "237", "added": "22", "removed": "52", "keyword": "183", "function": "117", "string": "150", "number": "221", "type": "115", "comment": "248"},
		"light": {"text": "234", "dim": "240", "faint": "244", "accent": "130", "accent-dim": "95", "voice": "24", "voice-dim": "67", "good": "22", "warn": "94", "bad": "124",
			"band": "255", "composer": "255", "selected": "254", "added": "194", "removed": "224", "keyword": "55", "function": "24", "string": "22", "number": "94", "type": "23", "comment": "240"},
	} {
		few := paletteTheme(name, nil).Indexed()
		for _, r := range roles {
			st := r.style(few)
			c := st.GetForeground()
			if r.contrast == 0 {
				c = st.GetBackground()
			}
			if got := fmt.Sprint(c); want[r.name] != "" && got != want[r.name] {
				t.Errorf("%s: %s is %s of 256, want %s", name, r.name, got, want[r.name])
			}
		}
	}
}

// inks returns the colors of text by role.
func inks(th *Theme) map[string]color.Color {
	all := map[string]color.Color{}
	for _, r := range roles {
		if r.contrast > 0 {
			all[r.name] = r.style(th).GetForeground()
		}
	}
	return all
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
		if accent := th.Accent.Render("x"); accent == th.Bad.Render("x") || accent == th.Warn.Render("x") {
			t.Errorf("%s: the accent is the color of errors or warnings", tt.Name)
		}
	}
	if Plain().Basic().Accent.GetForeground() != (lipgloss.NoColor{}) {
		t.Error("the theme without colors has one on 16")
	}
}

func TestFromEnvironment(t *testing.T) {
	for value, want := range map[string]string{
		"15;0": "dark", "0;15": "light", "0;default;15": "light", "7;8": "dark", "0;7": "light", "12;4": "dark", "15;8": "dark", "0;9": "light", "0;6": "dark",
		"": "", "15": "", "15;": "", "15;default": "", "0;99": "", "0;16": "", "0;-1": "",
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
	for _, tt := range lit() {
		if strings.HasPrefix(tt.at, " on") {
			continue // lighter than chosen
		}
		noticeable := 10.0 // CIE76; 2.3 is just noticeable side by side
		if strings.HasSuffix(tt.at, "256") && tt.Name != "dark" && tt.Name != "light" {
			noticeable = 7 // the nearest of the few
		}
		if got := distance(deuteranope(tt.Good.GetForeground()), deuteranope(tt.Bad.GetForeground())); got < noticeable {
			t.Errorf("%s: Good and Bad differ by %.1f for a deuteranope, want at least %.0f", tt, got, noticeable)
		}
	}
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
