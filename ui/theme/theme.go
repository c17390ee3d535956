// Package theme holds how parley looks: one accent colour, shades of grey, and
// a few colours that mean something. Every state that has a colour also has a
// sign or a word, so that NO_COLOR and colour-blind readers lose nothing.
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
	Plain bool // no colours at all: NO_COLOR, dumb terminals

	Text   lipgloss.Style // what is read
	Dim    lipgloss.Style // thinking, hints, folded things
	Faint  lipgloss.Style // rules, footers, line numbers
	Accent lipgloss.Style // the one colour: focus, links, the prompt sign
	Strong lipgloss.Style // headings, the selected row
	Code   lipgloss.Style // inline code
	Good   lipgloss.Style // done, added lines
	Warn   lipgloss.Style // asks, modes that deserve attention
	Bad    lipgloss.Style // errors, removed lines
}

// Dark is for terminals with a dark background.
func Dark() *Theme {
	return palette("dark", true, "#E4E4E4", "#9A9A9A", "#6C6C6C", "#D7AF87", "#87AF87", "#D7AF5F", "#D78787")
}

// Light is for terminals with a light background.
func Light() *Theme {
	return palette("light", false, "#1C1C1C", "#626262", "#949494", "#875F00", "#2F6F2F", "#8A5A00", "#AF0000")
}

// Terminal takes the colours that the terminal's own palette has for things, and
// leaves text as it is: for output on a background that nobody asked about.
func Terminal() *Theme {
	s := lipgloss.NewStyle
	fg := func(c color.Color) lipgloss.Style { return s().Foreground(c) }
	return &Theme{
		Name: "terminal", Dark: true,
		Text: s(), Dim: s().Faint(true), Faint: s().Faint(true), Accent: fg(lipgloss.Cyan), Strong: s().Bold(true),
		Code: fg(lipgloss.Cyan), Good: fg(lipgloss.Green), Warn: fg(lipgloss.Yellow), Bad: fg(lipgloss.Red),
	}
}

// Plain has no colours; it tells things apart by bold, faint and underline.
func Plain() *Theme {
	s := lipgloss.NewStyle
	return &Theme{
		Name: "plain", Dark: true, Plain: true,
		Text: s(), Dim: s().Faint(true), Faint: s().Faint(true), Accent: s().Bold(true), Strong: s().Bold(true),
		Code: s(), Good: s(), Warn: s().Bold(true), Bad: s().Bold(true),
	}
}

func palette(name string, dark bool, text, dim, faint, accent, good, warn, bad string) *Theme {
	fg := func(hex string) lipgloss.Style { return lipgloss.NewStyle().Foreground(lipgloss.Color(hex)) }
	return &Theme{
		Name: name, Dark: dark,
		Text: fg(text), Dim: fg(dim), Faint: fg(faint), Accent: fg(accent), Strong: fg(text).Bold(true),
		Code: fg(accent), Good: fg(good), Warn: fg(warn), Bad: fg(bad),
	}
}

// For picks the theme for a terminal background; nil means unknown, which is
// taken for dark.
func For(background color.Color) *Theme {
	if background != nil && !isDark(background) {
		return Light()
	}
	return Dark()
}

// isDark tells by perceived lightness (ITU-R BT.601 luma).
func isDark(c color.Color) bool {
	r, g, b, _ := c.RGBA()
	return 299*r+587*g+114*b < 500*0xffff
}
