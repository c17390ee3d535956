package common

import (
	"strings"
	"testing"
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
		basic       bool
	}{
		{"nothing is known", "auto", nil, "neutral", false},
		{"a light terminal says so", "auto", map[string]string{"COLORFGBG": "0;15"}, "light", false},
		{"a dark one", "auto", map[string]string{"COLORFGBG": "15;0"}, "dark", false},
		{"a theme is configured", "nord", map[string]string{"COLORFGBG": "0;15"}, "nord", false},
		{"no colors are wanted", "nord", map[string]string{"NO_COLOR": "1"}, "plain", false},
		{"a terminal that can only print", "auto", map[string]string{"TERM": "dumb"}, "plain", false},
		{"16 colors", "auto", map[string]string{"TERM": "xterm", "COLORFGBG": "0;15"}, "light", true},
		{"16 colors, and a theme", "dracula", map[string]string{"TERM": "xterm-16color"}, "dracula", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor"}
			if tt.basic {
				env = map[string]string{}
			}
			for k, v := range tt.env {
				env[k] = v
			}
			c := DefaultConfig()
			c.Theme = tt.theme
			s := New(c, func(name string) string { return env[name] }, nil)
			if s.Theme.Name != tt.want || s.Basic != tt.basic {
				t.Errorf("the theme is %s (16 colors: %v), want %s (%v)", s.Theme.Name, s.Basic, tt.want, tt.basic)
			}
		})
	}
}
