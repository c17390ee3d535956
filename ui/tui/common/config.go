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
)

// Config is the [ui] section of the configuration.
type Config struct {
	Theme        string `toml:"theme"`         // "auto", one of theme.Names, or one of Themes
	Mouse        bool   `toml:"mouse"`         // take the wheel and selecting; off leaves the mouse to the terminal
	Vim          bool   `toml:"vim"`           // keys of vi in the composer
	Notify       string `toml:"notify"`        // one of Notices: how to call a user back who is in another window
	Motion       string `toml:"motion"`        // "on", or "off": nothing moves but what is said
	ScreenReader bool   `toml:"screen_reader"` // plain lines in order in place of the screen, see package plain
	Discover     bool   `toml:"discover"`      // look for model servers that run on this machine

	// The status line: names of statusbar.Segments in the order in which they stand, nil
	// for all; and a command line whose output is one of them, "" for none.
	Status        []string          `toml:"status"`
	StatusCommand process.ShellText `toml:"status_command"`

	// Names of models, or patterns such as "openai/*-audio*": those that stand first
	// in the list, and those that are left out. What keys say of a model counts more.
	Favorites []string `toml:"favorites"`
	Hidden    []string `toml:"hidden"`

	Themes map[string]theme.Custom `toml:"themes"` // of one's own, by their names
}

// DefaultConfig returns what holds where the configuration says nothing.
func DefaultConfig() Config {
	return Config{Theme: "auto", Mouse: true, Notify: "auto", Motion: "on", Discover: true}
}

// ThemeNames lists the values of Theme.
func (c Config) ThemeNames() []string {
	return slices.Concat([]string{"auto"}, theme.Names(), slices.Sorted(maps.Keys(c.Themes)))
}

// ThemeNamed makes the theme of this name; nil if there is none. The configuration was
// validated.
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

// Validate names a value that cannot be meant.
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
		if known := statusbar.Segments(); !slices.Contains(known, name) {
			if near := similar.Name(name, known); near != "" {
				return fmt.Errorf("ui.status = %q: did you mean %q?", name, near)
			}
			return fmt.Errorf("ui.status = %q: use %s", name, strings.Join(known, ", "))
		}
	}
	for _, value := range []struct {
		key, is string
		may     []string
	}{{"theme", c.Theme, c.ThemeNames()}, {"notify", c.Notify, Notices}, {"motion", c.Motion, []string{"on", "off"}}} {
		if !slices.Contains(value.may, value.is) {
			return fmt.Errorf("ui.%s = %q: there are %s", value.key, value.is, strings.Join(value.may, ", "))
		}
	}
	return nil
}

// firstTheme picks the theme at the start. "auto" goes by COLORFGBG, or takes colors for
// any background until the terminal answers.
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

// hasBasicColors reports whether the terminal has its own 16 colors and no others.
func hasBasicColors(env func(string) string) bool {
	vars := []string{"TERM", "COLORTERM", "WT_SESSION", "TERM_PROGRAM", "ConEmuANSI"}
	for i, name := range vars {
		vars[i] = name + "=" + env(name)
	}
	return colorprofile.Env(vars) == colorprofile.ANSI
}
