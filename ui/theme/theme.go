// Package theme holds how parley looks: one accent color, shades of gray, and
// a few colors that mean something. Every state that has a color also has a
// sign or a word, so that NO_COLOR and color-blind readers lose nothing.
//
// Colors are written as they are meant; the program that owns the terminal
// brings them down to what it can show (256, 16 or no colors).
package theme

import (
	"image/color"

	"charm.land/lipgloss/v2"
)

// A Theme is a set of styles. It is never changed after it was made; compare
// pointers to see whether a cached rendering is still good.
type Theme struct {
	Name  string
	Dark  bool
	Plain bool // no colors at all: NO_COLOR, dumb terminals

	Text   lipgloss.Style // what is read
	Dim    lipgloss.Style // thinking, hints, folded things
	Faint  lipgloss.Style // rules, footers, line numbers
	Accent lipgloss.Style // the one color: focus, links, the prompt sign
	Strong lipgloss.Style // headings, the selected row
	Code   lipgloss.Style // inline code
	Good   lipgloss.Style // done, added lines
	Warn   lipgloss.Style // asks, modes that deserve attention
	Bad    lipgloss.Style // errors, removed lines

	// What lies behind the lines of a diff: a background, or nothing. With one,
	// the lines have the colors of their language; without, those of Good and Bad.
	Added, Removed lipgloss.Style
}

// Dark returns the theme for terminals with a dark background.
func Dark() *Theme {
	return palette{
		name: "dark", dark: true,
		text: "#E4E4E4", dim: "#9A9A9A", faint: "#7C7C7C", accent: "#D7AF87",
		good: "#8FBF9F", warn: "#D7AF5F", bad: "#E07878", added: "#1C2A1C", removed: "#331F1F",
	}.theme()
}

// Light returns the theme for terminals with a light background.
func Light() *Theme {
	return palette{
		name: "light",
		text: "#1C1C1C", dim: "#585858", faint: "#6E6E6E", accent: "#875F00",
		good: "#2F6F2F", warn: "#8A5A00", bad: "#AF0000", added: "#F0FAF0", removed: "#FFEEEE",
	}.theme()
}

// HighContrast returns a theme for dark backgrounds and eyes that need more: every color
// stands out from black by 7 to 1.
func HighContrast() *Theme {
	return palette{
		name: "high-contrast", dark: true,
		text: "#FFFFFF", dim: "#D0D0D0", faint: "#B8B8B8", accent: "#FFD75F",
		good: "#5FFF87", warn: "#FFAF00", bad: "#FF9C9C", added: "#002B00", removed: "#2B0000",
	}.theme()
}

// HighContrastLight returns HighContrast for light backgrounds.
func HighContrastLight() *Theme {
	return palette{
		name: "high-contrast-light",
		text: "#000000", dim: "#3A3A3A", faint: "#464646", accent: "#003C8F",
		good: "#004D00", warn: "#5F3A00", bad: "#8B0000", added: "#F0FFF0", removed: "#FFF0F0",
	}.theme()
}

// Terminal takes the colors that the terminal's own palette has for things, and
// leaves text as it is: for output on a background that nobody asked about.
func Terminal() *Theme {
	s := lipgloss.NewStyle
	fg := func(c color.Color) lipgloss.Style { return s().Foreground(c) }
	return &Theme{
		Name: "terminal", Dark: true,
		Text: s(), Dim: s().Faint(true), Faint: s().Faint(true), Accent: fg(lipgloss.Cyan), Strong: s().Bold(true),
		Code: fg(lipgloss.Cyan), Good: fg(lipgloss.Green), Warn: fg(lipgloss.Yellow), Bad: fg(lipgloss.Red),
		Added: s(), Removed: s(),
	}
}

// Plain returns a theme without colors; it tells things apart by bold, faint and underline.
func Plain() *Theme {
	s := lipgloss.NewStyle
	return &Theme{
		Name: "plain", Dark: true, Plain: true,
		Text: s(), Dim: s().Faint(true), Faint: s().Faint(true), Accent: s().Bold(true), Strong: s().Bold(true),
		Code: s(), Good: s(), Warn: s().Bold(true), Bad: s().Bold(true),
		Added: s(), Removed: s(),
	}
}

// A palette is what a theme with colors of its own is made of, as "#RRGGBB".
type palette struct {
	name string
	dark bool

	text, dim, faint, accent, good, warn, bad string
	added, removed                            string // backgrounds
}

func (p palette) theme() *Theme {
	fg := func(hex string) lipgloss.Style { return lipgloss.NewStyle().Foreground(lipgloss.Color(hex)) }
	bg := func(hex string) lipgloss.Style { return lipgloss.NewStyle().Background(lipgloss.Color(hex)) }
	return &Theme{
		Name: p.name, Dark: p.dark,
		Text: fg(p.text), Dim: fg(p.dim), Faint: fg(p.faint), Accent: fg(p.accent), Strong: fg(p.text).Bold(true),
		Code: fg(p.accent), Good: fg(p.good), Warn: fg(p.warn), Bad: fg(p.bad),
		Added: bg(p.added), Removed: bg(p.removed),
	}
}

// themes lists those that come with parley, in the order they are offered.
var themes = []func() *Theme{Dark, Light, HighContrast, HighContrastLight, Terminal, Plain}

// Names returns what ByName knows.
func Names() []string {
	names := make([]string, len(themes))
	for i, th := range themes {
		names[i] = th().Name
	}
	return names
}

// ByName returns the theme of this name, and false if there is none.
func ByName(name string) (*Theme, bool) {
	for _, th := range themes {
		if th := th(); th.Name == name {
			return th, true
		}
	}
	return nil, false
}

// For picks the theme for a terminal background; nil means unknown, which is
// taken for dark.
func For(background color.Color) *Theme {
	if background != nil && !isDark(background) {
		return Light()
	}
	return Dark()
}

// isDark decides by perceived lightness (ITU-R BT.601 luma).
func isDark(c color.Color) bool {
	r, g, b, _ := c.RGBA()
	return 299*r+587*g+114*b < 500*0xffff
}
