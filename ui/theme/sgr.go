package theme

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// An SGR holds the sequences that begin and end a style. Applied to many pieces
// of text it is far cheaper than the style, whose Render takes a microsecond each,
// and it stands around a text as a whole: lipgloss underlines rune by rune, which
// tears emoji of several runes apart. Both are "" for a style that changes nothing.
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
