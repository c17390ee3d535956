package transcript

import (
	"strings"

	"charm.land/lipgloss/v2"

	"parley/ui/theme"
)

// A tone is one of the styles of a theme.
type tone int

const (
	text tone = iota
	dim
	faint
	accent
	strong
	good
	warn
	bad
	tones
)

// An ink writes in the tones of one theme. Rendering through lipgloss costs a
// microsecond a line, so that each style is taken apart once.
type ink [tones]struct{ open, close string }

func newInk(th *theme.Theme) *ink {
	var k ink
	for t, style := range [tones]lipgloss.Style{
		text: th.Text, dim: th.Dim, faint: th.Faint, accent: th.Accent,
		strong: th.Strong, good: th.Good, warn: th.Warn, bad: th.Bad,
	} {
		k[t].open, k[t].close, _ = strings.Cut(style.Render("x"), "x")
	}
	return &k
}

// write gives s, which is one line without styles, in a tone.
func (k *ink) write(t tone, s string) string {
	if s == "" || k[t].open == "" {
		return s
	}
	return k[t].open + s + k[t].close
}

// all writes each of the lines, in place.
func (k *ink) all(t tone, lines []string) []string {
	for i, line := range lines {
		lines[i] = k.write(t, line)
	}
	return lines
}
