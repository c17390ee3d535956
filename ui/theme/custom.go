package theme

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
)

// A Custom is a user-defined theme: a built-in theme with other styles for some roles.
//
//	[ui.themes.mine]
//	base = "dark"
//	colors = { accent = "#5fafff bold", faint = "244", added = "on #102010" }
type Custom struct {
	Name string `toml:"-"`    // name of the theme
	Base string `toml:"base"` // one of Names; "" means "dark"

	// Colors maps roles to styles that replace the base's. A style consists of
	// words: a color for the text, "on" and a color for its background, and
	// attributes. A color is "#rrggbb", "#rgb" or a number of the terminal's
	// palette from 0 to 255. Attributes are bold, faint, italic, underline,
	// reverse and strike. "default" is the terminal's default style.
	Colors map[string]string `toml:"colors"`
}

// roles lists the possible keys of Colors, with the contrast that each needs, if any. "code" is
// an earlier name.
var roles = []struct {
	name     string
	style    func(*Theme) *lipgloss.Style
	contrast float64
}{
	{"text", func(t *Theme) *lipgloss.Style { return &t.Text }, 4.5},
	{"dim", func(t *Theme) *lipgloss.Style { return &t.Dim }, 4.5},
	{"faint", func(t *Theme) *lipgloss.Style { return &t.Faint }, 3},
	{"accent", func(t *Theme) *lipgloss.Style { return &t.Accent }, 4.5},
	{"accent-dim", func(t *Theme) *lipgloss.Style { return &t.AccentDim }, 3},
	{"code", func(t *Theme) *lipgloss.Style { return &t.Voice }, 4.5},
	{"voice", func(t *Theme) *lipgloss.Style { return &t.Voice }, 4.5},
	{"voice-dim", func(t *Theme) *lipgloss.Style { return &t.VoiceDim }, 3},
	{"strong", func(t *Theme) *lipgloss.Style { return &t.Strong }, 4.5},
	{"good", func(t *Theme) *lipgloss.Style { return &t.Good }, 4.5},
	{"warn", func(t *Theme) *lipgloss.Style { return &t.Warn }, 4.5},
	{"bad", func(t *Theme) *lipgloss.Style { return &t.Bad }, 4.5},
	{"band", func(t *Theme) *lipgloss.Style { return &t.Band }, 0},
	{"composer", func(t *Theme) *lipgloss.Style { return &t.Composer }, 0},
	{"selected", func(t *Theme) *lipgloss.Style { return &t.Selected }, 0},
	{"comment", func(t *Theme) *lipgloss.Style { return &t.Syntax.Comment }, 4.5},
	{"keyword", func(t *Theme) *lipgloss.Style { return &t.Syntax.Keyword }, 4.5},
	{"string", func(t *Theme) *lipgloss.Style { return &t.Syntax.String }, 4.5},
	{"number", func(t *Theme) *lipgloss.Style { return &t.Syntax.Number }, 4.5},
	{"function", func(t *Theme) *lipgloss.Style { return &t.Syntax.Function }, 4.5},
	{"type", func(t *Theme) *lipgloss.Style { return &t.Syntax.Type }, 4.5},
	{"added", func(t *Theme) *lipgloss.Style { return &t.Diff.Added }, 0},
	{"removed", func(t *Theme) *lipgloss.Style { return &t.Diff.Removed }, 0},
	{"added-word", func(t *Theme) *lipgloss.Style { return &t.Diff.AddedWord }, 0},
	{"removed-word", func(t *Theme) *lipgloss.Style { return &t.Diff.RemovedWord }, 0},
}

// Roles returns the possible keys of Custom.Colors.
func Roles() []string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = r.name
	}
	return names
}

// setAttribute returns s with the attribute named word, and reports whether word is an attribute.
func setAttribute(s lipgloss.Style, word string) (lipgloss.Style, bool) {
	switch word {
	case "bold":
		return s.Bold(true), true
	case "faint":
		return s.Faint(true), true
	case "italic":
		return s.Italic(true), true
	case "underline":
		return s.Underline(true), true
	case "reverse":
		return s.Reverse(true), true
	case "strike":
		return s.Strikethrough(true), true
	case "default":
		return s, true
	}
	return s, false
}

// Validate returns an error about the first mistake, with the valid values.
func (c Custom) Validate() error {
	_, err := FromCustom(c)
	return err
}

// FromCustom returns the theme described by c.
func FromCustom(c Custom) (*Theme, error) {
	base := c.Base
	if base == "" {
		base = "dark"
	}
	th, ok := ByName(base)
	if !ok {
		return nil, fmt.Errorf("base = %q: use one of %s", base, strings.Join(Names(), ", "))
	}
	for name := range c.Colors {
		if !slices.Contains(Roles(), name) {
			return nil, fmt.Errorf("colors: unknown role %q: use one of %s", name, strings.Join(Roles(), ", "))
		}
	}
	for _, r := range roles {
		value, ok := c.Colors[r.name]
		if r.name == "voice" && !ok && c.Colors["code"] == "" {
			value, ok = c.Colors["function"]
		}
		if !ok {
			continue
		}
		style, err := parse(value)
		if err != nil {
			return nil, fmt.Errorf("colors.%s = %q: %w", r.name, value, err)
		}
		*r.style(th) = style
		switch r.name {
		case "accent": // roles that follow from it, unless they are set too
			th.AccentDim = th.quieter(style)
			th.mixBands(false)
		case "code", "voice":
			th.VoiceDim = th.quieter(style)
		}
	}
	th.background = nil // the colors are the user's, whatever their contrast
	if th.Name = c.Name; th.Name == "" {
		th.Name = "custom"
	}
	th.Plain = th.Plain && len(c.Colors) == 0
	return th, nil
}

// parse parses a style in the syntax of Custom.Colors.
func parse(value string) (lipgloss.Style, error) {
	style := lipgloss.NewStyle()
	words := strings.Fields(value)
	if len(words) == 0 {
		return style, fmt.Errorf(`it is empty; "default" uses the terminal's color`)
	}
	behind := false
	for i, word := range words {
		if with, ok := setAttribute(style, word); ok && !behind {
			style = with
			continue
		}
		if word == "on" && !behind && i < len(words)-1 {
			behind = true
			continue
		}
		if !isColor(word) {
			return style, fmt.Errorf("%q is neither a color (#rrggbb, #rgb, 0 to 255) nor bold, faint, italic, underline, reverse, strike, default, or on with a color", word)
		}
		if behind {
			style, behind = style.Background(lipgloss.Color(word)), false
			continue
		}
		style = style.Foreground(lipgloss.Color(word))
	}
	return style, nil
}

func isColor(s string) bool {
	if hex, ok := strings.CutPrefix(s, "#"); ok {
		_, err := strconv.ParseUint(hex, 16, 32)
		return err == nil && (len(hex) == 3 || len(hex) == 6)
	}
	_, err := strconv.ParseUint(s, 10, 8)
	return err == nil
}
