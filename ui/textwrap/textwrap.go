// Package textwrap measures text in terminal cells, truncates it and breaks it into
// rows, for every part of the screen. It splits text into grapheme clusters, with a
// fast path for the most common characters.
//
// Functions take printable text; control characters must be made visible first.
// Functions that say so also accept our own sequences: colors (CSI) and links (OSC).
package textwrap

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Ellipsis marks truncated text.
const Ellipsis = "…"

// Cluster returns the size in bytes and the width in cells of the grapheme cluster
// at the start of s; 0, 0 for "".
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

// Fit returns the size in bytes and the width in cells of the clusters at the start
// of s that fit into width cells, but at least one cluster. It is for rows that may
// break at any character.
func Fit(s string, width int) (size, cells int) {
	for room := min(len(s), width); size < room && s[size] < utf8.RuneSelf; {
		size++
	}
	if size > 0 && size < len(s) && s[size] >= utf8.RuneSelf {
		size-- // a combining mark may follow the last one
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

// Width returns the width of a line, which may contain sequences, in cells. It is
// ansi.StringWidth, but fast enough for each row of each frame.
func Width(s string) int {
	width, last := 0, -1 // start of the character before i if it took the fast path; -1 otherwise
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
		// A combining mark joins the previous character, and a few signs join the next one.
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

// combinedSize returns the number of bytes at the start of s that must be measured
// together: up to and including a character known to take one cell, and its marks.
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

// singleCell returns the size of the character at the start of s if it is known to
// take one cell, else 0.
func singleCell(s string) int {
	if s[0] < utf8.RuneSelf {
		if s[0] < ' ' || s[0] == 0x7f {
			return 0
		}
		return 1
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r >= 0xa1 && r < 0x300 && r != 0xad, // Latin, except the soft hyphen
		r >= 0x2010 && r < 0x2028, // dashes, quotes, the Ellipsis
		r >= 0x2500 && r < 0x25a0: // boxes and blocks
		return size
	}
	return 0
}

// SequenceLen returns the length of the sequence at the start of s, which is an ESC.
// Lines contain only our own sequences: colors (CSI) and links (OSC).
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

// TruncateStyled truncates a line, which may contain sequences, to width cells.
func TruncateStyled(s string, width int) string {
	if len(s) <= width || Width(s) <= width {
		return s
	}
	return ansi.Truncate(s, width, Ellipsis)
}

// Truncate truncates plain text to width cells. It reads no more text than it shows.
func Truncate(s string, width int) string {
	if len(s) <= width {
		return s
	}
	kept, col := 0, 0 // kept is the offset at which the ellipsis fits
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

// Line appends s, one line of plain text, to lines, broken into lines of at
// most width cells: at spaces, which are dropped there, or inside a word that
// is longer. The lines share the memory of s.
func Line(lines []string, s string, width int) []string {
	if len(s) <= width {
		return append(lines, s)
	}
	start, col := 0, 0         // the current line: its first byte and its width
	end, next, past := 0, 0, 0 // end of its last word, start of the next word, and width up to there
	words := false             // text other than indentation was seen
	for i := 0; i < len(s); {
		size, w := Cluster(s[i:])
		space := s[i] == ' ' && size == 1 // a space with a combining mark is a character
		if space && words {
			if next != i { // the first space after a word
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
		}
		words = words || !space
		col += w
		i += size
	}
	if end > start && next == len(s) && col > width {
		return append(lines, s[start:end]) // drop spaces beyond the edge
	}
	return append(lines, s[start:])
}

// Lines returns the rows of plain text of one or more lines, each broken by Line.
func Lines(text string, width int) (rows []string) {
	for line := range strings.SplitSeq(text, "\n") {
		rows = Line(rows, line, width)
	}
	return rows
}

// Quoted is like Lines, but all rows of a line that begins with mark begin with it, so that text of
// others is distinguishable from the text around it. Tabs become four spaces.
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

// ExpandTabs replaces tabs by spaces, because terminals differ in the width of tabs.
func ExpandTabs(line string, stop int) string {
	if strings.IndexByte(line, '\t') < 0 {
		return line
	}
	var b strings.Builder
	col := 0
	for i, part := range strings.Split(line, "\t") {
		if i > 0 {
			n := stop - col%stop
			b.WriteString(strings.Repeat(" ", n))
			col += n
		}
		b.WriteString(part)
		col += Width(part)
	}
	return b.String()
}
