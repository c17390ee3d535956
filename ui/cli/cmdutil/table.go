package cmdutil

import (
	"bufio"
	"bytes"
	"github.com/charmbracelet/colorprofile"
	"io"
	"iter"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"parley/ui/theme"
)

// OutputWidth returns how many cells a line of standard output has; 0 if it is no terminal.
func OutputWidth() int {
	width, _, _ := term.GetSize(os.Stdout.Fd())
	return width
}

// Styled returns out for text with colors, which are taken out where they do not belong.
func Styled(out io.Writer) *colorprofile.Writer {
	return &colorprofile.Writer{Forward: out, Profile: colorprofile.Detect(os.Stdout, os.Environ())}
}

// MarkdownTheme returns the theme for Markdown on an output, with the styles that reach it.
func MarkdownTheme(out *colorprofile.Writer) *theme.Theme {
	switch {
	case out.Profile <= colorprofile.NoTTY:
		return theme.Bare()
	case out.Profile == colorprofile.ASCII:
		return theme.Plain()
	}
	return theme.Terminal()
}

// WriteTable writes rows of printable text. Their columns but the last are as wide as they have to
// be and two cells apart, and lines are cut to width cells; 0: they are not. A table may have many
// thousands of rows.
func WriteTable(w io.Writer, width int, table iter.Seq[[]string]) error {
	var widths []int
	for row := range table {
		last := len(row) - 1
		widths = append(widths, make([]int, max(0, last-len(widths)))...)
		for i, cell := range row[:last] {
			widths[i] = max(widths[i], cellWidth(cell))
		}
	}
	out := bufio.NewWriterSize(w, bufferSize) // Flush reports the error
	var text []byte
	for row := range table {
		last := len(row) - 1
		text = text[:0]
		for i, cell := range row[:last] {
			text = append(text, cell...)
			for range widths[i] - cellWidth(cell) + 2 {
				text = append(text, ' ')
			}
		}
		text = append(text, row[last]...)
		writeLine(out, width, text)
	}
	return out.Flush()
}

// WriteLines writes the lines of text, cut to width cells; 0: they are not.
func WriteLines(w io.Writer, width int, text string) error {
	out := bufio.NewWriterSize(w, bufferSize)
	for line := range strings.Lines(text) {
		writeLine(out, width, []byte(line))
	}
	return out.Flush()
}

// writeLine writes a line without the spaces at its end, cut to width cells.
func writeLine(w *bufio.Writer, width int, line []byte) {
	line = bytes.TrimRight(line, " \n")
	if width > 0 && len(line) > width { // no cell takes less than a byte
		line = []byte(ansi.Truncate(string(line), width, "…"))
	}
	_, _ = w.Write(line)
	_ = w.WriteByte('\n')
}

// cellWidth returns how many cells a line takes: its bytes, where all of it is ASCII.
func cellWidth(line string) int {
	for i := range len(line) {
		if line[i] >= utf8.RuneSelf {
			return ansi.StringWidth(line)
		}
	}
	return len(line)
}
