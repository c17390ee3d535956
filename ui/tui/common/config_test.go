package common

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

// An unknown segment is reported, with the most similar known one.
func TestStatusSegments(t *testing.T) {
	for _, tt := range []struct {
		status []string
		want   string // part of the error; "" for none
	}{
		{nil, ""}, {[]string{}, ""}, {[]string{"mode", "cost", "model"}, ""},
		{[]string{"model", "tokns"}, `ui.status = "tokns": did you mean "tokens"?`},
		{[]string{"weather-of-today"}, `ui.status = "weather-of-today": use model, effort, badge`},
	} {
		c := DefaultConfig()
		c.Status = tt.status
		err := c.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.status, err, tt.want)
		}
	}
}

// The theme of the first frame waits for nothing: it depends on the environment, or suits
// any background.
func TestFirstTheme(t *testing.T) {
	for _, tt := range []struct {
		name, theme string
		env         map[string]string
		want        string
		colors      colorprofile.Profile
	}{
		{"nothing is known", "auto", nil, "neutral", colorprofile.TrueColor},
		{"a light terminal says so", "auto", map[string]string{"COLORFGBG": "0;15"}, "light", colorprofile.TrueColor},
		{"a dark one", "auto", map[string]string{"COLORFGBG": "15;0"}, "dark", colorprofile.TrueColor},
		{"a theme is configured", "nord", map[string]string{"COLORFGBG": "0;15"}, "nord", colorprofile.TrueColor},
		{"no colors are wanted", "nord", map[string]string{"NO_COLOR": "1"}, "plain", colorprofile.TrueColor},
		{"a terminal that can only print", "auto", map[string]string{"TERM": "dumb"}, "plain", colorprofile.NoTTY},
		{"16 colors", "auto", map[string]string{"TERM": "xterm", "COLORTERM": "", "COLORFGBG": "0;15"}, "light", colorprofile.ANSI},
		{"256 colors", "auto", map[string]string{"COLORTERM": "", "COLORFGBG": "0;15"}, "light", colorprofile.ANSI256},
		{"16 colors, and a theme", "dracula", map[string]string{"TERM": "xterm-16color", "COLORTERM": ""}, "dracula", colorprofile.ANSI},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor"}
			for k, v := range tt.env {
				env[k] = v
			}
			c := DefaultConfig()
			c.Theme = tt.theme
			s := New(c, func(name string) string { return env[name] }, nil)
			if s.Theme.Name != tt.want || s.Colors != tt.colors {
				t.Errorf("the theme is %s (%v), want %s (%v)", s.Theme.Name, s.Colors, tt.want, tt.colors)
			}
		})
	}
}
