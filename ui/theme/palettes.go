package theme

import "charm.land/lipgloss/v2"

// A palette holds the colors of a theme with its own colors, as "#RRGGBB".
type palette struct {
	name       string
	dark       bool
	background string // background that the colors were chosen for; never painted

	text, dim, faint, accent, good, warn, bad string
	band                                      string // background of the user's own messages
	code                                      codePalette
	diff                                      diffPalette
}

type codePalette struct{ comment, keyword, str, number, function, typ string }

// A diffPalette holds the backgrounds of diff lines and of changed words in them.
type diffPalette struct{ added, removed, addedWord, removedWord string }

// palettes lists the themes with their own colors, in the order in which they are offered.
// Themes known from elsewhere have the colors published there, lightened or darkened until
// text has a contrast of 4.5 to 1. Tints of diffs are mixed from the background.
var palettes = []palette{
	{
		name: "dark", dark: true, background: "#000000",
		text: "#E4E4E4", dim: "#9A9A9A", faint: "#7C7C7C", accent: "#D7AF87", good: "#8FBF9F", warn: "#D7AF5F", bad: "#E07878",
		band: "#262626",
		code: codePalette{comment: "#9A9A9A", keyword: "#D7AF87", str: "#8FBF9F", number: "#D7AF5F", function: "#87AFD7", typ: "#C3A5D7"},
		diff: diffPalette{added: "#00230B", removed: "#36080C", addedWord: "#004A16", removedWord: "#681018"},
	},
	{
		name: "light", background: "#FFFFFF",
		text: "#1C1C1C", dim: "#585858", faint: "#6E6E6E", accent: "#875F00", good: "#2F6F2F", warn: "#8A5A00", bad: "#AF0000",
		band: "#F2F2EE",
		code: codePalette{comment: "#585858", keyword: "#875F00", str: "#2F6F2F", number: "#8A5A00", function: "#0050A0", typ: "#6F3FA0"},
		diff: diffPalette{added: "#DBF2E0", removed: "#FCE4E6", addedWord: "#AAE1B6", removedWord: "#F8BDC2"},
	},
	{
		name: "high-contrast", dark: true, background: "#000000",
		text: "#FFFFFF", dim: "#D0D0D0", faint: "#B8B8B8", accent: "#FFD75F", good: "#5FFF87", warn: "#FFAF00", bad: "#FF9C9C",
		band: "#262626",
		code: codePalette{comment: "#D0D0D0", keyword: "#FFD75F", str: "#5FFF87", number: "#FFAF00", function: "#87D7FF", typ: "#E0B0FF"},
		diff: diffPalette{added: "#00230B", removed: "#36080C", addedWord: "#004A16", removedWord: "#681018"},
	},
	{
		name: "high-contrast-light", background: "#FFFFFF",
		text: "#000000", dim: "#3A3A3A", faint: "#464646", accent: "#003C8F", good: "#004D00", warn: "#5F3A00", bad: "#8B0000",
		band: "#EFEFEF",
		code: codePalette{comment: "#3A3A3A", keyword: "#003C8F", str: "#004D00", number: "#5F3A00", function: "#00405F", typ: "#4A1070"},
		diff: diffPalette{added: "#DBF2E0", removed: "#FCE4E6", addedWord: "#AAE1B6", removedWord: "#F8BDC2"},
	},
	{
		name: "catppuccin-mocha", dark: true, background: "#1E1E2E",
		text: "#CDD6F4", dim: "#A6ADC8", faint: "#7F849C", accent: "#CBA6F7", good: "#A6E3A1", warn: "#FAB387", bad: "#F38BA8",
		band: "#313244",
		code: codePalette{comment: "#969CB4", keyword: "#CBA6F7", str: "#A6E3A1", number: "#FAB387", function: "#89B4FA", typ: "#F9E2AF"},
		diff: diffPalette{added: "#173B2E", removed: "#4C1F2F", addedWord: "#10582F", removedWord: "#771F2F"},
	},
	{
		name: "catppuccin-latte", background: "#EFF1F5",
		text: "#4C4F69", dim: "#5E6174", faint: "#86899B", accent: "#7E35DE", good: "#116C71", warn: "#8A5812", bad: "#C30E35",
		band: "#DCE0E8",
		code: codePalette{comment: "#5E6170", keyword: "#7D34DC", str: "#2C6E1E", number: "#A54107", function: "#1A59D5", typ: "#885712"},
		diff: diffPalette{added: "#CEE7D8", removed: "#EED8DD", addedWord: "#A0D8B0", removedWord: "#EDB5BD"},
	},
	{
		name: "dracula", dark: true, background: "#282A36",
		text: "#F8F8F2", dim: "#BFC1D4", faint: "#6272A4", accent: "#BD93F9", good: "#50FA7B", warn: "#FFB86C", bad: "#FF8383",
		band: "#343746",
		code: codePalette{comment: "#9CA7CB", keyword: "#FF79C6", str: "#F1FA8C", number: "#BE94F9", function: "#50FA7B", typ: "#8BE9FD"},
		diff: diffPalette{added: "#1F4435", removed: "#542734", addedWord: "#166033", removedWord: "#7C2533"},
	},
	{
		name: "gruvbox-dark", dark: true, background: "#282828",
		text: "#EBDBB2", dim: "#BDAE93", faint: "#928374", accent: "#FABD2F", good: "#B8BB26", warn: "#FE8019", bad: "#FC8071",
		band: "#32302F",
		code: codePalette{comment: "#B1A390", keyword: "#FC8071", str: "#B8BB26", number: "#D791A4", function: "#8EC07C", typ: "#FABD2F"},
		diff: diffPalette{added: "#1F422A", removed: "#54262A", addedWord: "#165F2C", removedWord: "#7C242C"},
	},
	{
		name: "gruvbox-light", background: "#FBF1C7",
		text: "#3C3836", dim: "#665C54", faint: "#7C6F64", accent: "#8D5C10", good: "#3A6C4D", warn: "#AF3A03", bad: "#9D0006",
		band: "#F2E5BC",
		code: codePalette{comment: "#6B5F56", keyword: "#9D0006", str: "#68640C", number: "#8F3F71", function: "#3A6C4D", typ: "#86570F"},
		diff: diffPalette{added: "#D8E7B1", removed: "#F9D8B5", addedWord: "#A8D894", removedWord: "#F5B39C"},
	},
	{
		name: "nord", dark: true, background: "#2E3440",
		text: "#E5E9F0", dim: "#B6C0D2", faint: "#7B88A1", accent: "#88C0D0", good: "#A3BE8C", warn: "#EBCB8B", bad: "#DAA3A9",
		band: "#3B4252",
		code: codePalette{comment: "#A9B2C4", keyword: "#9AB4CD", str: "#A3BE8C", number: "#C6A9C1", function: "#88C0D0", typ: "#8FBCBB"},
		diff: diffPalette{added: "#244C3C", removed: "#582F3C", addedWord: "#196639", removedWord: "#7F2A38"},
	},
	{
		name: "rose-pine", dark: true, background: "#191724",
		text: "#E0DEF4", dim: "#9793AF", faint: "#6E6A86", accent: "#C4A7E7", good: "#9CCFD8", warn: "#F6C177", bad: "#EB6F92",
		band: "#26233A",
		code: codePalette{comment: "#9793AF", keyword: "#599FBB", str: "#F6C177", number: "#EA9A97", function: "#EBBCBA", typ: "#9CCFD8"},
		diff: diffPalette{added: "#143527", removed: "#491927", addedWord: "#0E5229", removedWord: "#741C2A"},
	},
	{
		name: "solarized-dark", dark: true, background: "#002B36",
		text: "#93A1A1", dim: "#8E9E9F", faint: "#657B83", accent: "#4B9FDA", good: "#91A319", warn: "#BC9417", bad: "#E87A78",
		band: "#073642",
		code: codePalette{comment: "#8E9E9F", keyword: "#91A319", str: "#3FAAA2", number: "#E278AB", function: "#4FA1DB", typ: "#BC9519"},
		diff: diffPalette{added: "#003A35", removed: "#302935", addedWord: "#004735", removedWord: "#572633"},
	},
	{
		name: "solarized-light", background: "#FDF6E3",
		text: "#53676E", dim: "#55676E", faint: "#809193", accent: "#1E6CA4", good: "#1D6F69", warn: "#846400", bad: "#BD2B28",
		band: "#EEE8D5",
		code: codePalette{comment: "#5A6667", keyword: "#5D6B00", str: "#1D6F69", number: "#B52E70", function: "#1C689D", typ: "#7F6000"},
		diff: diffPalette{added: "#E2EECF", removed: "#FADCCE", addedWord: "#C8E5BC", removedWord: "#F8C6BC"},
	},
	{
		name: "tokyo-night", dark: true, background: "#1A1B26",
		text: "#C0CAF5", dim: "#A9B1D6", faint: "#5D658E", accent: "#7AA2F7", good: "#9ECE6A", warn: "#E0AF68", bad: "#F7768E",
		band: "#24283B",
		code: codePalette{comment: "#9198B8", keyword: "#BB9AF7", str: "#9ECE6A", number: "#FF9E64", function: "#7AA2F7", typ: "#2AC3DE"},
		diff: diffPalette{added: "#143828", removed: "#491C29", addedWord: "#0F562A", removedWord: "#751E2B"},
	},
}

