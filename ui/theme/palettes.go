package theme

import (
	"image/color"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// A palette holds the colors of a theme with its own colors, as "#RRGGBB".
type palette struct {
	name       string
	dark       bool
	background string // background that the colors were chosen for; never painted
	strict     bool   // text has a contrast of 7 to 1, not 4.5

	text, dim, faint, accent, voice, good, warn, bad string

	accentDim, voiceDim string // "" for mixtures with the background
	code                codePalette
	diff                diffPalette
}

type codePalette struct{ comment, keyword, str, number, function, typ string }

// A diffPalette holds the backgrounds of diff lines and of changed words in them.
type diffPalette struct{ added, removed, addedWord, removedWord string }

// palettes lists the themes with their own colors, in the order in which they are offered.
// Themes known from elsewhere have the colors published there, lightened or darkened until
// text has its contrast. Tints of diffs are mixed from the background.
//
// The accent is warm and the voice cool. Code has no warm colors in parley's own.
var palettes = []palette{
	{
		name: "dark", dark: true, background: "#16181D",
		text: "#E6E4DF", dim: "#A6A8AE", faint: "#7A7E87", accent: "#F2B48A", voice: "#8CC5E3", good: "#8FCB9B", warn: "#E8C86E", bad: "#F2757C",
		accentDim: "#A6795A", voiceDim: "#5F8BA3",
		code: codePalette{comment: "#A6A8AE", keyword: "#C9B1E8", str: "#A8D3A0", number: "#E8C86E", function: "#8CC5E3", typ: "#8FD0C4"},
		diff: diffPalette{added: "#16301F", removed: "#3B1C22", addedWord: "#1F5132", removedWord: "#6B2A35"},
	},
	{
		name: "light", background: "#FFFFFF",
		text: "#1F2024", dim: "#5B5E66", faint: "#7F828A", accent: "#A34A0A", voice: "#0B6491", good: "#1F6B34", warn: "#7A5600", bad: "#B3242B",
		accentDim: "#A8754A", voiceDim: "#4F86A5",
		code: codePalette{comment: "#5B5E66", keyword: "#6B3FA0", str: "#1F6B34", number: "#7A5600", function: "#0B6491", typ: "#0A6A62"},
		diff: diffPalette{added: "#DDF3E1", removed: "#FBE3E4", addedWord: "#B0E3BB", removedWord: "#F6BFC3"},
	},
	{
		name: "high-contrast", dark: true, background: "#000000", strict: true,
		text: "#FFFFFF", dim: "#D0D0D0", faint: "#B8B8B8", accent: "#FFD75F", voice: "#87D7FF", good: "#5FFF87", warn: "#FFAF00", bad: "#FF9C9C",
		code: codePalette{comment: "#D0D0D0", keyword: "#FFD75F", str: "#5FFF87", number: "#FFAF00", function: "#87D7FF", typ: "#E0B0FF"},
		diff: diffPalette{added: "#00230B", removed: "#36080C", addedWord: "#004A16", removedWord: "#681018"},
	},
	{
		name: "high-contrast-light", background: "#FFFFFF", strict: true,
		text: "#000000", dim: "#3A3A3A", faint: "#464646", accent: "#7A3300", voice: "#003C8F", good: "#004D00", warn: "#5F3A00", bad: "#8B0000",
		code: codePalette{comment: "#3A3A3A", keyword: "#003C8F", str: "#004D00", number: "#5F3A00", function: "#00405F", typ: "#4A1070"},
		diff: diffPalette{added: "#DBF2E0", removed: "#FCE4E6", addedWord: "#AAE1B6", removedWord: "#F8BDC2"},
	},
	{
		name: "catppuccin-mocha", dark: true, background: "#1E1E2E",
		text: "#CDD6F4", dim: "#A6ADC8", faint: "#7F849C", accent: "#FAB387", voice: "#89B4FA", good: "#A6E3A1", warn: "#F9E2AF", bad: "#F38BA8",
		code: codePalette{comment: "#969CB4", keyword: "#CBA6F7", str: "#A6E3A1", number: "#FAB387", function: "#89B4FA", typ: "#F9E2AF"},
		diff: diffPalette{added: "#173B2E", removed: "#4C1F2F", addedWord: "#10582F", removedWord: "#771F2F"},
	},
	{
		name: "catppuccin-latte", background: "#EFF1F5",
		text: "#4C4F69", dim: "#5E6174", faint: "#86899B", accent: "#B04A0A", voice: "#1A59D5", good: "#116C71", warn: "#8A5812", bad: "#C30E35",
		code: codePalette{comment: "#5E6170", keyword: "#7D34DC", str: "#2C6E1E", number: "#A54107", function: "#1A59D5", typ: "#885712"},
		diff: diffPalette{added: "#CEE7D8", removed: "#EED8DD", addedWord: "#A0D8B0", removedWord: "#EDB5BD"},
	},
	{
		name: "dracula", dark: true, background: "#282A36",
		text: "#F8F8F2", dim: "#BFC1D4", faint: "#6272A4", accent: "#FFB86C", voice: "#8BE9FD", good: "#50FA7B", warn: "#F1FA8C", bad: "#FF8383",
		code: codePalette{comment: "#9CA7CB", keyword: "#FF79C6", str: "#F1FA8C", number: "#BE94F9", function: "#50FA7B", typ: "#8BE9FD"},
		diff: diffPalette{added: "#1F4435", removed: "#542734", addedWord: "#166033", removedWord: "#7C2533"},
	},
	{
		name: "gruvbox-dark", dark: true, background: "#282828",
		text: "#EBDBB2", dim: "#BDAE93", faint: "#928374", accent: "#FE9A4B", voice: "#8CB0A4", good: "#B8BB26", warn: "#FABD2F", bad: "#FC8071",
		code: codePalette{comment: "#B1A390", keyword: "#FC8071", str: "#B8BB26", number: "#D791A4", function: "#8EC07C", typ: "#FABD2F"},
		diff: diffPalette{added: "#1F422A", removed: "#54262A", addedWord: "#165F2C", removedWord: "#7C242C"},
	},
	{
		name: "gruvbox-light", background: "#FBF1C7",
		text: "#3C3836", dim: "#665C54", faint: "#7C6F64", accent: "#A2450A", voice: "#076678", good: "#3A6C4D", warn: "#8D5C10", bad: "#9D0006",
		code: codePalette{comment: "#6B5F56", keyword: "#9D0006", str: "#68640C", number: "#8F3F71", function: "#3A6C4D", typ: "#86570F"},
		diff: diffPalette{added: "#D8E7B1", removed: "#F9D8B5", addedWord: "#A8D894", removedWord: "#F5B39C"},
	},
	{
		name: "nord", dark: true, background: "#2E3440",
		text: "#E5E9F0", dim: "#B6C0D2", faint: "#7B88A1", accent: "#E0A48F", voice: "#88C0D0", good: "#A3BE8C", warn: "#EBCB8B", bad: "#DAA3A9",
		code: codePalette{comment: "#A9B2C4", keyword: "#9AB4CD", str: "#A3BE8C", number: "#C6A9C1", function: "#88C0D0", typ: "#8FBCBB"},
		diff: diffPalette{added: "#244C3C", removed: "#582F3C", addedWord: "#196639", removedWord: "#7F2A38"},
	},
	{
		name: "rose-pine", dark: true, background: "#191724",
		text: "#E0DEF4", dim: "#9793AF", faint: "#6E6A86", accent: "#EBBCBA", voice: "#9CCFD8", good: "#9CCFD8", warn: "#F6C177", bad: "#EB6F92",
		code: codePalette{comment: "#9793AF", keyword: "#599FBB", str: "#F6C177", number: "#EA9A97", function: "#EBBCBA", typ: "#9CCFD8"},
		diff: diffPalette{added: "#143527", removed: "#491927", addedWord: "#0E5229", removedWord: "#741C2A"},
	},
	{
		name: "solarized-dark", dark: true, background: "#002B36",
		text: "#93A1A1", dim: "#8E9E9F", faint: "#657B83", accent: "#E58A5A", voice: "#4B9FDA", good: "#91A319", warn: "#BC9417", bad: "#E87A78",
		code: codePalette{comment: "#8E9E9F", keyword: "#91A319", str: "#3FAAA2", number: "#E278AB", function: "#4FA1DB", typ: "#BC9519"},
		diff: diffPalette{added: "#003A35", removed: "#302935", addedWord: "#004735", removedWord: "#572633"},
	},
	{
		name: "solarized-light", background: "#FDF6E3",
		text: "#53676E", dim: "#55676E", faint: "#809193", accent: "#A8481A", voice: "#1E6CA4", good: "#1D6F69", warn: "#846400", bad: "#BD2B28",
		code: codePalette{comment: "#5A6667", keyword: "#5D6B00", str: "#1D6F69", number: "#B52E70", function: "#1C689D", typ: "#7F6000"},
		diff: diffPalette{added: "#E2EECF", removed: "#FADCCE", addedWord: "#C8E5BC", removedWord: "#F8C6BC"},
	},
	{
		name: "tokyo-night", dark: true, background: "#1A1B26",
		text: "#C0CAF5", dim: "#A9B1D6", faint: "#5D658E", accent: "#FF9E64", voice: "#7AA2F7", good: "#9ECE6A", warn: "#E0AF68", bad: "#F7768E",
		code: codePalette{comment: "#9198B8", keyword: "#BB9AF7", str: "#9ECE6A", number: "#FF9E64", function: "#7AA2F7", typ: "#2AC3DE"},
		diff: diffPalette{added: "#143828", removed: "#491C29", addedWord: "#0F562A", removedWord: "#751E2B"},
	},
}

// chosen returns the color of 256 chosen for one of parley's own; 0 if there is none.
func chosen(c color.RGBA) ansi.IndexedColor {
	switch uint32(c.R)<<16 | uint32(c.G)<<8 | uint32(c.B) {
	case 0xE6E4DF:
		return 254
	case 0xA6A8AE:
		return 248
	case 0x7A7E87, 0x7F828A:
		return 244
	case 0xF2B48A:
		return 216
	case 0xA6795A:
		return 137
	case 0x8CC5E3:
		return 117
	case 0x5F8BA3, 0x4F86A5:
		return 67
	case 0x8FCB9B:
		return 114
	case 0xE8C86E:
		return 221
	case 0xF2757C:
		return 203
	case 0xC9B1E8:
		return 183
	case 0xA8D3A0:
		return 150
	case 0x8FD0C4:
		return 115
	case 0x1F2024:
		return 234
	case 0x5B5E66:
		return 240
	case 0xA34A0A:
		return 130
	case 0xA8754A:
		return 95
	case 0x0B6491:
		return 24
	case 0x1F6B34:
		return 22
	case 0x7A5600:
		return 94
	case 0xB3242B:
		return 124
	case 0x6B3FA0:
		return 55
	case 0x0A6A62:
		return 23
	}
	return 0
}

// theme returns the theme for a background; nil means the one that the colors were chosen for.
func (p palette) theme(background color.Color) *Theme {
	if background == nil {
		background = lipgloss.Color(p.background)
	}
	fg := func(hex string) lipgloss.Style { return lipgloss.NewStyle().Foreground(lipgloss.Color(hex)) }
	bg := func(hex string) lipgloss.Style { return lipgloss.NewStyle().Background(lipgloss.Color(hex)) }
	t := &Theme{
		Name: p.name, Dark: p.dark, background: rgb(background), strict: p.strict,
		Text: fg(p.text), Dim: fg(p.dim), Faint: fg(p.faint), Strong: fg(p.text).Bold(true),
		Accent: fg(p.accent), AccentDim: fg(p.accentDim), Voice: fg(p.voice), VoiceDim: fg(p.voiceDim),
		Good: fg(p.good), Warn: fg(p.warn), Bad: fg(p.bad),
		Syntax: Syntax{Comment: fg(p.code.comment).Italic(true), Keyword: fg(p.code.keyword), String: fg(p.code.str), Number: fg(p.code.number), Function: fg(p.code.function), Type: fg(p.code.typ)},
		Diff:   Diff{Added: bg(p.diff.added), Removed: bg(p.diff.removed), AddedWord: bg(p.diff.addedWord), RemovedWord: bg(p.diff.removedWord)},
	}
	if p.accentDim == "" {
		t.AccentDim, t.VoiceDim = t.quieter(t.Accent), t.quieter(t.Voice)
	}
	t.mixBands(false)
	t.fit(full)
	return t
}

// paletteTheme returns the theme of a palette for a background; see palette.theme.
func paletteTheme(name string, background color.Color) *Theme {
	for _, p := range palettes {
		if p.name == name {
			return p.theme(background)
		}
	}
	return nil
}
