package renderer

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// A cell is one column of a row. Cells with the same look are equal.
type cell struct {
	text  uint32 // a rune; above unicode.MaxRune, the number of a cluster
	style uint16 // number of a style
	kind  kind
}

type kind uint8

const (
	wide      kind = 1 << iota // a tail follows
	tail                       // second column of a wide cell
	uncertain                  // the terminal may draw it with another width
)

// blank is an empty cell.
var blank = cell{text: ' '}

// A style is the look of text.
type style struct {
	uv.Style
	uv.Link
}

// styleTable numbers styles and clusters, because numbers are cheap to compare. Style 0 is the
// terminal's default. Each sequence is parsed and built only once.
type styleTable struct {
	profile  colorprofile.Profile
	all      []style
	bare     []uint16 // by style: the style with the same look on a space
	numbers  map[style]uint16
	steps    map[step]uint16
	turns    map[turn]string
	clusters []string
	texts    map[string]uint32
}

// A step is a sequence after a style.
type step struct {
	from uint16
	seq  string
}

// A turn is a change of the style.
type turn struct{ from, to uint16 }

// maxCached is the maximum number of cached entries of a kind; beyond that all are dropped.
const maxCached = 1 << 13

// full reports whether forget has to reset the table.
func (l *styleTable) full() bool {
	return l.all == nil || max(len(l.all), len(l.steps), len(l.turns), len(l.clusters)) > maxCached
}

// forget resets the table. This invalidates all numbers.
func (l *styleTable) forget() {
	*l = styleTable{
		profile: l.profile, numbers: map[style]uint16{}, steps: map[step]uint16{}, turns: map[turn]string{}, texts: map[string]uint32{},
	}
	l.number(style{})
}

// downsample sets the colors that the terminal supports.
func (l *styleTable) downsample(p colorprofile.Profile) {
	if l.profile != p {
		l.profile = p
		clear(l.turns)
	}
}

// maxNumbered is the maximum number of styles with their own number. The remaining numbers are
// for styles without colors (8 attributes that are on or off, and 6 underlines).
const maxNumbered = 1<<16 - 1<<8*6

// number returns the number of a style. When numbers run out, further styles lose their colors and
// links.
func (l *styleTable) number(k style) uint16 {
	if n, ok := l.numbers[k]; ok {
		return n
	}
	if plain := (style{Style: uv.Style{Attrs: k.Attrs, Underline: k.Underline}}); len(l.all) >= maxNumbered && k != plain {
		return l.number(plain)
	}
	n := uint16(len(l.all))
	l.numbers[k] = n
	l.all, l.bare = append(l.all, k), append(l.bare, n)
	const seen = uv.AttrReverse | uv.AttrStrikethrough
	if k.Attrs&seen == 0 && k.Underline == uv.UnderlineNone && k.Link.IsZero() {
		bare := l.number(style{Style: uv.Style{Bg: k.Bg}})
		l.bare[n] = bare
	}
	return n
}

// after returns the style after a sequence. Sequences other than SGR and hyperlinks have no effect
// and never reach the terminal.
func (l *styleTable) after(from uint16, seq string) uint16 {
	if n, ok := l.steps[step{from, seq}]; ok {
		return n
	}
	k := l.all[from]
	p := ansi.GetParser()
	defer ansi.PutParser(p)
	ansi.DecodeSequence(seq, 0, p)
	switch {
	case ansi.HasCsiPrefix(seq) && p.Command() == 'm':
		uv.ReadStyle(p.Params(), &k.Style)
	case ansi.HasOscPrefix(seq) && p.Command() == 8:
		k.Link = uv.Link{} // an invalid link ends the previous one
		if printable(p.Data()) {
			uv.ReadLink(p.Data(), &k.Link)
		}
	}
	n := l.number(k)
	l.steps[step{from, strings.Clone(seq)}] = n
	return n
}

// printable reports whether text is valid UTF-8 without control characters.
func printable(text []byte) bool {
	return utf8.Valid(text) && !bytes.ContainsFunc(text, unicode.IsControl)
}

// turn returns the sequence that changes the style of the terminal.
func (l *styleTable) turn(from, to uint16) string {
	key := turn{from, to}
	if seq, ok := l.turns[key]; ok {
		return seq
	}
	a, b := l.downsampled(from), l.downsampled(to)
	seq := b.Style.Diff(&a.Style)
	got := a.Style
	p := ansi.GetParser()
	if ansi.DecodeSequence(seq, 0, p); seq != "" {
		uv.ReadStyle(p.Params(), &got)
	}
	ansi.PutParser(p)
	if got != b.Style { // Diff confused a palette color with an equal RGB color
		seq = ansi.ResetStyle + b.Style.String()
	}
	if a.Link != b.Link {
		seq += ansi.SetHyperlink(b.URL, b.Params)
	}
	l.turns[key] = seq
	return seq
}

func (l *styleTable) downsampled(n uint16) style {
	k := l.all[n]
	return style{uv.ConvertStyle(k.Style, l.profile), uv.ConvertLink(k.Link, l.profile)}
}

