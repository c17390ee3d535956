package common

import (
	"charm.land/lipgloss/v2"

	"parley/ui/theme"
)

// A Label is text that is in every frame and seldom another: it is rendered again when the text or
// the theme changes. A key costs a tenth less where its frame renders no style. The zero value is ready.
type Label struct {
	theme          *theme.Theme
	text, rendered string
}

// Render returns text in a style of t, which is the same at each call.
func (l *Label) Render(t *theme.Theme, style *lipgloss.Style, text string) string {
	if l.theme != t || l.text != text {
		l.theme, l.text, l.rendered = t, text, style.Render(text)
	}
	return l.rendered
}
