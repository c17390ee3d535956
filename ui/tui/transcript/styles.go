package transcript

import (
	"math"
	"strings"
	"sync"

	"charm.land/lipgloss/v2"

	"parley/ui/markdown"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// A role is one of the styles of a theme.
type role int

const (
	roleText role = iota
	roleDim
	roleFaint
	roleAccent
	roleStrong
	roleGood
	roleWarn
	roleBad
	roleComment // this and the following: of code
	roleKeyword
	roleString
	roleNumber
	roleFunction
	roleType
	numRoles
)

// A diffSide is the side of a diff that a line belongs to.
type diffSide int

const (
	sideBoth diffSide = iota
	sideAdded
	sideRemoved
	numSides
)

// A styler applies the styles of one theme. It makes the sequences of each style once,
// because rendering with lipgloss takes a microsecond a line.
type styler struct {
	text          [numRoles]theme.SGR
	code          func() *codeStyles // made for the first line of code
	hasBackground [numSides]bool     // lines of the side have a background
	band          theme.SGR          // background of the user's messages; no sequences for none
}

// codeStyles holds the styles of code on each side of a diff.
type codeStyles [numSides][numRoles]struct{ normal, emphasized theme.SGR }

func newStyler(th *theme.Theme) *styler {
	k := styler{band: theme.NewSGR(th.Band), code: sync.OnceValue(func() *codeStyles { return newCodeStyles(th) })}
	for t, style := range styles(th) {
		k.text[t] = theme.NewSGR(style)
	}
	for s, behind := range backgrounds(th) {
		k.hasBackground[s] = behind.GetBackground() != (lipgloss.NoColor{})
	}
	return &k
}

// backgrounds returns the background of each side.
func backgrounds(th *theme.Theme) [numSides]lipgloss.Style {
	if th.Diff.Gutter {
		return [numSides]lipgloss.Style{}
	}
	return [numSides]lipgloss.Style{sideAdded: th.Diff.Added, sideRemoved: th.Diff.Removed}
}

func newCodeStyles(th *theme.Theme) *codeStyles {
	var code codeStyles
	changed := [numSides]lipgloss.Style{sideAdded: th.Diff.AddedWord, sideRemoved: th.Diff.RemovedWord}
	for t, style := range styles(th) {
		for s, behind := range backgrounds(th) {
			on, loud := style, style.Bold(true).Underline(true)
			if color := behind.GetBackground(); color != (lipgloss.NoColor{}) {
				on, loud = style.Background(color), loud.Background(color)
			}
			if color := changed[s].GetBackground(); color != (lipgloss.NoColor{}) {
				loud = style.Bold(true).Background(color)
			}
			code[s][t].normal = theme.NewSGR(on)
			code[s][t].emphasized = theme.NewSGR(loud)
		}
	}
	return &code
}

// styles returns the styles of a theme by role.
func styles(th *theme.Theme) [numRoles]lipgloss.Style {
	return [...]lipgloss.Style{
		roleText: th.Text, roleDim: th.Dim, roleFaint: th.Faint, roleAccent: th.Accent,
		roleStrong: th.Strong, roleGood: th.Good, roleWarn: th.Warn, roleBad: th.Bad,
		roleComment: th.Syntax.Comment, roleKeyword: th.Syntax.Keyword, roleString: th.Syntax.String,
		roleNumber: th.Syntax.Number, roleFunction: th.Syntax.Function, roleType: th.Syntax.Type,
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

// A codePiece is a part of a line of code with one style.
type codePiece struct {
	text       string
	role       role
	emphasized bool // the text differs from the counterpart of the line
}

// classRoles maps classes of code to roles on a side with a background. Text without a
// class has the role of the side.
var classRoles = [...]role{markdown.Comment: roleComment, markdown.Keyword: roleKeyword, markdown.String: roleString, markdown.Number: roleNumber, markdown.Function: roleFunction, markdown.Type: roleType}

// Roles of each side: of its sign, and of text without a class.
var (
	signRoles = [numSides]role{sideBoth: roleDim, sideAdded: roleGood, sideRemoved: roleBad}
	bodyRoles = [numSides]role{sideBoth: roleDim, sideAdded: roleText, sideRemoved: roleText}
)

// pieces returns the tokens of a line on a side as pieces. If the sides have no
// backgrounds, the whole line has the color of its sign.
func (k *styler) pieces(s diffSide, tokens []markdown.Token) []codePiece {
	if !k.hasBackground[sideAdded] || !k.hasBackground[sideRemoved] {
		var all strings.Builder
		for _, token := range tokens {
			all.WriteString(token.Text)
		}
		return []codePiece{{text: all.String(), role: signRoles[s]}}
	}
	pieces := make([]codePiece, 0, len(tokens))
	for _, token := range tokens {
		t := bodyRoles[s]
		if token.Class != markdown.Other {
			t = classRoles[token.Class]
		}
		pieces = append(pieces, codePiece{text: token.Text, role: t})
	}
	return pieces
}

// codeLine renders pieces on a side, with as few sequences as possible.
func (k *styler) codeLine(s diffSide, pieces ...codePiece) string {
	var b strings.Builder
	b.Grow(256)
	styles := &k.code()[s]
	var now theme.SGR
	for _, p := range pieces {
		if p.text == "" {
			continue
		}
		style := styles[p.role].normal
		if p.emphasized {
			style = styles[p.role].emphasized
		}
		if style != now {
			b.WriteString(now.Off)
			b.WriteString(style.On)
			now = style
		}
		b.WriteString(p.text)
	}
	b.WriteString(now.Off)
	return b.String()
}

// slicePieces appends to some the pieces between bytes from and to.
func slicePieces(some, pieces []codePiece, from, to int) []codePiece {
	at := 0
	for _, p := range pieces {
		low, high := max(from-at, 0), min(to-at, len(p.text))
		if at += len(p.text); low < high {
			p.text = p.text[low:high]
			some = append(some, p)
		}
	}
	return some
}

// emphasize returns the pieces with the ranges loud emphasized. The ranges must be in ascending order.
func emphasize(pieces []codePiece, loud []byteRange) []codePiece {
	all := make([]codePiece, 0, len(pieces)+2*len(loud))
	at := 0
	for _, r := range loud {
		all = slicePieces(all, pieces, at, r.from)
		quiet := len(all)
		all = slicePieces(all, pieces, r.from, r.to)
		for i := range all[quiet:] {
			all[quiet+i].emphasized = true
		}
		at = r.to
	}
	return slicePieces(all, pieces, at, math.MaxInt)
}
