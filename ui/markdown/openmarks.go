package markdown

import "strings"

// closeMarks returns source with the inline marks closed that its last line leaves open, so
// that bold text looks bold while it arrives, instead of showing two stars that disappear
// later. A mark at the end is left out.
func closeMarks(source string) string {
	at := strings.LastIndexByte(source, '\n') + 1
	if !strings.ContainsAny(source[at:], "*_~`(") {
		return source
	}
	line := strings.TrimRight(source[at:], " \t")
	var open []string
	for i := 0; i < len(line); {
		switch c := line[i]; c {
		case '\\':
			i += 2
		case '`', '*', '_', '~':
			n := i
			for n < len(line) && line[n] == c {
				n++
			}
			mark := line[i:n]
			switch {
			case c == '`' && n == len(line), n == len(line) && !isOpen(open, mark) && (opensMark(line, i, n) || halfClosed(open, mark)):
				return source[:at] + strings.TrimRight(line[:i], " \t") + closingMarks(open)
			case c == '`':
				end := strings.Index(line[n:], mark)
				if end < 0 {
					return source[:at] + line + mark + closingMarks(open)
				}
				n += end + len(mark)
			case isOpen(open, mark) && i > 0 && line[i-1] != ' ':
				open = open[:len(open)-1]
			case opensMark(line, i, n):
				open = append(open, mark)
			}
			i = n
		default:
			i++
		}
	}
	if to := strings.LastIndex(line, "]("); to >= 0 && !strings.ContainsAny(line[to+2:], ") ") && strings.Contains(line[:to], "[") {
		line += ")"
	}
	return source[:at] + line + closingMarks(open)
}

// isOpen reports whether mark was opened last.
func isOpen(open []string, mark string) bool { return len(open) > 0 && open[len(open)-1] == mark }

// halfClosed reports whether mark is the beginning of what closes the mark opened last.
func halfClosed(open []string, mark string) bool {
	return len(open) > 0 && strings.HasPrefix(open[len(open)-1], mark)
}

// closingMarks returns the marks that close open, the last one first.
func closingMarks(open []string) string {
	var b strings.Builder
	for i := len(open) - 1; i >= 0; i-- {
		b.WriteString(open[i])
	}
	return b.String()
}

// opensMark reports whether the run of marks from i to n may open emphasis: a word follows,
// or nothing yet, and no word precedes it.
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
