package sanitize

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// A Screen plays the output of a program as a terminal does: text that carriage returns,
// backspaces and cursor moves overwrite, or that the program erases, is gone. For the rest it
// does as Output. Only the last lines can change, so that memory is bounded. The text does not
// depend on how the output is cut into pieces. The zero value is ready.
type Screen struct {
	Output
	above strings.Builder // lines that left since the last Write
	rows  []row           // the lines that may still change
	row   int             // the cursor's
	col   int             // the cursor's; atEnd is behind the text of a row without cells
	size  int             // bytes of the rows
}

// Bounds of the lines that may still change, and of the blanks that a cursor move may add.
const (
	maxRows  = 100
	maxSize  = 8 << 10
	maxBlank = 256
)

const atEnd = -1

// A row is a line. It has cells once the cursor moved within it.
type row struct {
	text  []byte
	cells []string // one for each column; "" continues the wide character or tab before it
}

func (r *row) String() string {
	if r.cells == nil {
		return string(r.text)
	}
	return strings.TrimRight(strings.Join(r.cells, ""), " ")
}

// Played returns what a terminal shows of a whole output.
func Played(text string) string {
	var s Screen
	return s.Write([]byte(text)) + s.Close()
}

// Write returns the lines that can no longer change.
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
	var b strings.Builder
	last := len(s.rows) - 1
	for last > s.row && s.rows[last].String() == "" {
		last--
	}
	for i := range last + 1 {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(s.rows[i].String())
	}
	return b.String()
}

// put writes text at the cursor.
func (s *Screen) put(p []byte) {
	for more := len(p) > 0; more; {
		var line []byte
		line, p, more = bytes.Cut(p, []byte("\n"))
		for len(line) > 0 {
			line = line[s.write(line):]
		}
		if more {
			s.cursor()
			s.down(s.row + 1)
		}
	}
}

// down moves the cursor to the beginning of a row, which is a new one behind the last.
func (s *Screen) down(to int) {
	s.row, s.col = min(to, len(s.rows)), 0
	if s.row == len(s.rows) {
		s.rows = append(s.rows, row{})
	}
	if len(s.rows) > maxRows {
		s.scroll()
	}
}

// cursor returns the row of the cursor.
func (s *Screen) cursor() *row {
	if s.rows == nil {
		s.rows = []row{{}}
	}
	return &s.rows[s.row]
}

// write writes the beginning of a line at the cursor and returns its length; 0 where it had to
// make room first.
func (s *Screen) write(p []byte) int {
	r := s.cursor()
	if r.cells == nil && len(r.text) == 0 && s.col == 0 {
		s.col = atEnd
	}
	n := min(len(p), maxSize-s.size)
	if s.col != atEnd {
		_, n = utf8.DecodeRune(p)
		if s.size+n+maxBlank > maxSize {
			n = 0
		}
	}
	for n > 0 && n < len(p) && !utf8.RuneStart(p[n]) {
		n--
	}
	switch {
	case n <= 0:
		s.scroll()
		return 0
	case s.col == atEnd:
		r.text = append(r.text, p[:n]...)
		s.size += n
	default:
		s.place(string(p[:n]))
	}
	return n
}

// scroll lets the first row leave, or all rows if the cursor is in it.
func (s *Screen) scroll() {
	if s.row == 0 {
		s.above.WriteString(s.Rest())
		if len(s.rows) > 1 {
			s.above.WriteByte('\n')
		}
		s.rows, s.col, s.size = []row{{}}, atEnd, 0
		return
	}
	s.above.WriteString(s.rows[0].String() + "\n")
	s.size -= s.rows[0].size()
	free := s.rows[0].text[:0]
	s.rows = s.rows[1:]
	if last := &s.rows[len(s.rows)-1]; last.text == nil {
		last.text = free
	}
	s.row--
}

func (r *row) size() (n int) {
	n = len(r.text)
	for _, c := range r.cells {
		n += len(c)
	}
	return n
}

// column returns the column of the cursor, whose row has cells then.
func (s *Screen) column() int {
	r := s.cursor()
	if r.cells == nil {
		col, text := s.col, r.text
		r.text, r.cells, s.col = nil, []string{}, 0
		s.size -= len(text)
		for len(text) > 0 {
			_, n := utf8.DecodeRune(text)
			s.place(string(text[:n]))
			text = text[n:]
		}
		if col != atEnd {
			s.col = col
		}
	}
	return s.col
}

