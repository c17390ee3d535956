// Package theme holds the styles of parley: two voices, warm for the user and cool for
// the model, three grays, and a few colors with a meaning. Every state that has a color
// also has a sign or a word, so that it is visible with NO_COLOR and to color-blind users.
//
// A theme has colors of 24 bits; Indexed and Basic return it for terminals with fewer.
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
	Strong lipgloss.Style // titles, names, the selected row
	Dim    lipgloss.Style // looked up: footers, hints, thinking, output of tools
	Faint  lipgloss.Style // never read: rules, line numbers, separators, placeholders

	Accent    lipgloss.Style // the user's: what they wrote, chose and may press
	AccentDim lipgloss.Style // bars of earlier prompts
	Voice     lipgloss.Style // the model's: headings, links, inline code, running work
	VoiceDim  lipgloss.Style // rules of headings, signs of lists, bars of quotes

	Good lipgloss.Style // done, added lines
	Warn lipgloss.Style // questions, modes that deserve attention
	Bad  lipgloss.Style // errors, removed lines

	Band     lipgloss.Style // background of the user's messages; it and those below may have no style
	Composer lipgloss.Style // background of the composer and of questions
	Selected lipgloss.Style // background of the selected row of a list
	Syntax   Syntax         // code
	Diff     Diff

	background color.Color // that the colors are for; nil if it is not known
	strict     bool        // text has a contrast of 7 to 1, not 4.5
}

// A Syntax holds the styles of code.
type Syntax struct{ Comment, Keyword, String, Number, Function, Type lipgloss.Style }

// A Diff holds the backgrounds of diff lines and of changed words in them, or no styles.
// With a background, lines have the colors of their language; without one, those of Good
// and Bad.
type Diff struct {
	Added, Removed, AddedWord, RemovedWord lipgloss.Style

	Gutter bool // Added and Removed are for line numbers and signs; lines have no background
}

// Dark returns the theme for terminals with a dark background.
func Dark() *Theme { return paletteTheme("dark", nil) }

// Light returns the theme for terminals with a light background.
func Light() *Theme { return paletteTheme("light", nil) }

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
	accent, voice, warn := fg(lipgloss.Yellow), fg(lipgloss.Cyan), fg(lipgloss.Magenta)
	if !t.Dark { // yellow and cyan are hard to read on a light background
		accent, voice, warn = fg(lipgloss.Magenta), fg(lipgloss.Blue), fg(lipgloss.Magenta).Bold(true)
	}
	return &Theme{
		Name: t.Name, Dark: t.Dark,
		Text: s(), Strong: s().Bold(true), Dim: s().Faint(true), Faint: s().Faint(true),
		Accent: accent, AccentDim: accent.Faint(true), Voice: voice, VoiceDim: voice.Faint(true),
		Good: fg(lipgloss.Green), Warn: warn, Bad: fg(lipgloss.Red),
		Syntax: Syntax{Comment: s().Faint(true), Keyword: voice, String: fg(lipgloss.Green), Function: s().Bold(true), Type: voice},
	}
}

// Neutral returns a theme for an unknown background: text in the default color, and
// colors that are readable on both black and white.
func Neutral() *Theme {
	s := lipgloss.NewStyle
	fg := func(hex string) lipgloss.Style { return s().Foreground(lipgloss.Color(hex)) }
	const accent, voice, muted, good, warn, bad, violet = "#B0672B", "#2F7FB0", "#777B82", "#2E8540", "#9A6A00", "#D03A3A", "#9A5FC0"
	return &Theme{
		Name: "neutral", Dark: true,
		Text: s(), Strong: s().Bold(true), Dim: fg(muted), Faint: fg(muted),
		Accent: fg(accent), AccentDim: fg(accent), Voice: fg(voice), VoiceDim: fg(voice), Good: fg(good), Warn: fg(warn), Bad: fg(bad),
		Syntax: Syntax{Comment: fg(muted).Italic(true), Keyword: fg(violet), String: fg(good), Number: fg(warn), Function: fg(voice), Type: fg(voice)},
	}
}

// Plain returns a theme without colors, only with bold, faint and underline.
func Plain() *Theme {
	s := lipgloss.NewStyle
	return &Theme{
		Name: "plain", Dark: true, Plain: true,
		Text: s(), Strong: s().Bold(true), Dim: s().Faint(true), Faint: s().Faint(true),
		Accent: s().Bold(true), AccentDim: s().Faint(true), Voice: s(), VoiceDim: s().Faint(true), Good: s(), Warn: s().Bold(true), Bad: s().Bold(true),
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
	th := paletteTheme(name, nil)
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

// ForBackground returns parley's theme for a terminal background. nil means unknown, which
// counts as dark.
func ForBackground(background color.Color) *Theme {
	if background != nil && !isDark(background) {
		return paletteTheme("light", background)
	}
	return paletteTheme("dark", background)
}

// Same reports whether t and u are the same theme for the same background.
func (t *Theme) Same(u *Theme) bool { return t.Name == u.Name && t.background == u.background }

// isDark reports whether c is dark by perceived lightness (ITU-R BT.601 luma).
func isDark(c color.Color) bool {
	r, g, b, _ := c.RGBA()
	return 299*r+587*g+114*b < 500*0xffff
}
