package common

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/charmbracelet/colorprofile"

	"parley/providers/similar"
	"parley/tools/process"
	"parley/ui/theme"
	"parley/ui/tui/statusbar"
	"parley/ui/tui/termimage"
)

// Config is the [ui] section of the configuration.
type Config struct {
	Theme        string `toml:"theme"`         // "auto", one of theme.Names, or one of Themes
	Mouse        bool   `toml:"mouse"`         // handle the wheel and selections; off leaves the mouse to the terminal
	Vim          bool   `toml:"vim"`           // vi's keys in the composer
	Notify       string `toml:"notify"`        // one of Notices: how to notify a user who is in another window
	Motion       string `toml:"motion"`        // "on", or "off" to move nothing but the conversation
	Images       string `toml:"images"`        // "auto", or how to draw images: one of termimage.Settings
	ScreenReader bool   `toml:"screen_reader"` // plain lines instead of the screen; see package plain
	Discover     bool   `toml:"discover"`      // look for model servers on this machine

	// The status line: names of statusbar.Segments in display order, nil for all; and a
	// command whose output is one of the segments, "" for none.
	Status        []string          `toml:"status"`
	StatusCommand process.ShellText `toml:"status_command"`

	// Names of models, or patterns such as "openai/*-audio*": those listed first, and
	// those hidden. Choices made with keys take precedence.
	Favorites []string `toml:"favorites"`
	Hidden    []string `toml:"hidden"`

	Themes map[string]theme.Custom `toml:"themes"` // the user's own themes, by name
}

// DefaultConfig returns the configuration for missing settings.
func DefaultConfig() Config {
	return Config{Theme: "auto", Mouse: true, Notify: "auto", Motion: "on", Images: "auto", Discover: true}
}

// ThemeNames lists the values of Theme.
func (c Config) ThemeNames() []string {
	return slices.Concat([]string{"auto"}, theme.Names(), slices.Sorted(maps.Keys(c.Themes)))
}

// ThemeNamed returns the theme with this name, or nil. The configuration must be valid.
func (c Config) ThemeNamed(name string) *theme.Theme {
	if own, ok := c.Themes[name]; ok {
		own.Name = name
		if th, err := theme.FromCustom(own); err == nil {
			return th
		}
	}
	if th, ok := theme.ByName(name); ok {
		return th
	}
	return nil
}

// Validate returns an error for the first invalid value.
func (c Config) Validate() error {
	for name, own := range c.Themes {
		if _, taken := theme.ByName(name); taken || name == "auto" {
			return fmt.Errorf("ui.themes.%s: parley has a theme of this name", name)
		}
		if err := own.Validate(); err != nil {
			return fmt.Errorf("ui.themes.%s: %w", name, err)
		}
	}
	for key, patterns := range map[string][]string{"favorites": c.Favorites, "hidden": c.Hidden} {
		for _, pattern := range patterns {
			if _, err := path.Match(pattern, ""); err != nil {
				return fmt.Errorf("ui.%s: %q is no pattern: * stands for anything, ? for one letter, [ab] for one of these", key, pattern)
			}
		}
	}
	for _, name := range c.Status {
		if known := c.Words("status"); !slices.Contains(known, name) {
			if near := similar.Name(name, known); near != "" {
				return fmt.Errorf("ui.status = %q: did you mean %q?", name, near)
			}
			return fmt.Errorf("ui.status = %q: use %s", name, strings.Join(known, ", "))
		}
	}
	for _, value := range []struct{ key, is string }{{"theme", c.Theme}, {"notify", c.Notify}, {"motion", c.Motion}, {"images", c.Images}} {
		if may := c.Words(value.key); !slices.Contains(may, value.is) {
			return fmt.Errorf("ui.%s = %q: there are %s", value.key, value.is, strings.Join(may, ", "))
		}
	}
	return nil
}

// Words returns the possible values of a setting, if there are few.
func (c Config) Words(setting string) []string {
	switch setting {
	case "theme":
		return c.ThemeNames()
	case "notify":
		return Notices
	case "motion":
		return []string{"on", "off"}
	case "images":
		return termimage.Settings()
	case "status":
		return statusbar.Segments()
	}
	return nil
}

// firstTheme returns the theme for the start. "auto" uses COLORFGBG, or colors for any
// background until the terminal reports its own.
func firstTheme(c Config, env func(string) string) *theme.Theme {
	if env("NO_COLOR") != "" || env("TERM") == "dumb" {
		return theme.Plain()
	}
	if th := c.ThemeNamed(c.Theme); th != nil {
		return th
	}
	if th := theme.FromEnvironment(env("COLORFGBG")); th != nil {
		return th
	}
	return theme.Neutral()
}

// colorsOf returns how many colors the terminal has.
func colorsOf(env func(string) string) colorprofile.Profile {
	vars := []string{"TERM", "COLORTERM", "WT_SESSION", "TERM_PROGRAM", "ConEmuANSI"}
	for i, name := range vars {
		vars[i] = name + "=" + env(name)
	}
	return colorprofile.Env(vars)
}
