package transcript

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// ellipsis stands where a line was cut.
const ellipsis = "…"

// clusterSize measures the grapheme cluster at the start of s, which is not empty:
// its bytes and its cells. An ASCII byte before another one stands alone.
func clusterSize(s string) (size, width int) {
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return 1, 1
	}
	c, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return len(c), w
}

// cells returns ansi.StringWidth with a short way for the characters that nearly all
// lines are made of, for it is asked for each row of each frame.
func cells(s string) int {
	width, last := 0, -1 // last is where the character before i starts, if it took the short way
	for i := 0; i < len(s); {
		if s[i] == '\x1b' {
			i += escapeLen(s[i:])
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
		r >= 0x2010 && r < 0x2028, // dashes, quotes, the ellipsis
		r >= 0x2500 && r < 0x25a0: // boxes and blocks
		return size
	}
	return 0
}

// escapeLen returns the bytes of the sequence at the start of s, which is an ESC. Of
// all sequences only ours reach a line: colors (CSI) and links (OSC).
func escapeLen(s string) int {
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

// truncateStyled cuts a line, which may have colors, to width cells.
func truncateStyled(s string, width int) string {
	if len(s) <= width || cells(s) <= width {
		return s
	}
	return ansi.Truncate(s, width, ellipsis)
}

// truncate cuts plain text to width cells. Other than fit it reads no more of it
// than it shows.
func truncate(s string, width int) string {
	if len(s) <= width {
		return s
	}
	kept, col := 0, 0 // kept is where the sign of the cut can stand
	for i := 0; i < len(s); {
		size, w := clusterSize(s[i:])
		if col+w > width {
			return s[:kept] + ellipsis[:len(ellipsis)*min(width, 1)]
		}
		col += w
		i += size
		if col < width {
			kept = i
		}
	}
	return s
}

// wrapLine appends s, one line of plain text, to lines, cut into lines of at most
// width cells: at spaces, which vanish there, or inside a word that is longer.
// The lines are parts of s and take no memory of their own.
func wrapLine(lines []string, s string, width int) []string {
	if len(s) <= width {
		return append(lines, s)
	}
	start, col := 0, 0         // the line so far: its first byte, its cells
	end, next, past := 0, 0, 0 // its last word's end, where the next word starts, the cells up to there
	words := false             // whether more than its indentation was seen
	for i := 0; i < len(s); {
		size, w := clusterSize(s[i:])
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

// wrapText lays plain text out in lines of at most width cells. At limit lines, if
// that is not 0, it stops, and says how many lines of the text are left out or
// shown in part.
func wrapText(text string, width, limit int) (lines []string, left int) {
	for {
		line, rest, found := strings.Cut(text, "\n")
		lines = wrapLine(lines, expandTabs(line, outputTab), width)
		if limit > 0 && (len(lines) > limit || found && len(lines) == limit) {
			cut := 0
			if len(lines) > limit {
				cut = 1
			}
			return lines[:limit], cut + countLines(rest, found)
		}
		if !found {
			return lines, 0
		}
		text = rest
	}
}

// firstLines returns the first lines of plain text, each cut to width cells, and how
// many it leaves out.
func firstLines(text string, width, limit int) (lines []string, left int) {
	for range limit {
		line, rest, found := strings.Cut(text, "\n")
		lines = append(lines, truncate(expandTabs(line, outputTab), width))
		if !found {
			return lines, 0
		}
		text = rest
	}
	return lines, countLines(text, true)
}

// lastLines returns the last lines of plain text, each cut to width cells, and how
// many it leaves out.
func lastLines(text string, width, limit int) (lines []string, left int) {
	start := len(text)
	for range limit {
		if start = strings.LastIndexByte(text[:start], '\n'); start < 0 {
			break
		}
	}
	lines, _ = firstLines(text[start+1:], width, limit)
	return lines, countLines(text[:max(start, 0)], start >= 0)
}

// countLines counts the lines of a text that is there.
func countLines(text string, there bool) int {
	if !there {
		return 0
	}
	return strings.Count(text, "\n") + 1
}

// Tab stops: of a terminal for what programs print, narrower for code.
const (
	outputTab = 8
	codeTab   = 4
)

// expandTabs puts spaces for tabs, whose width no two terminals agree on.
func expandTabs(line string, stop int) string {
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
		col += cells(part)
	}
	return b.String()
}
