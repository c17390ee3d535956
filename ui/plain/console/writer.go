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

// A Writer writes lines, in order and each once. It lets nothing through that
// is not printable. Words are kept whole: who reads a terminal row by row would
// otherwise read halves of them.
type Writer struct {
	Width func() int // of the terminal, in cells; nil, or 0: unknown, and lines are not broken

	out      io.Writer // its errors tell nothing new: that a terminal is gone ends the program in other ways
	prompted bool      // a prompt stands on the last line
	open     bool      // the last line is unfinished
	col      int       // where it ends, in cells
	space    bool      // a space stands before what comes next, unless that begins a row
	exact    bool      // the last line is one that stays as it is
}

// NewWriter returns a Writer to out, as wide as that is if it is a terminal.
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

// Prompted reports whether a prompt stands on the last line.
func (w *Writer) Prompted() bool { return w.prompted }

// ClearPrompt notes that the prompt on the last line is none any more.
func (w *Writer) ClearPrompt() { w.prompted = false }

// exactly precedes lines that are not broken, such as code. Text
// from outside cannot contain it: it is a control character.
const exactly = "\x01"

// narrow holds the cells below which words are not kept whole.
const narrow = 20

// WriteLine writes one line, whatever is in it.
func (w *Writer) WriteLine(format string, args ...any) {
	w.End()
	w.words(sanitize.Line(fmt.Sprintf(format, args...)))
	w.End()
}

// Block writes text as the lines it has.
func (w *Writer) Block(text string) {
	w.End()
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		io.WriteString(w.out, sanitize.Text(line)+"\n")
	}
}

// Question writes text as the lines it has. One that is quoted is broken into rows, each with the mark
// (sanitize.Quote): the terminal would break it into rows that pass for parley's own.
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

// Text goes on with a line, or with several, but not with that of a prompt.
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
			w.open = true // an empty line is one too
			w.End()
		}
	}
}

// Ask writes a prompt, which is answered on the same line.
func (w *Writer) Ask(prompt string) {
	w.End()
	w.words(sanitize.Line(prompt))
	if w.space {
		io.WriteString(w.out, " ")
		w.space = false
	}
	w.open, w.prompted = true, true
}

// words continues the line, and begins another row before a word that has no
// room. Spaces before a line stay, and those after a word wait for the next
// one.
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

// End finishes a line.
func (w *Writer) End() {
	if w.open {
		io.WriteString(w.out, "\n")
	}
	w.Entered()
}

// Entered notes that the terminal's echo of enter has finished the line.
func (w *Writer) Entered() {
	w.open, w.col, w.space, w.exact, w.prompted = false, 0, false, false, false
}

// Echoed notes that the terminal's echo of a key that ends no line stands there.
func (w *Writer) Echoed() { w.open, w.prompted = true, false }
