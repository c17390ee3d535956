package diffview

import (
	"math"
	"strings"

	"charm.land/lipgloss/v2"

	"parley/ui/markdown"
	"parley/ui/theme"
)

// A diffSide is the side of a diff that a line belongs to.
type diffSide int

const (
	sideBoth diffSide = iota
	sideAdded
	sideRemoved
	numSides
)

// A look is the style of a part of a line: a class of code, or one of these.
type look markdown.Class

const (
	number = look(markdown.Type) + 1 + iota // line numbers, and lines about the diff itself
	mark                                    // signs
	numLooks
)

// Styles holds the escape sequences of a theme for diffs.
type Styles struct {
	looks [numSides][numLooks]struct{ normal, emphasized theme.SGR }
	fills [numSides]bool // lines of the side have a background
	rule  string         // between old and new side by side
}

// NewStyles returns the styles of th. With a background, a line has the colors of its language;
// without one, that of its side. Changed words have the background of words, or are bold and
// underlined.
func NewStyles(th *theme.Theme) *Styles {
	c := th.Syntax
	inks := [numLooks]lipgloss.Style{th.Text, c.Comment, c.Keyword, c.String, c.Number, c.Function, c.Type, number: th.Faint, mark: th.Dim}
	sides := [numSides]struct{ ink, line, word lipgloss.Style }{
		sideAdded: {th.Good, th.Diff.Added, th.Diff.AddedWord}, sideRemoved: {th.Bad, th.Diff.Removed, th.Diff.RemovedWord},
	}
	s := &Styles{rule: th.Faint.Render("│")}
	none := lipgloss.NoColor{}
	for i, side := range sides {
		tint, word := side.line.GetBackground(), side.word.GetBackground()
		s.fills[i] = tint != none && !th.Diff.Gutter
		for l, ink := range inks {
			isCode := look(l) < number
			switch {
			case diffSide(i) == sideBoth:
			case look(l) == mark:
				ink = side.ink.Bold(true)
			case isCode && th.Plain:
				ink = th.Text
			case isCode && !s.fills[i]:
				ink = side.ink
			}
			if s.fills[i] {
				ink = ink.Background(tint)
			} else if tint != none && !isCode {
				ink = side.line.Bold(look(l) == mark)
			}
			loud := ink.Bold(true).Underline(true)
			if word != none {
				loud = th.Text.Background(word)
			}
			s.looks[i][l].normal, s.looks[i][l].emphasized = theme.NewSGR(ink), theme.NewSGR(loud)
		}
	}
	return s
}

// A codePiece is a part of a line with one style.
type codePiece struct {
	text       string
	look       look
	emphasized bool // the text differs from the counterpart of the line
}

// pieces returns the tokens of a line as pieces.
func pieces(tokens []markdown.Token) []codePiece {
	pieces := make([]codePiece, 0, len(tokens))
	for _, token := range tokens {
		pieces = append(pieces, codePiece{text: token.Text, look: look(token.Class)})
	}
	return pieces
}

// line renders pieces on a side, with as few sequences as possible.
func (k *Styles) line(s diffSide, pieces ...codePiece) string {
	var b strings.Builder
	b.Grow(256)
	var now theme.SGR
	for _, p := range pieces {
		if p.text == "" {
			continue
		}
		style := k.looks[s][p.look].normal
		if p.emphasized {
			style = k.looks[s][p.look].emphasized
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
