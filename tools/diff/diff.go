// Package diff parses unified diffs for display.
//
// Only the hunk's own counts distinguish its lines from headers: "--- x" may be a
// removed "-- x", and "@@ -1 +1 @@" after a space the content of a file. Any text can
// be parsed; lines that belong to no diff have the kind Other.
package diff

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// A Kind is the kind of a line of a diff; within a hunk it is the line's sign.
type Kind byte

const (
	Other   Kind = 0    // not part of a diff
	Added   Kind = '+'  // in the new file
	Removed Kind = '-'  // in the old file
	Context Kind = ' '  // in both
	Note    Kind = '\\' // "\ No newline at end of file"
	Hunk    Kind = '@'  // "@@ -1,2 +1,3 @@ func main() {"
	OldName Kind = 'a'  // "--- a/main.go"
	NewName Kind = 'b'  // "+++ b/main.go"
)

// A Line is one line of a diff.
type Line struct {
	Kind     Kind
	Raw      string // as in the diff, without the line break
	Old, New int    // its number in either file, or the start of the hunk; 0 if it is not in that file
	File     string // name of the following file; "" except for NewName
}

// Text returns the line as in the file, without the sign. A context line may
// lack its sign, a space.
func (l Line) Text() string {
	switch l.Kind {
	case Added, Removed:
		return l.Raw[1:]
	case Context:
		return strings.TrimPrefix(l.Raw, " ")
	}
	return l.Raw
}

// Lines parses a diff. A final line break begins no further line.
func Lines(diff string) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		var r Reader
		for line := range strings.SplitSeq(strings.TrimSuffix(diff, "\n"), "\n") {
			if !yield(r.Read(line)) {
				return
			}
		}
	}
}

// Guess returns the kind of a line of a fragment by its first bytes: diffs by
// models have no headers, or wrong counts in them.
func Guess(line string) Kind {
	switch {
	case line == "":
		return Context
	case strings.HasPrefix(line, "@@"):
		return Hunk
	case strings.HasPrefix(line, "--- "):
		return OldName
	case strings.HasPrefix(line, "+++ "):
		return NewName
	case strings.IndexByte("+- \\", line[0]) >= 0:
		return Kind(line[0])
	}
	return Other
}

// A Reader parses a diff line by line. The zero Reader is at the beginning.
type Reader struct {
	old, new         int // numbers of the next lines
	oldLeft, newLeft int // remaining lines of the hunk
	oldFile          string
}

// Read parses the next line, without its line break.
func (r *Reader) Read(line string) Line {
	if r.Inside() {
		return r.content(line)
	}
	l := Line{Raw: line}
	switch {
	case r.header(line):
		l.Kind, l.Old, l.New = Hunk, r.old, r.new
	case strings.HasPrefix(line, "--- "):
		l.Kind, r.oldFile = OldName, fileName(line[4:], "a/")
	case strings.HasPrefix(line, "+++ "):
		l.Kind, l.File = NewName, fileName(line[4:], "b/")
		if l.File == "/dev/null" {
			l.File = r.oldFile
		}
	case strings.HasPrefix(line, `\`):
		l.Kind = Note
	}
	return l
}

// Inside reports whether the next line belongs to a hunk.
func (r *Reader) Inside() bool { return r.oldLeft > 0 || r.newLeft > 0 }

// Left returns how many lines of the old and the new file remain in the hunk.
func (r *Reader) Left() (old, new int) { return max(r.oldLeft, 0), max(r.newLeft, 0) }

// Rest returns the header of a hunk with the remaining lines of this one.
func (r *Reader) Rest() string {
	old, new := r.Left()
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@", r.old, old, r.new, new)
}

// content parses a line of a hunk.
func (r *Reader) content(line string) Line {
	l := Line{Kind: Context, Raw: line}
	if line != "" && (line[0] == '+' || line[0] == '-' || line[0] == '\\') {
		l.Kind = Kind(line[0])
	}
	if l.Kind == Removed || l.Kind == Context {
		l.Old, r.old, r.oldLeft = r.old, r.old+1, r.oldLeft-1
	}
	if l.Kind == Added || l.Kind == Context {
		l.New, r.new, r.newLeft = r.new, r.new+1, r.newLeft-1
	}
	return l
}

// header parses "@@ -10,3 +12,4 @@ func main() {"; for any other line it
// returns false and changes nothing.
func (r *Reader) header(line string) bool {
	if !strings.HasPrefix(line, "@@ ") {
		return false
	}
	fields := strings.Fields(line)
	if len(fields) < 4 || fields[3] != "@@" {
		return false
	}
	old, oldCount, ok1 := lineRange(fields[1], "-")
	new, newCount, ok2 := lineRange(fields[2], "+")
	if !ok1 || !ok2 {
		return false
	}
	r.old, r.oldLeft, r.new, r.newLeft = old, oldCount, new, newCount
	return true
}

// lineRange parses "-10,3" or "-10", which is one line.
func lineRange(s, sign string) (first, count int, ok bool) {
	s, ok = strings.CutPrefix(s, sign)
	from, n, counted := strings.Cut(s, ",")
	if !counted {
		n = "1"
	}
	first, err1 := strconv.Atoi(from)
	count, err2 := strconv.Atoi(n)
	return first, count, ok && err1 == nil && err2 == nil && first >= 0 && count >= 0
}

// fileName returns the name in a header, which may be followed by a time.
func fileName(name, side string) string {
	name, _, _ = strings.Cut(name, "\t")
	return strings.TrimPrefix(name, side)
}
