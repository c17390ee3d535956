package transcript

import (
	"strings"

	"parley/ui/textwrap"
)

// wrapText wraps plain text to lines of at most width cells. It stops at limit lines; 0 means
// no limit. left is the number of text lines left out or shown in part.
func wrapText(text string, width, limit int) (lines []string, left int) {
	for {
		line, rest, found := strings.Cut(text, "\n")
		lines = textwrap.Line(lines, textwrap.ExpandTabs(line, outputTab), width)
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

// firstLines returns the first lines of plain text, each truncated to width cells, and the
// number of lines left out.
func firstLines(text string, width, limit int) (lines []string, left int) {
	for range limit {
		line, rest, found := strings.Cut(text, "\n")
		lines = append(lines, textwrap.Truncate(textwrap.ExpandTabs(line, outputTab), width))
		if !found {
			return lines, 0
		}
		text = rest
	}
	return lines, countLines(text, true)
}

// lastLines returns the last lines of plain text, each truncated to width cells, and the number
// of lines left out.
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

// countLines returns the number of lines of text, or 0 if there is false.
func countLines(text string, there bool) int {
	if !there {
		return 0
	}
	return strings.Count(text, "\n") + 1
}

// outputTab is the distance of tab stops in program output: the terminal's.
const outputTab = 8