// place writes one character into the cells at the cursor.
func (s *Screen) place(char string) {
	col := s.column()
	r := s.cursor()
	first, _ := utf8.DecodeRuneInString(char)
	width := ansi.StringWidth(string(first))
	switch {
	case first == '\t' && col < len(r.cells):
		s.col = col/8*8 + 8
		return
	case first == '\t':
		width = 8 - col%8
	case width == 0 && col > 0 && col <= len(r.cells): // a mark on the character before
		if col = r.start(col - 1); len(r.cells[col]) < maxBlank/4 {
			s.set(col, r.cells[col]+char)
		}
		return
	}
	width = max(width, 1)
	col = min(col, len(r.cells)+maxBlank)
	s.blank(col, col+width)
	s.set(col, char)
	for i := col + 1; i < col+width; i++ {
		s.set(i, "")
	}
	s.col = col + width
}

// start returns the column at which the character in a column begins.
func (r *row) start(col int) int {
	for col > 0 && r.cells[col] == "" {
		col--
	}
	return col
}

// set sets a cell of the cursor's row.
func (s *Screen) set(col int, text string) {
	cell := &s.cursor().cells[col]
	s.size += len(text) - len(*cell)
	*cell = text
}

// blank makes the columns from up to to blank, with the whole of wide characters at either end.
func (s *Screen) blank(from, to int) {
	r := s.cursor()
	for len(r.cells) < to {
		r.cells = append(r.cells, " ")
		s.size++
	}
	from = r.start(from)
	for to < len(r.cells) && r.cells[to] == "" {
		to++
	}
	for i, c := range r.cells[from:to] {
		r.cells[from+i] = " "
		s.size += 1 - len(c)
	}
}

// move obeys a control character or sequence, and reports whether it moves the cursor or erases.
func (s *Screen) move(p []byte) bool {
	switch {
	case p[0] == '\r':
		s.col = 0
		return true
	case p[0] == '\b':
		s.col = max(s.column()-1, 0)
		return true
	case len(p) < 3 || p[1] != '[':
		return false
	}
	final := p[len(p)-1]
	first, second, _ := strings.Cut(string(p[2:len(p)-1]), ";")
	n, ok := parameter(first)
	m, fits := parameter(second)
	if !ok || !fits || strings.IndexByte("ABCDEFGHJK`f", final) < 0 {
		return false
	}
	col, by := s.column(), max(n, 1)
	switch final {
	case 'A':
		s.row = max(s.row-by, 0)
	case 'B':
		s.row = min(s.row+by, len(s.rows)-1)
	case 'C':
		s.col = col + by
	case 'D':
		s.col = max(col-by, 0)
	case 'E':
		s.row, s.col = min(s.row+by, len(s.rows)-1), 0
	case 'F':
		s.row, s.col = max(s.row-by, 0), 0
	case 'G', '`':
		s.col = by - 1
	case 'H', 'f':
		s.down(by - 1)
		s.col = max(m, 1) - 1
	case 'J':
		s.eraseScreen(n)
	case 'K':
		s.eraseLine(n)
	}
	return true
}

// parameter reads a number of a control sequence; "" is 0.
func parameter(text string) (n int, ok bool) {
	if text == "" {
		return 0, true
	}
	n, err := strconv.Atoi(text[:min(len(text), 6)])
	return n, err == nil && n >= 0
}

// eraseLine erases the cursor's row behind the cursor, before it (1) or all of it (2).
func (s *Screen) eraseLine(how int) {
	r, col := s.cursor(), s.column()
	switch {
	case how == 1:
		s.blank(0, min(col+1, len(r.cells)))
	case how == 2:
		col = 0
		fallthrough
	case col < len(r.cells):
		s.blank(col, len(r.cells))
		s.size -= len(r.cells) - col
		r.cells = r.cells[:col]
	}
}

// eraseScreen erases the rows behind the cursor, before it (1) or all of them (2, 3).
func (s *Screen) eraseScreen(how int) {
	for i := range s.rows {
		if r := &s.rows[i]; i < s.row && how > 0 || i > s.row && how != 1 {
			s.size -= r.size()
			*r = row{}
		}
	}
	s.eraseLine(min(how, 2))
}
