// Package textwrap measures text in the cells of a terminal, truncates it and breaks
// it into rows, for every part of the screen. Text is taken apart by grapheme clusters,
// with a short way for the characters that nearly all text is made of.
//
// Functions take printable text: control characters are made visible before. Those
// that say so also take our own sequences, colors (CSI) and links (OSC).
package textwrap

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Ellipsis stands where a line was cut.
const Ellipsis = "…"

// Cluster measures the grapheme cluster at the start of s: its bytes and its cells,
// none of "".
func Cluster(s string) (size, width int) {
	if s == "" {
		return 0, 0
	}
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return 1, 1
	}
	if size := singleCell(s); size > 0 && (size == len(s) || singleCell(s[size:]) > 0) {
		return size, 1
	}
	c, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return len(c), w
}

// TrimLast returns s without its last grapheme cluster.
func TrimLast(s string) string {
	last := 0
	for rest := s; rest != ""; rest = rest[last:] {
		last, _ = Cluster(rest)
	}
	return s[:len(s)-last]
}

// Fit returns the bytes and the cells of the clusters at the start of s that fit into
// width cells, and of at least one: rows that break at any character.
func Fit(s string, width int) (size, cells int) {
	for room := min(len(s), width); size < room && s[size] < utf8.RuneSelf; {
		size++
	}
	if size > 0 && size < len(s) && s[size] >= utf8.RuneSelf {
		size-- // the last one may carry a mark
	}
	cells = size
	for size < len(s) {
		n, w := Cluster(s[size:])
		if cells+w > width && size > 0 {
			break
		}
		size, cells = size+n, cells+w
	}
	return size, cells
}

// Width returns the cells of a line, which may have sequences: ansi.StringWidth, but
// cheap enough to be asked for each row of each frame.
func Width(s string) int {
	width, last := 0, -1 // last is where the character before i starts, if it took the short way
	for i := 0; i < len(s); {
		if s[i] == '\x1b' {
			i += SequenceLen(s[i:])
			last = -1
			continue
		}
		if size := singleCell(s[i:]); size > 0 {
			width, last = width+1, i
			i += size
			continue
		}
		// A mark joins the character before it, and a few signs the one after.
		start := i
		if last >= 0 {
			start = last
			width--
		}
		i += combinedSize(s[i:])
		width, last = width+ansi.StringWidth(s[start:i]), -1
	}
	return width
}

// combinedSize returns the bytes at the start of s that have to be measured together: up to
// a character that is known to take one cell, with it and its marks.
func combinedSize(s string) int {
	i := 0
	for i < len(s) && s[i] != '\x1b' {
		size := singleCell(s[i:])
		if size == 0 {
			_, size = utf8.DecodeRuneInString(s[i:])
			i += size
			continue
		}
		i += size
		if i == len(s) || singleCell(s[i:]) > 0 {
			break
		}
	}
	return i
}

// singleCell returns the bytes of the character at the start of s if it is known to
// take one cell, and 0 otherwise.
func singleCell(s string) int {
	if s[0] < utf8.RuneSelf {
		if s[0] < ' ' || s[0] == 0x7f {
			return 0
		}
		return 1
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r >= 0xa1 && r < 0x300 && r != 0xad, // Latin, but for the soft hyphen
		r >= 0x2010 && r < 0x2028, // dashes, quotes, the Ellipsis
		r >= 0x2500 && r < 0x25a0: // boxes and blocks
		return size
	}
	return 0
}

// SequenceLen returns the bytes of the sequence at the start of s, which is an ESC. Of
// all sequences only ours reach a line: colors (CSI) and links (OSC).
func SequenceLen(s string) int {
	if len(s) < 2 {
		return 1
	}
	if s[1] == ']' {
		for i := 2; i < len(s); i++ {
			if s[i] == '\a' {
				return i + 1
			}
			if s[i] == '\x1b' {
				return min(i+2, len(s))
			}
		}
		return len(s)
	}
	if s[1] != '[' {
		return 2
	}
	for i := 2; i < len(s); i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
	}
	return len(s)
}

// TruncateStyled cuts a line, which may have sequences, to width cells.
func TruncateStyled(s string, width int) string {
	if len(s) <= width || Width(s) <= width {
		return s
	}
	return ansi.Truncate(s, width, Ellipsis)
}

// Truncate cuts plain text to width cells. It reads no more of it than it shows.
func Truncate(s string, width int) string {
	if len(s) <= width {
		return s
	}
	kept, col := 0, 0 // kept is where the sign of the cut can stand
	for i := 0; i < len(s); {
		size, w := Cluster(s[i:])
		if col+w > width {
			return s[:kept] + Ellipsis[:len(Ellipsis)*min(width, 1)]
		}
		col += w
		i += size
		if col < width {
			kept = i
		}
	}
	return s
}

// Line appends s, one line of plain text, to lines, cut into lines of at most
// width cells: at spaces, which vanish there, or inside a word that is longer.
// The lines are parts of s and take no memory of their own.
func Line(lines []string, s string, width int) []string {
	if len(s) <= width {
		return append(lines, s)
	}
	start, col := 0, 0         // the line so far: its first byte, its cells
	end, next, past := 0, 0, 0 // its last word's end, where the next word starts, the cells up to there
	words := false             // whether more than its indentation was seen
	for i := 0; i < len(s); {
		size, w := Cluster(s[i:])
		space := s[i] == ' ' && size == 1 // a mark on a space is a character
		if space && words {
			if next != i { // the first one after a word
				end = i
			}
			next, past = i+size, col+w
			col += w
			i += size
			continue
		}
		if col+w > width && i > start {
			if end > start {
				lines = append(lines, s[start:end])
				start, col = next, col-past
			} else {
				lines = append(lines, s[start:i])
				start, col, words = i, 0, false
			}
			end = start
		}
		words = words || !space
		col += w
		i += size
	}
	if end > start && next == len(s) && col > width {
		return append(lines, s[start:end]) // spaces beyond the edge
	}
	return append(lines, s[start:])
}

// Lines returns the rows of plain text of one or more lines, each broken as by Line.
func Lines(text string, width int) (rows []string) {
	for line := range strings.SplitSeq(text, "\n") {
		rows = Line(rows, line, width)
	}
	return rows
}

// Quoted returns the rows of text as Lines does, but each row of a line that begins with mark begins
// with it: what somebody else wrote is told from what stands around it. Tabs become four spaces.
func Quoted(text, mark string, width int) (rows []string) {
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\t", "    "), "\n") {
		quoted, is := strings.CutPrefix(line, mark)
		if !is {
			rows = Line(rows, line, max(width, 1))
			continue
		}
		from := len(rows)
		rows = Line(rows, quoted, max(width-Width(mark), 1))
		for i := range rows[from:] {
			rows[from+i] = mark + rows[from+i]
		}
	}
	return rows
}
