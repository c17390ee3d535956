package markdown

import (
	"charm.land/lipgloss/v2"

	"parley/ui/theme"
)

// A textStyle is a role of the theme with attributes.
type textStyle struct {
	role role
	attr attr
}

type role uint8

const (
	plainText role = iota
	dim
	faint
	voice
	voiceDim
	strong
	good
	warn
	bad
	comment // this and the following: of code
	keyword
	str
	number
	function
	typeName
	roles
)

type attr uint8

const (
	bold attr = 1 << iota
	italic
	underline
	strike
	attrs
)

// styleCache holds the escape sequences of the styles used so far with a theme.
type styleCache struct {
	theme     *theme.Theme
	marksCode bool // draw a bar beside code
	folds     bool // treat a newline inside a paragraph as a space

	tableWidth int // maximum width of tables, in cells, if wider than the text
	sgrs       [roles][attrs]*theme.SGR

	line []byte // buffers of wrappers, used by one at a time
	word []styledRun
}

func newStyleCache(th *theme.Theme) *styleCache { return &styleCache{theme: th} }

// sgr returns the sequences of p, always the same pointer.
func (ps *styleCache) sgr(p textStyle) *theme.SGR {
	at := &ps.sgrs[p.role][p.attr]
	if *at == nil {
		sgr := theme.NewSGR(ps.style(p))
		*at = &sgr
	}
	return *at
}

// shows reports whether text with style p looks different from normal text.
func (ps *styleCache) shows(p textStyle) bool { return ps.sgr(p).On != ps.sgr(textStyle{}).On }

// softBreak returns the text for a newline inside a paragraph.
func (ps *styleCache) softBreak() string {
	if ps.folds {
		return " "
	}
	return "\n"
}

func (ps *styleCache) style(p textStyle) lipgloss.Style {
	th := ps.theme
	if th.Bare {
		return th.Text
	}
	s := [roles]lipgloss.Style{th.Text, th.Dim, th.Faint, th.Voice, th.VoiceDim, th.Strong, th.Good, th.Warn, th.Bad,
		th.Syntax.Comment, th.Syntax.Keyword, th.Syntax.String, th.Syntax.Number, th.Syntax.Function, th.Syntax.Type}[p.role]
	if p.attr&bold != 0 {
		s = s.Bold(true)
	}
	if p.attr&italic != 0 {
		s = s.Italic(true)
	}
	if p.attr&underline != 0 {
		s = s.Underline(true)
	}
	if p.attr&strike != 0 {
		s = s.Strikethrough(true)
	}
	return s
}

// Bars at the left edge of code and of quotes.
const (
	codeBar  = "▏"
	quoteBar = "▎"
)

// codeIndentCells is the indentation of code.
const codeIndentCells = 2

// codeIndent returns the indentation of a line of code.
func (ps *styleCache) codeIndent() string {
	if ps.marksCode {
		return ps.apply(textStyle{role: faint}, codeBar) + " "
	}
	return "  "
}

// apply returns s, which must be one line, with the style p.
func (ps *styleCache) apply(p textStyle, s string) string { return ps.sgr(p).Apply(s) }