func (p palette) theme() *Theme {
	fg := func(hex string) lipgloss.Style { return lipgloss.NewStyle().Foreground(lipgloss.Color(hex)) }
	bg := func(hex string) lipgloss.Style { return lipgloss.NewStyle().Background(lipgloss.Color(hex)) }
	return &Theme{
		Name: p.name, Dark: p.dark,
		Text: fg(p.text), Dim: fg(p.dim), Faint: fg(p.faint), Accent: fg(p.accent), Strong: fg(p.text).Bold(true),
		Code: fg(p.accent), Good: fg(p.good), Warn: fg(p.warn), Bad: fg(p.bad), Band: bg(p.band),
		Syntax: Syntax{Comment: fg(p.code.comment), Keyword: fg(p.code.keyword), String: fg(p.code.str), Number: fg(p.code.number), Function: fg(p.code.function), Type: fg(p.code.typ)},
		Diff:   Diff{Added: bg(p.diff.added), Removed: bg(p.diff.removed), AddedWord: bg(p.diff.addedWord), RemovedWord: bg(p.diff.removedWord)},
	}
}

// paletteTheme returns the theme of a palette.
func paletteTheme(name string) *Theme {
	for _, p := range palettes {
		if p.name == name {
			return p.theme()
		}
	}
	return nil
}
