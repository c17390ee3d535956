// Package theme holds the styles of parley: one accent color, shades of gray,
// and a few colors with a meaning. Every state that has a color also has a sign
// or a word, so that it is visible with NO_COLOR and to color-blind users.
//
// Colors are written in full; the program that owns the terminal reduces them
// to those that it can show (256, 16 or no colors).
package theme

import (
	"image/color"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
)

// A Theme is a set of styles. It never changes after its creation; compare
// pointers to decide whether a cached rendering is still valid.
type Theme struct {
	Name  string
	Dark  bool
	Plain bool // no colors at all: NO_COLOR, dumb terminals
	Bare  bool // no attributes either: pipes

	Text   lipgloss.Style // text to read
	Dim    lipgloss.Style // thinking, hints, folded text
	Faint  lipgloss.Style // rules, footers, line numbers
	Accent lipgloss.Style // the one color: focus, links, the prompt sign
	Strong lipgloss.Style // headings, the selected row
	Code   lipgloss.Style // inline code
	Good   lipgloss.Style // done, added lines
	Warn   lipgloss.Style // questions, modes that deserve attention
	Bad    lipgloss.Style // errors, removed lines

	Band   lipgloss.Style // background of the user's own messages, or no style
	Syntax Syntax         // code
	Diff   Diff
}

// A Syntax holds the styles of code.
type Syntax struct{ Comment, Keyword, String, Number, Function, Type lipgloss.Style }

// A Diff holds the backgrounds of diff lines and of changed words in them, or no styles.
// With a background, lines have the colors of their language; without one, those of Good
// and Bad.
type Diff struct{ Added, Removed, AddedWord, RemovedWord lipgloss.Style }

// Dark returns the theme for terminals with a dark background.
func Dark() *Theme { return paletteTheme("dark") }

// Light returns the theme for terminals with a light background.
func Light() *Theme { return paletteTheme("light") }

// Terminal returns a theme with the colors of the terminal's own palette, and
// plain text in the default color: for output on an unknown background.
func Terminal() *Theme {
	th := (&Theme{Name: "terminal", Dark: true}).Basic()
	return th
}

// Basic returns t for a terminal with only its own palette of 16 colors, whose shades are
// unknown. Text has the default color. Other roles have the colors that are readable on a
// background like that of t. The accent is never the color of errors.
func (t *Theme) Basic() *Theme {
	if t.Plain {
		return t
	}
	s := lipgloss.NewStyle
	fg := func(c color.Color) lipgloss.Style { return s().Foreground(c) }
	accent, warn, typ := color.Color(lipgloss.Cyan), color.Color(lipgloss.Yellow), color.Color(lipgloss.Yellow)
	if !t.Dark { // yellow and cyan are hard to read on a light background
		accent, warn, typ = lipgloss.Blue, lipgloss.Magenta, lipgloss.Cyan
	}
	return &Theme{
		Name: t.Name, Dark: t.Dark,
		Text: s(), Dim: s().Faint(true), Faint: s().Faint(true), Accent: fg(accent), Strong: s().Bold(true),
		Code: fg(accent), Good: fg(lipgloss.Green), Warn: fg(warn), Bad: fg(lipgloss.Red),
		Syntax: Syntax{Comment: s().Faint(true), Keyword: fg(accent), String: fg(lipgloss.Green), Number: fg(lipgloss.Magenta), Function: s().Bold(true), Type: fg(typ)},
	}
}

// Neutral returns a theme for an unknown background: text in the default color, and
// colors that are readable on both black and white.
func Neutral() *Theme {
	s := lipgloss.NewStyle
	fg := func(hex string) lipgloss.Style { return s().Foreground(lipgloss.Color(hex)) }
	const accent, good, warn, bad, blue, violet = "#9C6B1E", "#2E8540", "#9A6A00", "#D03A3A", "#2F78C4", "#9A5FC0"
	return &Theme{
		Name: "neutral", Dark: true,
		Text: s(), Dim: s().Faint(true), Faint: s().Faint(true), Accent: fg(accent), Strong: s().Bold(true),
		Code: fg(accent), Good: fg(good), Warn: fg(warn), Bad: fg(bad),
		Syntax: Syntax{Comment: s().Faint(true), Keyword: fg(accent), String: fg(good), Number: fg(warn), Function: fg(blue), Type: fg(violet)},
	}
}

// Plain returns a theme without colors, only with bold, faint and underline.
func Plain() *Theme {
	s := lipgloss.NewStyle
	return &Theme{
		Name: "plain", Dark: true, Plain: true,
		Text: s(), Dim: s().Faint(true), Faint: s().Faint(true), Accent: s().Bold(true), Strong: s().Bold(true),
		Code: s(), Good: s(), Warn: s().Bold(true), Bad: s().Bold(true),
		Syntax: Syntax{Comment: s().Faint(true), Keyword: s().Bold(true)},
	}
}

// Bare returns the theme for text without colors and attributes, as in a pipe.
func Bare() *Theme { return &Theme{Name: "bare", Dark: true, Plain: true, Bare: true} }

// Sign returns the style of a status sign: ✓ for works, ! for works less well than it
// could, ✗ for does not work. Other signs have the style of text.
func (t *Theme) Sign(sign string) lipgloss.Style {
	switch sign {
	case "✓":
		return t.Good
	case "!":
		return t.Warn
	case "✗":
		return t.Bad
	}
	return t.Text
}

// Names returns the names of built-in themes, in the order in which they are offered.
func Names() []string {
	var names []string
	for _, p := range palettes {
		names = append(names, p.name)
	}
	return append(names, "terminal", "plain")
}

// ByName returns the built-in theme with this name; ok is false if there is none.
func ByName(name string) (*Theme, bool) {
	switch name {
	case "terminal":
		return Terminal(), true
	case "plain":
		return Plain(), true
	}
	th := paletteTheme(name)
	return th, th != nil
}

// FromEnvironment returns the theme for the background reported in COLORFGBG, such as "15;0":
// palette colors of text and background. It returns nil if no background is reported.
func FromEnvironment(colorFGBG string) *Theme {
	at := strings.LastIndexByte(colorFGBG, ';')
	background, err := strconv.Atoi(colorFGBG[at+1:])
	switch {
	case at < 0 || err != nil || background < 0 || background > 15:
		return nil
	case background == 7 || background > 8: // white and the bright colors; 8 is a dark gray
		return Light()
	}
	return Dark()
}

// ForBackground returns the theme for a terminal background. nil means unknown, which
// counts as dark.
func ForBackground(background color.Color) *Theme {
	if background != nil && !isDark(background) {
		return Light()
	}
	return Dark()
}

// isDark reports whether c is dark by perceived lightness (ITU-R BT.601 luma).
func isDark(c color.Color) bool {
	r, g, b, _ := c.RGBA()
	return 299*r+587*g+114*b < 500*0xffff
}
