package transcript

import (
	"strings"
	"sync"

	"charm.land/lipgloss/v2"

	"parley/ui/textwrap"
	"parley/ui/theme"
	"parley/ui/tui/diffview"
)

// A role is one of the styles of a theme.
type role int

const (
	roleText role = iota
	roleDim
	roleFaint
	roleAccent
	roleAccentDim
	roleVoice
	roleVoiceDim
	roleStrong
	roleGood
	roleWarn
	roleBad
	numRoles
)

// A styler applies the styles of one theme. It makes the sequences of each style once,
// because rendering with lipgloss takes a microsecond a line.
type styler struct {
	text [numRoles]theme.SGR
	diff func() *diffview.Styles // made for the first diff
	band theme.SGR               // background of the user's messages; no sequences for none
}

func newStyler(th *theme.Theme) *styler {
	k := styler{band: theme.NewSGR(th.Band), diff: sync.OnceValue(func() *diffview.Styles { return diffview.NewStyles(th) })}
	for t, style := range styles(th) {
		k.text[t] = theme.NewSGR(style)
	}
	return &k
}

// styles returns the styles of a theme by role.
func styles(th *theme.Theme) [numRoles]lipgloss.Style {
	return [...]lipgloss.Style{
		roleText: th.Text, roleDim: th.Dim, roleFaint: th.Faint, roleAccent: th.Accent,
		roleAccentDim: th.AccentDim, roleVoice: th.Voice, roleVoiceDim: th.VoiceDim,
		roleStrong: th.Strong, roleGood: th.Good, roleWarn: th.Warn, roleBad: th.Bad,
	}
}

// apply returns s, one line without styles, in the style of a role.
func (k *styler) apply(t role, s string) string { return k.text[t].Apply(s) }

// onBand gives lines, which may have styles, the background of the user's messages, width cells
// wide. It changes lines in place.
func (k *styler) onBand(lines []string, width int) []string {
	if k.band.On == "" {
		return lines
	}
	for i, line := range lines {
		room := strings.Repeat(" ", max(width-textwrap.Width(line), 0))
		lines[i] = k.band.Under(line + room)
	}
	return lines
}

// applyAll applies a role to each line, in place.
func (k *styler) applyAll(t role, lines []string) []string {
	for i, line := range lines {
		lines[i] = k.apply(t, line)
	}
	return lines
}
