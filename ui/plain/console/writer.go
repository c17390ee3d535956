package console

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"parley/tools/sanitize"
	"parley/ui/textwrap"
)

// A Writer writes lines, in order and each once. It removes unprintable
// characters. It does not break words across rows, because a user who reads a
// terminal row by row would read halves of words.
type Writer struct {
	Width func() int // width of the terminal, in cells; nil or 0 if unknown: lines are not broken then

	out      io.Writer // errors are ignored: a terminal that is gone ends the program in other ways
	prompted bool      // the last line holds a prompt
	open     bool      // the last line is unfinished
	col      int       // end of the last line, in cells
	space    bool      // a space precedes the next text, unless it begins a row
	exact    bool      // the last line must not be broken
}

// NewWriter returns a Writer to out. Its Width is the width of out if that is a terminal.
func NewWriter(out io.Writer) *Writer {
	return &Writer{out: out, Width: func() int {
		f, ok := out.(*os.File)
		if !ok {
			return 0
		}
		width, _, _ := term.GetSize(f.Fd())
		return width
	}}
}

// Prompted reports whether the last line holds a prompt.
func (w *Writer) Prompted() bool { return w.prompted }

// ClearPrompt records that the last line no longer holds a prompt.
func (w *Writer) ClearPrompt() { w.prompted = false }

// exactly precedes lines that are not broken, such as code. Text from outside
// cannot contain it, because it is a control character.
const exactly = "\x01"

// narrow is the width in cells below which words may be broken.
const narrow = 20

// WriteLine writes one sanitized line.
func (w *Writer) WriteLine(format string, args ...any) {
	w.End()
	w.words(sanitize.Line(fmt.Sprintf(format, args...)))
	w.End()
}

// Block writes text line by line.
func (w *Writer) Block(text string) {
	w.End()
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		io.WriteString(w.out, sanitize.Text(line)+"\n")
	}
}

// Question writes text line by line. A quoted line is broken into rows that each get the mark
// (sanitize.Quote). Otherwise the terminal would break it into rows that look like parley's own.
func (w *Writer) Question(text string) {
	width := 0
	if w.Width != nil {
		width = w.Width()
	}
	if width <= 0 {
		w.Block(text)
		return
	}
	for line := range strings.SplitSeq(sanitize.Text(strings.TrimRight(text, "\n")), "\n") {
		if strings.HasPrefix(line, sanitize.QuoteMark) {
			line = strings.Join(textwrap.Quoted(line, sanitize.QuoteMark, width), "\n")
		}
		w.Block(line)
	}
}

// Text continues the current line with text, which may have several lines. It never continues the
// line of a prompt.
func (w *Writer) Text(text string) {
	if text != "" && w.prompted {
		w.End()
	}
	for line := range strings.Lines(text) {
		line, whole := strings.CutSuffix(line, "\n")
		if code, ok := strings.CutPrefix(line, exactly); ok {
			w.exact, line = true, code
		}
		if w.exact {
			io.WriteString(w.out, sanitize.Text(line))
			w.open = true
		} else {
			w.words(sanitize.Text(line))
		}
		if whole {
			w.open = true // an empty line is a line too
			w.End()
		}
	}
}

// Ask writes a prompt. The user answers on the same line.
func (w *Writer) Ask(prompt string) {
	w.End()
	w.words(sanitize.Line(prompt))
	if w.space {
		io.WriteString(w.out, " ")
		w.space = false
	}
	w.open, w.prompted = true, true
}

// words continues the line, and begins a new row before a word that does not
// fit. Leading spaces stay. Spaces after a word wait for the next word.
func (w *Writer) words(text string) {
	width := 0
	if w.Width != nil {
		width = w.Width()
	}
	if text == "" {
		return
	}
	var out strings.Builder
	for i, word := range strings.Split(text, " ") {
		if i > 0 {
			if w.space || !w.open { // spaces in a row, or leading ones
				out.WriteByte(' ')
				w.col++
			}
			w.space, w.open = w.open, true
		}
		if word == "" {
			continue
		}
		cells := ansi.StringWidth(word)
		if w.space {
			if width >= narrow && w.col+1+cells > width {
				out.WriteByte('\n')
				w.col = 0
			} else {
				out.WriteByte(' ')
				w.col++
			}
		}
		out.WriteString(word)
		w.col += cells
		w.open, w.space = true, false
	}
	io.WriteString(w.out, out.String())
}

// End ends the current line.
func (w *Writer) End() {
	if w.open {
		io.WriteString(w.out, "\n")
	}
	w.Entered()
}

// Entered records that the terminal's echo of enter has ended the line.
func (w *Writer) Entered() {
	w.open, w.col, w.space, w.exact, w.prompted = false, 0, false, false, false
}

// Echoed records that the line holds the terminal's echo of a key that does not end it.
func (w *Writer) Echoed() { w.open, w.prompted = true, false }
