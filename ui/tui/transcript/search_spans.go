package transcript

import (
	"slices"
	"strings"

	"parley/ui/textwrap"
)

// A searchSpan is the part of a match on one line, in bytes without escape sequences. A
// match that crosses the end of a line has two.
type searchSpan struct {
	line, from, to int
	match          int // index of the match in the block
}

// spansOf returns the matches in the lines of an item.
func (m *search) spansOf(it *item) []searchSpan {
	lines := m.window.linesOf(it)
	if !it.spansValid {
		it.spans, it.spansValid = m.query.spans(it.spans[:0], lines, min(m.window.renderContext(it).width, maxProseWidth)), true
	}
	return it.spans
}

// visibleMatches returns the number of matches in the lines of an item.
func (m *search) visibleMatches(it *item) int {
	spans := m.spansOf(it)
	if len(spans) == 0 {
		return 0
	}
	return spans[len(spans)-1].match + 1
}

// spans appends the matches in lines to to. It searches the lines as one text, because a
// full-width line may have been broken within a word.
func (w query) spans(to []searchSpan, lines []string, width int) []searchSpan {
	var all strings.Builder
	starts := make([]int, 0, len(lines)+1)
	for _, line := range lines {
		starts = append(starts, all.Len())
		writePlain(&all, line)
		end := "\n"
		if textwrap.Width(line) >= width-1 {
			end = brokenLine
		}
		all.WriteString(end)
	}
	starts = append(starts, all.Len())
	text := all.String()
	match, line := 0, 0
	for start, end := w.find(text, 0, brokenLine); end >= 0; start, end = w.find(text, end, brokenLine) {
		for starts[line+1] <= start {
			line++
		}
		for l := line; starts[l] < end; l++ {
			from, stop := max(start, starts[l]), min(end, starts[l+1]-1)
			if l > line { // skip the margin
				from = stop - len(strings.TrimLeft(text[from:stop], " ▎"))
			}
			if from < stop {
				to = append(to, searchSpan{l, from - starts[l], stop - starts[l], match})
			}
		}
		match++
	}
	return to
}

// writePlain writes a line without its escape sequences.
func writePlain(to *strings.Builder, line string) {
	for {
		i := strings.IndexByte(line, '\x1b')
		if i < 0 {
			to.WriteString(line)
			return
		}
		to.WriteString(line[:i])
		line = line[i+textwrap.SequenceLen(line[i:]):]
	}
}

// Styles of matches and of the selected one, visible without colors.
const (
	sgrFound   = "\x1b[7m"
	sgrCurrent = "\x1b[1;4;7m"
	sgrReset   = "\x1b[m"
)

// writeHighlighted writes a line with its spans highlighted. All escape sequences in the
// line are parley's styles, which add up until the next reset.
func (m *Model) writeHighlighted(line string, spans []searchSpan, match int) {
	var kept []byte // the sequences since the last reset
	at, on := 0, false
	for i := 0; i < len(line); {
		if on && at == spans[0].to {
			m.buf = append(append(m.buf, sgrReset...), kept...)
			spans, on = spans[1:], false
		}
		if line[i] == '\x1b' {
			n := textwrap.SequenceLen(line[i:])
			seq := line[i : i+n]
			if kept = append(kept, seq...); seq == sgrReset || seq == "\x1b[0m" {
				kept = kept[:0]
			}
			m.buf = append(m.buf, seq...)
			if on {
				m.buf = append(m.buf, highlightSGR(spans[0], match)...)
			}
			i += n
			continue
		}
		if !on && len(spans) > 0 && at == spans[0].from {
			m.buf = append(m.buf, highlightSGR(spans[0], match)...)
			on = true
		}
		m.buf = append(m.buf, line[i])
		at++
		i++
	}
	if on {
		m.buf = append(m.buf, sgrReset...)
	}
}

func highlightSGR(s searchSpan, match int) string {
	if s.match == match {
		return sgrCurrent
	}
	return sgrFound
}

// spansOnLine returns the spans on a line.
func spansOnLine(spans []searchSpan, line int) []searchSpan {
	from, _ := slices.BinarySearchFunc(spans, line, func(s searchSpan, line int) int { return s.line - line })
	to := from
	for to < len(spans) && spans[to].line == line {
		to++
	}
	return spans[from:to]
}
