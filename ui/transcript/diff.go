package transcript

import (
	"strconv"
	"strings"
)

// A change is one line of a diff.
type change struct {
	sign byte   // '+', '-', ' '; 0 for a line about the diff itself
	line int    // its number in the new file, or in the old one if it is gone; 0 if unknown
	text string // without the sign
}

// gap stands between two places of one file.
const gap = "⋮"

// parseDiff reads a unified diff. A line inside of a hunk is told from a header
// by the hunk's own counts: "--- x" may well be a removed "-- x". The names of
// the files are left out where there is only one, which the title names.
func parseDiff(diff string) []change {
	var changes []change
	var was, is, oldLeft, newLeft int
	inFile, files := false, 0
	for line := range strings.SplitSeq(strings.TrimSuffix(diff, "\n"), "\n") {
		if oldLeft <= 0 && newLeft <= 0 {
			if a, b, ok := hunk(line); ok {
				was, oldLeft, is, newLeft = a[0], a[1], b[0], b[1]
				if inFile {
					changes = append(changes, change{text: gap})
				}
				inFile = true
			} else if name, ok := strings.CutPrefix(line, "+++ "); ok {
				files++
				inFile = false
				changes = append(changes, change{text: strings.TrimPrefix(name, "b/")})
			} else if strings.HasPrefix(line, `\`) { // "No newline at end of file"
				changes = append(changes, change{text: line})
			}
			continue
		}
		sign, rest := byte(' '), line
		if line != "" && strings.IndexByte("+- \\", line[0]) >= 0 { // else it is no diff, and its first byte may be a part of a rune
			sign, rest = line[0], line[1:]
		}
		switch sign {
		case '+':
			changes = append(changes, change{'+', is, rest})
			is, newLeft = is+1, newLeft-1
		case '-':
			changes = append(changes, change{'-', was, rest})
			was, oldLeft = was+1, oldLeft-1
		case '\\':
			changes = append(changes, change{text: line})
		default:
			changes = append(changes, change{' ', is, rest})
			was, is, oldLeft, newLeft = was+1, is+1, oldLeft-1, newLeft-1
		}
	}
	if files == 1 && len(changes) > 0 && changes[0].sign == 0 {
		changes = changes[1:]
	}
	return changes
}

// hunk reads "@@ -10,3 +12,4 @@ func main() {" as (10, 3), (12, 4).
func hunk(line string) (from, to [2]int, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || fields[0] != "@@" || fields[3] != "@@" {
		return from, to, false
	}
	from, ok1 := span(fields[1], "-")
	to, ok2 := span(fields[2], "+")
	return from, to, ok1 && ok2
}

// span reads "-10,3" or "-10", which is one line.
func span(s, sign string) (at [2]int, ok bool) {
	s, ok = strings.CutPrefix(s, sign)
	first, n, counted := strings.Cut(s, ",")
	at[1] = 1
	var err1, err2 error
	at[0], err1 = strconv.Atoi(first)
	if counted {
		at[1], err2 = strconv.Atoi(n)
	}
	return at, ok && err1 == nil && err2 == nil && at[0] >= 0 && at[1] >= 0
}

// stat counts the added and the removed lines.
func stat(changes []change) (added, removed int) {
	for _, c := range changes {
		switch c.sign {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// diffLines lays a diff out: number, sign, text.
func diffLines(changes []change, p page) []string {
	shown := changes
	if !p.open && len(changes) > foldDiff {
		shown = changes[:foldDiff]
	}
	digits := 1
	for _, c := range shown {
		digits = max(digits, len(strconv.Itoa(c.line)))
	}
	lines := make([]string, 0, len(shown)+1)
	for _, c := range shown {
		lines = c.lay(lines, digits, p)
	}
	if left := len(changes) - len(shown); left > 0 {
		lines = append(lines, p.left(left, "more"))
	}
	return lines
}

// lay appends the change. Unfolded, a long line is wrapped instead of cut.
func (c change) lay(lines []string, digits int, p page) []string {
	body := untab(c.text, codeTab)
	if c.sign == 0 {
		margin := strings.Repeat(" ", digits+1)
		parts := []string{clip(body, max(p.width-len(margin), 1))}
		if p.open {
			parts = wrap(nil, body, max(p.width-len(margin), 1))
		}
		for _, part := range parts {
			lines = append(lines, p.ink.write(faint, clip(margin+part, p.width)))
		}
		return lines
	}
	t := map[byte]tone{'+': good, '-': bad, ' ': dim}[c.sign]
	number := ""
	if c.line > 0 {
		number = strconv.Itoa(c.line)
	}
	number = strings.Repeat(" ", max(0, digits-len(number))) + number + " "
	room := p.width - len(number) - 2
	if room < 1 {
		return append(lines, p.ink.write(t, clip(string(c.sign)+body, p.width)))
	}
	if !p.open {
		return append(lines, p.ink.write(faint, number)+p.ink.write(t, string(c.sign)+" "+clip(body, room)))
	}
	for i, part := range wrap(nil, body, room) {
		sign := string(c.sign)
		if i > 0 {
			number, sign = strings.Repeat(" ", len(number)), " "
		}
		lines = append(lines, p.ink.write(faint, number)+p.ink.write(t, sign+" "+part))
	}
	return lines
}
