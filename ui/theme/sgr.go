package theme

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// An SGR holds the sequences that begin and end a style. Applying it to many pieces
// of text is far cheaper than the style's Render, which takes a microsecond each.
// It also surrounds a text as a whole: lipgloss underlines rune by rune, which
// breaks up emoji of several runes. Both are "" for a style without effect.
type SGR struct{ On, Off string }

// NewSGR returns the sequences of style.
func NewSGR(style lipgloss.Style) SGR {
	on, off, _ := strings.Cut(style.Render("x"), "x")
	return SGR{on, off}
}

// Apply returns text, which is one line without styles, in the style; "" stays "".
func (s SGR) Apply(text string) string {
	if text == "" || s.On == "" {
		return text
	}
	return s.On + text + s.Off
}

// Under returns line, which may contain styles, with the background of s.
func (s SGR) Under(line string) string {
	if s.On == "" {
		return line
	}
	return s.Apply(strings.ReplaceAll(line, s.Off, s.Off+s.On))
}