// text returns the number of a cluster.
func (l *styleTable) text(cluster string) uint32 {
	if r, n := utf8.DecodeRuneInString(cluster); n == len(cluster) {
		return uint32(r)
	}
	if n, ok := l.texts[cluster]; ok {
		return n
	}
	cluster = strings.Clone(cluster)
	n := unicode.MaxRune + 1 + uint32(len(l.clusters))
	l.clusters = append(l.clusters, cluster)
	l.texts[cluster] = n
	return n
}

func (l *styleTable) appendText(b []byte, n uint32) []byte {
	if n > unicode.MaxRune {
		return append(b, l.clusters[n-unicode.MaxRune-1]...)
	}
	return utf8.AppendRune(b, rune(n))
}

// read fills a row with the cells of text, truncated to its width. It omits control and invisible
// characters. from is the style at the end of the row above.
func (l *styleTable) read(r *row, text string, from uint16) {
	r.text, r.from, r.known = text, from, true
	r.end = 0
	x, pen := 0, from
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c >= ' ' && c < 0x7f && (i+1 == len(text) || text[i+1] < utf8.RuneSelf):
			x = l.put(r, x, uint32(c), pen, 1)
			i++
		case c == ansi.ESC:
			n := escape(text[i:])
			pen = l.after(pen, text[i:i+n])
			i += n
		case c < ' ' || c == 0x7f:
			i++
		default:
			cluster, n, width := character(text[i:])
			x = l.putCluster(r, x, cluster, pen, width)
			i += n
		}
	}
	r.to = pen
	r.blank(x)
}

func (l *styleTable) putCluster(r *row, x int, cluster string, pen uint16, width int) int {
	first, n := utf8.DecodeRuneInString(cluster)
	if width <= 0 {
		if unicode.In(first, unicode.M) && x > 0 { // a combining mark after an escape sequence
			l.combine(r, x-1, cluster)
		}
		return x
	}
	next := l.put(r, x, l.text(cluster), pen, min(width, 2))
	if next <= len(r.cells) && next > x && r.cells[x].text != ' ' && !widthAgreed(cluster, first, n, width) {
		r.cells[x].kind |= uncertain
	}
	return next
}

// put sets the cell at x, if it fits, and returns the next x.
func (l *styleTable) put(r *row, x int, text uint32, pen uint16, width int) int {
	if x+width > len(r.cells) { // the rest of the row stays empty
		r.blank(x)
		return len(r.cells)
	}
	if text == ' ' {
		pen = l.bare[pen]
	}
	r.cells[x] = cell{text, pen, 0}
	if width == 2 {
		r.cells[x].kind = wide
		r.cells[x+1] = cell{0, pen, tail}
	}
	if text != ' ' || pen != 0 {
		r.end = x + width
	}
	return x + width
}

// blank clears the cells from x on.
func (r *row) blank(x int) {
	for i := x; i < len(r.cells); i++ {
		r.cells[i] = blank
	}
}

// combine adds a combining mark to the previous character, if its width stays the same.
func (l *styleTable) combine(r *row, x int, mark string) {
	width := 1
	if r.cells[x].kind&tail != 0 {
		x--
		width = 2
	}
	c := &r.cells[x]
	cluster := string(l.appendText(nil, c.text)) + mark
	if _, n, w := character(cluster); n != len(cluster) || w != width {
		return
	}
	c.text, c.kind = l.text(cluster), c.kind|uncertain
	r.end = max(r.end, x+1)
}

// character returns the first grapheme cluster of text, its length in bytes and its width in columns.
// An invalid byte becomes U+FFFD.
func character(text string) (cluster string, n, width int) {
	cluster, width = ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
	if utf8.ValidString(cluster) {
		return cluster, len(cluster), width
	}
	_, n = utf8.DecodeRuneInString(cluster)
	cluster = strings.ToValidUTF8(cluster[:n], "\ufffd")
	return cluster, n, ansi.StringWidth(cluster)
}

// escape returns the length of the escape sequence at the start of s.
func escape(s string) int {
	if len(s) > 1 && s[1] == '[' {
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
		}
		return len(s)
	}
	_, _, n, _ := ansi.DecodeSequence(s, 0, nil)
	return max(n, 1)
}

// alike holds wide characters that all terminals draw in two columns.
var alike = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x2e80, 0xa4cf, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1},
		{0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{{0x20000, 0x3fffd, 1}},
}

// widthAgreed reports whether all terminals draw the cluster with the width we expect. They disagree
// about emoji, clusters of several runes, and characters newer than the terminal.
func widthAgreed(cluster string, first rune, n, width int) bool {
	const placeholder = 0x10eeee // for images in kitty's protocol
	switch {
	case first == placeholder:
		return true
	case n < len(cluster):
		if first >= 0x300 {
			return false
		}
		for _, mark := range cluster[n:] {
			if mark < 0x300 || mark > 0x36f {
				return false
			}
		}
		return true
	case width == 1:
		return first < 0x1f000
	}
	return unicode.Is(alike, first)
}
