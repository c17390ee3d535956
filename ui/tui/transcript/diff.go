package transcript

import (
	"strconv"
	"strings"
)

// A diffLine is one line of a diff.
type diffLine struct {
	sign    byte   // '+', '-', ' '; 0 for a line about the diff itself
	line    int    // its number in the new file, or in the old one if it is gone; 0 if unknown
	oldLine int    // its number in the old file; 0 if it is new or unknown
	text    string // without the sign
	file    string // that what follows is of, if the line says that
}

// A unifiedDiff is a diff that was read: its first changes, and the sum of all.
type unifiedDiff struct {
	file           string // that the first changes are of
	changes        []diffLine
	dropped        int // how many more there are
	added, removed int
}

// maxDiffLines sets how many changes of one diff are laid out at most. The details
// of a call have them all.
const maxDiffLines = 500

// hunkGap stands between two places of one file.
const hunkGap = "⋮"

// readDiff reads a unified diff. A line inside of a hunk is told from a header
// by the hunk's own counts: "--- x" may well be a removed "-- x". The names of
// the files are left out where there is only one, which the title names.
func readDiff(diff string) (p unifiedDiff) {
	var was, is, oldLeft, newLeft int
	inFile, files, old := false, 0, ""
	for line := range strings.SplitSeq(strings.TrimSuffix(diff, "\n"), "\n") {
		if oldLeft > 0 || newLeft > 0 {
			c := parseHunkLine(line, was, is)
			p.add(c)
			if c.sign == '-' || c.sign == ' ' {
				was, oldLeft = was+1, oldLeft-1
			}
			if c.sign == '+' || c.sign == ' ' {
				is, newLeft = is+1, newLeft-1
			}
			continue
		}
		if a, b, ok := parseHunkHeader(line); ok {
			was, oldLeft, is, newLeft = a[0], a[1], b[0], b[1]
			if inFile {
				p.add(diffLine{text: hunkGap})
			}
			inFile = true
		} else if name, ok := strings.CutPrefix(line, "--- "); ok {
			old = fileName(name, "a/")
		} else if name, ok := strings.CutPrefix(line, "+++ "); ok {
			files++
			inFile = false
			if name = fileName(name, "b/"); name == "/dev/null" {
				name = old
			}
			p.add(diffLine{text: name, file: name})
		} else if strings.HasPrefix(line, `\`) { // "No newline at end of file"
			p.add(diffLine{text: line})
		}
	}
	if files == 1 && p.changes[0].sign == 0 {
		p.file, p.changes = p.changes[0].file, p.changes[1:]
	}
	return p
}

// fileName returns the name in a header, which may have a time after it.
func fileName(name, side string) string {
	name, _, _ = strings.Cut(name, "\t")
	return strings.TrimPrefix(name, side)
}

// parseHunkLine reads a line of a hunk, given the number it would have in either file.
func parseHunkLine(line string, was, is int) diffLine {
	sign, rest := byte(' '), line
	if line != "" && strings.IndexByte("+- \\", line[0]) >= 0 { // else it is no diff, and its first byte may be a part of a rune
		sign, rest = line[0], line[1:]
	}
	switch sign {
	case '+':
		return diffLine{sign: '+', line: is, text: rest}
	case '-':
		return diffLine{sign: '-', line: was, oldLine: was, text: rest}
	case '\\':
		return diffLine{text: line}
	}
	return diffLine{sign: ' ', line: is, oldLine: was, text: rest}
}

// add counts a change, and keeps it if there is room.
func (p *unifiedDiff) add(c diffLine) {
	switch c.sign {
	case '+':
		p.added++
	case '-':
		p.removed++
	}
	if len(p.changes) == maxDiffLines {
		p.dropped++
		return
	}
	p.changes = append(p.changes, c)
}

// parseHunkHeader reads "@@ -10,3 +12,4 @@ func main() {" as (10, 3), (12, 4).
func parseHunkHeader(line string) (from, to [2]int, ok bool) {
	if !strings.HasPrefix(line, "@@ ") {
		return from, to, false
	}
	fields := strings.Fields(line)
	if len(fields) < 4 || fields[0] != "@@" || fields[3] != "@@" {
		return from, to, false
	}
	from, ok1 := parseHunkRange(fields[1], "-")
	to, ok2 := parseHunkRange(fields[2], "+")
	return from, to, ok1 && ok2
}

// parseHunkRange reads "-10,3" or "-10", which is one line.
func parseHunkRange(s, sign string) (at [2]int, ok bool) {
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
