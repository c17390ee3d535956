package theme

import (
	"image/color"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
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
