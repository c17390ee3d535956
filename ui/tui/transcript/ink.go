package transcript

import (
	"math"
	"strings"

	"charm.land/lipgloss/v2"

	"parley/ui/markdown"
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

// A side is the part of a diff that a line is of.
type side int

const (
	both side = iota
	added
	removed
	sides
)

// An ink writes in the tones of one theme. Rendering through lipgloss costs a
// microsecond a line, so that each style is taken apart once.
type ink struct {
	plain  [tones]stroke
	code   [sides][tones]struct{ quiet, loud stroke }
	tinted [sides]bool // lines of that side lie on a background
}

// A stroke begins and ends a style.
type stroke struct{ open, close string }

func newInk(th *theme.Theme) *ink {
	var k ink
	backgrounds := [sides]lipgloss.Style{added: th.Added, removed: th.Removed}
	for t, style := range styles(th) {
		k.plain[t] = strokeOf(style)
		for s, behind := range backgrounds {
			on := style
			if color := behind.GetBackground(); color != (lipgloss.NoColor{}) {
				on, k.tinted[s] = style.Background(color), true
			}
			k.code[s][t].quiet = strokeOf(on)
			k.code[s][t].loud = strokeOf(on.Bold(true).Underline(true))
		}
	}
	return &k
}

// styles returns what a theme has for the tones.
func styles(th *theme.Theme) [tones]lipgloss.Style {
	return [...]lipgloss.Style{
		text: th.Text, dim: th.Dim, faint: th.Faint, accent: th.Accent,
		strong: th.Strong, good: th.Good, warn: th.Warn, bad: th.Bad,
	}
}

func strokeOf(style lipgloss.Style) (s stroke) {
	s.open, s.close, _ = strings.Cut(style.Render("x"), "x")
	return s
}

// write returns s, which is one line without styles, in a tone.
func (k *ink) write(t tone, s string) string {
	if s == "" || k.plain[t].open == "" {
		return s
	}
	return k.plain[t].open + s + k.plain[t].close
}

// all writes each of the lines, in place.
func (k *ink) all(t tone, lines []string) []string {
	for i, line := range lines {
		lines[i] = k.write(t, line)
	}
	return lines
}

// A piece is a part of a line of code that looks the same all along.
type piece struct {
	text string
	tone tone
	loud bool // changed, among others that are not
}

// tints lists the tones that classes of code have on a side with a background.
// What has no class has the tone of the side.
var tints = [...]tone{markdown.Comment: dim, markdown.Keyword: accent, markdown.String: good, markdown.Number: warn}

// Tones of a side: of its sign, and of text without a class.
var (
	signTone = [sides]tone{both: dim, added: good, removed: bad}
	bodyTone = [sides]tone{both: dim, added: text, removed: text}
)

// pieces returns the tokens of a line on a side. Without a background to tell the
// sides apart, all of a line has the color of its sign.
func (k *ink) pieces(s side, tokens []markdown.Token) []piece {
	if !k.tinted[added] || !k.tinted[removed] {
		var all strings.Builder
		for _, token := range tokens {
			all.WriteString(token.Text)
		}
		return []piece{{text: all.String(), tone: signTone[s]}}
	}
	pieces := make([]piece, 0, len(tokens))
	for _, token := range tokens {
		t := bodyTone[s]
		if token.Class != markdown.Other {
			t = tints[token.Class]
		}
		pieces = append(pieces, piece{text: token.Text, tone: t})
	}
	return pieces
}

// line writes pieces on a side, with as few sequences as they need.
func (k *ink) line(s side, pieces ...piece) string {
	var b strings.Builder
	b.Grow(256)
	var now stroke
	for _, p := range pieces {
		if p.text == "" {
			continue
		}
		look := k.code[s][p.tone].quiet
		if p.loud {
			look = k.code[s][p.tone].loud
		}
		if look != now {
			b.WriteString(now.close)
			b.WriteString(look.open)
			now = look
		}
		b.WriteString(p.text)
	}
	b.WriteString(now.close)
	return b.String()
}

// cut appends to some the pieces of the bytes from one place to another.
func cut(some, pieces []piece, from, to int) []piece {
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

// emphasise returns the pieces with some of their bytes loud, which are in
// ascending order.
func emphasise(pieces []piece, loud []reach) []piece {
	all := make([]piece, 0, len(pieces)+2*len(loud))
	at := 0
	for _, r := range loud {
		all = cut(all, pieces, at, r.from)
		quiet := len(all)
		all = cut(all, pieces, r.from, r.to)
		for i := range all[quiet:] {
			all[quiet+i].loud = true
		}
		at = r.to
	}
	return cut(all, pieces, at, math.MaxInt)
}
