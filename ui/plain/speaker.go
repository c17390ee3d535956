package plain

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
)

// A speaker writes lines, in order and each once. It lets nothing through that
// is not printable. Words are kept whole: who reads a terminal row by row would
// otherwise read halves of them.
type speaker struct {
	w     io.Writer  // its errors tell nothing new: that a terminal is gone ends the program in other ways
	width func() int // of the terminal, in cells; nil, or 0: unknown, and lines are not broken
	open  bool       // the last line is unfinished
	col   int        // where it ends, in cells
	space bool       // a space stands before what comes next, unless that begins a row
	exact bool       // the last line is one that stays as it is
}

// exactly stands in front of lines that are not broken, such as code. What comes
// from outside cannot have it: it is a control character.
const exactly = "\x01"

// narrow is the width below which words are not kept whole.
const narrow = 20

// say writes one line, whatever is in it.
func (s *speaker) say(format string, args ...any) {
	s.end()
	s.words(sanitize.Line(fmt.Sprintf(format, args...)))
	s.end()
}

// block writes text as the lines it has.
func (s *speaker) block(text string) {
	s.end()
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		io.WriteString(s.w, sanitize.Text(line)+"\n")
	}
}

// text goes on with a line, or with several.
func (s *speaker) text(text string) {
	for line := range strings.Lines(text) {
		line, whole := strings.CutSuffix(line, "\n")
		if code, ok := strings.CutPrefix(line, exactly); ok {
			s.exact, line = true, code
		}
		if s.exact {
			io.WriteString(s.w, sanitize.Text(line))
			s.open = true
		} else {
			s.words(sanitize.Text(line))
		}
		if whole {
			s.open = true // an empty line is one too
			s.end()
		}
	}
}

// ask writes what is to be answered on the same line.
func (s *speaker) ask(prompt string) {
	s.end()
	s.words(sanitize.Line(prompt))
	if s.space {
		io.WriteString(s.w, " ")
		s.space = false
	}
	s.open = true
}

// words goes on with the line, and begins another row before a word that has no
// room. Spaces in front of a line stay, and those behind a word wait for the next
// one.
func (s *speaker) words(text string) {
	width := 0
	if s.width != nil {
		width = s.width()
	}
	if text == "" {
		return
	}
	var out strings.Builder
	for i, word := range strings.Split(text, " ") {
		if i > 0 {
			if s.space || !s.open { // spaces in a row, or in front
				out.WriteByte(' ')
				s.col++
			}
			s.space, s.open = s.open, true
		}
		if word == "" {
			continue
		}
		cells := ansi.StringWidth(word)
		if s.space {
			if width >= narrow && s.col+1+cells > width {
				out.WriteByte('\n')
				s.col = 0
			} else {
				out.WriteByte(' ')
				s.col++
			}
		}
		out.WriteString(word)
		s.col += cells
		s.open, s.space = true, false
	}
	io.WriteString(s.w, out.String())
}

// end finishes a line.
func (s *speaker) end() {
	if s.open {
		io.WriteString(s.w, "\n")
	}
	s.entered()
}

// entered notes that the terminal's echo of enter has finished the line.
func (s *speaker) entered() { s.open, s.col, s.space, s.exact = false, 0, false, false }
