package markdown

import (
	"slices"
	"strings"
)

// closeMarks returns source with closing marks added for the inline marks open in its last line,
// and for math open in its last paragraph. So bold text looks bold while it arrives, instead of
// beginning with two stars that disappear later. An incomplete mark at the end is omitted.
func closeMarks(source string) string {
	at := strings.LastIndexByte(source, '\n') + 1
	start := strings.LastIndex(source, "\n\n") + 1
	if !strings.ContainsAny(source[start:], "*_~`($\\") {
		return source
	}
	text := strings.TrimRight(source, " \t")
	if len(text) < at {
		text = source
	}
	src, math := []byte(text), unclosedMath{}
	var open []string
	for i := start; i < len(text); {
		c := text[i]
		if c == '$' || c == '\\' {
			next, closing := math.next(src, i)
			if closing == "" {
				i = next
				continue
			}
			body := strings.TrimRight(text[next:], "\\$ \t\n")
			if body == "" {
				return text[:i] + closingMarks(open)
			}
			return text[:next] + body + closing + closingMarks(open)
		}
		n := i
		for n < len(text) && text[n] == c {
			n++
		}
		mark := text[i:n]
		switch {
		case c == '`':
			if end := strings.Index(text[n:], mark); end >= 0 {
				n += end + len(mark)
			} else if i >= at && n == len(text) {
				return strings.TrimRight(text[:i], " \t") + closingMarks(open)
			} else if i >= at {
				return text + mark + closingMarks(open)
			} else if len(mark) > 2 { // a code block
				return source
			}
		case i < at || c != '*' && c != '_' && c != '~':
		case n == len(text) && !isOpen(open, mark) && (opensMark(text[at:], i-at, n-at) || halfClosed(open, mark)):
			return strings.TrimRight(text[:i], " \t") + closingMarks(open)
		case isOpen(open, mark) && i > at && text[i-1] != ' ':
			open = open[:len(open)-1]
		case opensMark(text[at:], i-at, n-at):
			open = append(open, mark)
		}
		i = n
	}
	if to := strings.LastIndex(text, "]("); to >= at && !strings.ContainsAny(text[to+2:], ") ") && strings.Contains(text[at:to], "[") {
		text += ")"
	}
	return text + closingMarks(open)
}

// isOpen reports whether mark is the last open one.
func isOpen(open []string, mark string) bool { return len(open) > 0 && open[len(open)-1] == mark }

// halfClosed reports whether mark is a prefix of the last open mark, which it may close.
func halfClosed(open []string, mark string) bool {
	return len(open) > 0 && strings.HasPrefix(open[len(open)-1], mark)
}

// closingMarks returns the marks that close open, last one first.
func closingMarks(open []string) string {
	slices.Reverse(open)
	return strings.Join(open, "")
}

// opensMark reports whether the run of marks from i to n may open emphasis: it is followed
// by a word or the end of the line, and not preceded by a word.
func opensMark(line string, i, n int) bool {
	if n-i > 3 || line[i] == '~' && n-i != 2 {
		return false
	}
	word := func(c byte) bool { return c >= '0' && c <= '9' || c|' ' >= 'a' && c|' ' <= 'z' || c >= 0x80 }
	if i > 0 && word(line[i-1]) {
		return line[i] == '*' && n < len(line) && word(line[n])
	}
	return n == len(line) || line[n] != ' '
}
