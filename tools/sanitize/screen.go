package sanitize

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// A Screen renders the output of a program like a terminal: text that carriage returns,
// backspaces and cursor moves overwrite, or that the program erases, is removed. Otherwise it
// works like Output. Only the last lines can change, so that memory is bounded. The text does
// not depend on how the output is split. The zero value is ready.
type Screen struct {
	Output
	above    strings.Builder // final text that Write did not return yet
	rows     []row           // the lines that may still change
	row, col int             // of the cursor
}

// Bounds of the lines that may still change.
const (
	maxRows    = 100
	maxColumns = 1000 // a longer line becomes final, with all lines above it
	maxBlank   = 256  // blanks that a cursor move may add
)

// A row is a line with a cell for each column; "" continues the character before it.
type row []string

// Played returns the text that a terminal shows for a complete output.
func Played(text string) string {
	var s Screen
	return s.Write([]byte(text)) + s.Close()
}

// Write returns the lines that are final now.
func (s *Screen) Write(p []byte) string {
	s.process(p, false, s.put, s.move)
	text := s.above.String()
	s.above = strings.Builder{}
	return text
}

// Close returns the rest and makes the Screen ready for another text, with its counts.
func (s *Screen) Close() string {
	s.process(nil, true, s.put, s.move)
	text := s.above.String() + s.Rest()
	*s = Screen{Output: s.Output}
	return text
}

// Rest returns the lines that may still change.
func (s *Screen) Rest() string {
	last := len(s.rows) - 1
	for last > s.row && len(s.rows[last]) == 0 {
		last--
	}
	var b strings.Builder
	for i, r := range s.rows[:last+1] {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, c := range r {
			b.WriteString(c)
		}
	}
	return b.String()
}

// put writes text at the cursor.
func (s *Screen) put(p []byte) {
	for i, line := range strings.Split(string(s.pass(p)), "\n") {
		if i > 0 {
			s.down(s.row + 1)
		}
		for line != "" {
			n := s.extend(line)
			if n == 0 {
				_, n = utf8.DecodeRuneInString(line)
				s.place(line[:n])
			}
			line = line[n:]
		}
	}
}

// pass makes lines final that the rest of p will move above the lines that may still change, and returns that
// rest. Text of more than one character is plain.
func (s *Screen) pass(p []byte) []byte {
	if len(p) <= maxRows || s.row < len(s.rows)-1 || s.col != len(*s.line()) {
		return p
	}
	end := len(p)
	for range maxRows + 1 {
		if end = bytes.LastIndexByte(p[:end], '\n'); end < 0 {
			return p
		}
	}
	s.finish()
	s.above.Write(p[:end+1])
	return p[end+1:]
}

// extend writes plain characters after the end of a line, and returns how many.
func (s *Screen) extend(line string) int {
	if s.col >= maxColumns {
		s.finish()
	}
	r := s.line()
	if s.col != len(*r) {
		return 0
	}
	if s.col == 0 && len(s.rows) == 1 {
		if n := (plainRun(line) - 1) / maxColumns * maxColumns; n > 0 { // as finish would
			s.above.WriteString(line[:n])
			return n
		}
	}
	n := plainRun(line[:min(len(line), maxColumns-s.col)])
	*r = slices.Grow(*r, n)
	for i := range n {
		*r = append(*r, line[i:i+1])
	}
	s.col += n
	return n
}

// plainRun returns the number of characters before the first that does not take one byte and one column.
func plainRun(line string) int {
	if line[0] >= utf8.RuneSelf {
		return 0
	}
	if n := strings.IndexByte(line, '\t'); n >= 0 {
		return n
	}
	return len(line)
}

// finish makes all lines final.
func (s *Screen) finish() {
	s.above.WriteString(s.Rest())
	if s.row < len(s.rows)-1 {
		s.above.WriteByte('\n')
	}
	s.rows, s.row, s.col = []row{nil}, 0, 0
}

// line returns the row of the cursor.
func (s *Screen) line() *row {
	if s.rows == nil {
		s.rows = []row{nil}
	}
	return &s.rows[s.row]
}

// down moves the cursor to the beginning of a row, adding one after the last.
func (s *Screen) down(to int) {
	s.row, s.col = min(to, len(s.rows)), 0
	if s.row == len(s.rows) {
		s.rows = append(s.rows, nil)
	}
	if len(s.rows) > maxRows {
		for _, c := range s.rows[0] {
			s.above.WriteString(c)
		}
		s.above.WriteByte('\n')
		s.rows[s.row] = s.rows[0][:0]
		s.rows = s.rows[1:]
		s.row--
	}
}

// place writes one character at the cursor.
func (s *Screen) place(char string) {
	r := s.line()
	width, col := 1, min(s.col, len(*r)+maxBlank)
	switch {
	case char == "\t":
		width = 8 - col%8
	case char[0] >= utf8.RuneSelf:
		first, _ := utf8.DecodeRuneInString(char)
		width = displaywidth.Rune(first)
	}
	if width == 0 && col > 0 && col <= len(*r) { // a mark on the preceding character
		if col = r.start(col - 1); len((*r)[col]) < maxBlank/4 {
			(*r)[col] += char
		}
		return
	}
	s.col = col + max(width, 1)
	r.blank(col, s.col)
	(*r)[col] = char
	clear((*r)[col+1 : s.col])
}

// start returns the column at which the character in a column begins.
func (r row) start(col int) int {
	for col > 0 && r[col] == "" {
		col--
	}
	return col
}

// blank clears the columns from..to, with wide characters at either end cleared completely.
func (r *row) blank(from, to int) {
	for len(*r) < to {
		*r = append(*r, " ")
	}
	for from = r.start(from); from < len(*r) && (from < to || (*r)[from] == ""); from++ {
		(*r)[from] = " "
	}
}

// move handles a control character or sequence, and reports whether it moves the cursor or erases.
func (s *Screen) move(p []byte) bool {
	r, last := s.line(), len(p)-1
	switch {
	case p[0] == '\r':
		s.col = 0
		return true
	case p[0] == '\b':
		s.col = max(s.col-1, 0)
		return true
	case last < 2 || p[1] != '[' || bytes.IndexByte([]byte("ABCDEFGHJKf"), p[last]) < 0:
		return false
	}
	first, second, _ := strings.Cut(string(p[2:last]), ";")
	n, err := strconv.Atoi("0" + first[:min(len(first), 6)])
	col, _ := strconv.Atoi("0" + second[:min(len(second), 6)])
	if err != nil {
		return false
	}
	by := max(n, 1)
	switch p[last] {
	case 'A':
		s.row = max(s.row-by, 0)
	case 'B':
		s.row = min(s.row+by, len(s.rows)-1)
	case 'C':
		s.col += by
	case 'D':
		s.col = max(s.col-by, 0)
	case 'E':
		s.row, s.col = min(s.row+by, len(s.rows)-1), 0
	case 'F':
		s.row, s.col = max(s.row-by, 0), 0
	case 'G':
		s.col = by - 1
	case 'H', 'f':
		s.down(by - 1)
		s.col = max(col, 1) - 1
	case 'J':
		s.rows = s.rows[:s.row+1]
		if n > 1 {
			clear(s.rows)
		}
		r.erase(s.col, n)
	case 'K':
		r.erase(s.col, n)
	}
	return true
}

// erase erases a row from a column on, up to it (1) or as a whole (2, 3).
func (r *row) erase(col, how int) {
	switch {
	case how > 1:
		*r = nil
	case how == 1:
		r.blank(0, min(col+1, len(*r)))
	case col < len(*r):
		r.blank(col, len(*r))
		*r = (*r)[:col]
	}
}
