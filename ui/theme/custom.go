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

// roles lists the possible keys of Colors.
var roles = []struct {
	name  string
	style func(*Theme) *lipgloss.Style
}{
	{"text", func(t *Theme) *lipgloss.Style { return &t.Text }},
	{"dim", func(t *Theme) *lipgloss.Style { return &t.Dim }},
	{"faint", func(t *Theme) *lipgloss.Style { return &t.Faint }},
	{"accent", func(t *Theme) *lipgloss.Style { return &t.Accent }},
	{"strong", func(t *Theme) *lipgloss.Style { return &t.Strong }},
	{"code", func(t *Theme) *lipgloss.Style { return &t.Code }},
	{"good", func(t *Theme) *lipgloss.Style { return &t.Good }},
	{"warn", func(t *Theme) *lipgloss.Style { return &t.Warn }},
	{"bad", func(t *Theme) *lipgloss.Style { return &t.Bad }},
	{"band", func(t *Theme) *lipgloss.Style { return &t.Band }},
	{"comment", func(t *Theme) *lipgloss.Style { return &t.Syntax.Comment }},
	{"keyword", func(t *Theme) *lipgloss.Style { return &t.Syntax.Keyword }},
	{"string", func(t *Theme) *lipgloss.Style { return &t.Syntax.String }},
	{"number", func(t *Theme) *lipgloss.Style { return &t.Syntax.Number }},
	{"function", func(t *Theme) *lipgloss.Style { return &t.Syntax.Function }},
	{"type", func(t *Theme) *lipgloss.Style { return &t.Syntax.Type }},
	{"added", func(t *Theme) *lipgloss.Style { return &t.Diff.Added }},
	{"removed", func(t *Theme) *lipgloss.Style { return &t.Diff.Removed }},
	{"added-word", func(t *Theme) *lipgloss.Style { return &t.Diff.AddedWord }},
	{"removed-word", func(t *Theme) *lipgloss.Style { return &t.Diff.RemovedWord }},
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
		if !ok {
			continue
		}
		style, err := parse(value)
		if err != nil {
			return nil, fmt.Errorf("colors.%s = %q: %w", r.name, value, err)
		}
		*r.style(th) = style
	}
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
