package theme

import (
	"fmt"
	"image/color"
	"strconv"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

func TestPlainHasNoColours(t *testing.T) {
	th := Plain()
	for _, r := range roles {
		if got := r.style(th).Render("x"); strings.Contains(got, "38;") || strings.Contains(got, "48;") {
			t.Errorf("%s renders %q, want no colour", r.name, got)
		}
	}
}

// The terminal's own colors are selected by number. The user may have set them
// to anything.
func TestTerminalHasThePaletteOfTheTerminal(t *testing.T) {
	th := Terminal()
	for _, r := range roles {
		if got := r.style(th).Render("x"); strings.Contains(got, "38;") || strings.Contains(got, "48;") {
			t.Errorf("%s renders %q, want one of the sixteen colours or none", r.name, got)
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
		if got := ForBackground(tt.background).Name; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestByName(t *testing.T) {
	for _, name := range Names() {
		th, ok := ByName(name)
		if !ok || th.Name != name {
			t.Fatalf("%s: %v, %v", name, th, ok)
		}
		for _, r := range roles { // a forgotten style is the zero value
			if style := r.style(th); name != "plain" && name != "terminal" && style.Render("x") == "x" {
				t.Errorf("%s has no style for %s", name, r.name)
			}
		}
	}
	if th, ok := ByName("neon"); ok {
		t.Errorf("there is a theme called neon: %v", th)
	}
}

func TestCustom(t *testing.T) {
	for _, c := range []struct {
		name, base, role, value string
		want                    string // the styled "x", or the error
	}{
		{"a colour", "", "accent", "#5fafff", "\x1b[38;2;95;175;255mx\x1b[m"},
		{"a short one", "", "accent", "#5af", "\x1b[38;2;85;170;255mx\x1b[m"},
		{"of the sixteen", "", "accent", "12", "\x1b[94mx\x1b[m"},
		{"of 256", "", "accent", "244", "\x1b[38;5;244mx\x1b[m"},
		{"attributes", "", "accent", "bold underline", "\x1b[1;4;4mx\x1b[m"},
		{"all of it", "", "accent", "italic 2 on 0", "\x1b[3;32;40mx\x1b[m"},
		{"behind alone", "", "added", "on #102010", "\x1b[48;2;16;32;16mx\x1b[m"},
		{"the terminal's way", "", "text", "default", "x"},
		{"the base's way", "terminal", "text", "bold", "\x1b[1mx\x1b[m"},
		{"an unknown base", "neon", "text", "1", `base = "neon": use one of dark, light, high-contrast, high-contrast-light, catppuccin-mocha, catppuccin-latte, dracula, gruvbox-dark, gruvbox-light, nord, rose-pine, solarized-dark, solarized-light, tokyo-night, terminal, plain`},
		{"an unknown role", "", "link", "1", `colors: unknown role "link": use one of text, dim, faint, accent, accent-dim, code, voice, voice-dim, strong, good, warn, bad, band, composer, selected, comment, keyword, string, number, function, type, added, removed, added-word, removed-word`},
		{"no colour", "", "bad", "crimson", `colors.bad = "crimson": "crimson" is neither a color (#rrggbb, #rgb, 0 to 255) nor bold, faint, italic, underline, reverse, strike, default, or on with a color`},
		{"too large a number", "", "bad", "256", `colors.bad = "256": "256" is neither a color (#rrggbb, #rgb, 0 to 255) nor bold, faint, italic, underline, reverse, strike, default, or on with a color`},
		{"half a colour", "", "bad", "bold #12345", `colors.bad = "bold #12345": "#12345" is neither a color (#rrggbb, #rgb, 0 to 255) nor bold, faint, italic, underline, reverse, strike, default, or on with a color`},
		{"on nothing", "", "bad", "bold on", `colors.bad = "bold on": "on" is neither a color (#rrggbb, #rgb, 0 to 255) nor bold, faint, italic, underline, reverse, strike, default, or on with a color`},
		{"nothing", "", "bad", " ", `colors.bad = " ": it is empty; "default" uses the terminal's color`},
	} {
		t.Run(c.name, func(t *testing.T) {
			custom := Custom{Name: "mine", Base: c.base, Colors: map[string]string{c.role: c.value}}
			th, err := FromCustom(custom)
			if valid := custom.Validate(); (valid == nil) != (err == nil) {
				t.Errorf("Validate says %v, Make says %v", valid, err)
			}
			if err != nil {
				if err.Error() != c.want {
					t.Errorf("got  %v\nwant %s", err, c.want)
				}
				return
			}
			for _, r := range roles {
				if got := r.style(th).Render("x"); r.name == c.role && got != c.want {
					t.Errorf("%s renders %q, want %q", c.value, got, c.want)
				}
			}
			if th.Name != "mine" || th.Plain {
				t.Errorf("the theme is called %q, plain %v", th.Name, th.Plain)
			}
		})
	}
}

// Roles that a theme of the user's own does not set follow from those that it does.
func TestCustomDerives(t *testing.T) {
	derived := func(colors map[string]string) map[string]string {
		th, err := FromCustom(Custom{Base: "dark", Colors: colors})
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, r := range roles {
			all[r.name] = r.style(th).Render("x")
		}
		return all
	}
	base := derived(nil)
	function := derived(map[string]string{"function": "#5fafff"})
	if function["voice"] != function["function"] || function["voice-dim"] == base["voice-dim"] {
		t.Errorf("the voice is %q, not the color of functions", function["voice"])
	}
	if both := derived(map[string]string{"function": "#5fafff", "code": "#ffffff"}); both["voice"] == both["function"] {
		t.Error("the voice is the color of functions, though code has its own")
	}
	accent := derived(map[string]string{"accent": "#ff0000", "selected": "on #303030"})
	for _, role := range []string{"accent-dim", "band", "composer", "selected"} {
		if accent[role] == base[role] {
			t.Errorf("%s does not follow the accent", role)
		}
	}
	if want := "\x1b[38;2;173;8;10mx\x1b[m"; accent["accent-dim"] != want {
		t.Errorf("the bar is %q, want %q", accent["accent-dim"], want)
	}
	light, err := FromCustom(Custom{Base: "light", Colors: map[string]string{"accent": "#ff0000"}})
	if got, want := light.AccentDim.Render("x"), "\x1b[38;2;255;61;61mx\x1b[m"; err != nil || got != want {
		t.Errorf("on a light background the bar is %q, %v, want %q", got, err, want)
	}
	if want := "\x1b[48;2;48;48;48mx\x1b[m"; accent["selected"] != want {
		t.Errorf("the selected row is %q, want %q", accent["selected"], want)
	}
}

// Roles that Custom does not set are those of the base, which does not change.
func TestCustomKeepsItsBase(t *testing.T) {
	th, err := FromCustom(Custom{Base: "light", Colors: map[string]string{"bad": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	light := Light()
	for _, r := range roles {
		got, want := r.style(th).Render("x"), r.style(light).Render("x")
		if (got == want) == (r.name == "bad") {
			t.Errorf("%s renders %q, in the base %q", r.name, got, want)
		}
	}
	if th.Name != "custom" || th.Dark {
		t.Errorf("the theme is called %q, dark %v", th.Name, th.Dark)
	}
}

// The user's colors stay as they are, whatever their contrast, and a theme with colors is not plain.
func TestCustomColorsStay(t *testing.T) {
	th, err := FromCustom(Custom{Base: "dark", Colors: map[string]string{"text": "#303030"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := th.Indexed().Text.GetForeground(); got != ansi.IndexedColor(236) {
		t.Errorf("of 256 colors #303030 is %v, want 236", got)
	}
	for _, colors := range []map[string]string{nil, {"bad": "1"}} {
		if th, err := FromCustom(Custom{Base: "plain", Colors: colors}); err != nil || th.Plain != (colors == nil) {
			t.Errorf("with %v: plain %t, %v", colors, th.Plain, err)
		}
	}
}

// Of the 16 colors, those are chosen that are readable on the background.
func TestBasicOnBothBackgrounds(t *testing.T) {
	for want, th := range map[string]*Theme{"\x1b[33ma\x1b[m \x1b[36mv\x1b[m \x1b[35mw\x1b[m": Dark(), "\x1b[35ma\x1b[m \x1b[34mv\x1b[m \x1b[1;35mw\x1b[m": Light()} {
		basic := th.Basic()
		if got := basic.Accent.Render("a") + " " + basic.Voice.Render("v") + " " + basic.Warn.Render("w"); got != want {
			t.Errorf("%s: got %q, want %q", th.Name, got, want)
		}
	}
}

func TestSign(t *testing.T) {
	th := Dark()
	for sign, want := range map[string]lipgloss.Style{"✓": th.Good, "!": th.Warn, "✗": th.Bad, "·": th.Text, "": th.Text} {
		if got := th.Sign(sign).Render("x"); got != want.Render("x") {
			t.Errorf("%q is %q, want %q", sign, got, want.Render("x"))
		}
	}
}

func TestSame(t *testing.T) {
	black, white := ForBackground(color.Black), ForBackground(color.White)
	for _, c := range []struct {
		a, b *Theme
		want bool
	}{
		{black, black, true}, {black, ForBackground(color.Black), true}, {black, white, false}, {black, Dark(), false}, {Plain(), Plain(), true}, {Plain(), Terminal(), false},
	} {
		if got := c.a.Same(c.b); got != c.want {
			t.Errorf("%s and %s: %t, want %t", c.a.Name, c.b.Name, got, c.want)
		}
	}
}

// Colors are as far from the background that a terminal reports as they need to be, and no further.
func TestColorsForBackgrounds(t *testing.T) {
	for background, want := range map[string]string{
		"#000000": "18120E 211813 32251C E6E4DF 7A7E87 A6795A 234 234 236 254 244 137",
		"#2E3440": "3C3D45 414047 4E494C E6E4DF 8A8D95 AD8467 238 238 239 254 246 138",
		"#808080": "847971 887467 8F684C 16171A 2E2F32 3C2A1B 243 243 242 233 17 52",
		"#FAFAFA": "F6F1EE F3EBE6 ECDED4 1F2024 7F828A A8754A 255 254 253 234 244 95",
		"#C0C0C0": "BEB8B4 BDB4AE BAA89C 1F2024 5E6066 805938 249 249 248 234 59 239",
	} {
		th := ForBackground(lipgloss.Color(background))
		var got []string
		for _, t := range []*Theme{th, th.Indexed()} {
			for _, c := range []color.Color{t.Band.GetBackground(), t.Composer.GetBackground(), t.Selected.GetBackground(), t.Text.GetForeground(), t.Faint.GetForeground(), t.AccentDim.GetForeground()} {
				if i, ok := c.(ansi.IndexedColor); ok {
					got = append(got, strconv.Itoa(int(i)))
					continue
				}
				r, g, b, _ := c.RGBA()
				got = append(got, fmt.Sprintf("%02X%02X%02X", r>>8, g>>8, b>>8))
			}
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: got %s, want %s", background, got, want)
		}
	}
}
