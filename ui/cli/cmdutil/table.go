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

// Styled returns a writer to out that removes colors the output does not support.
func Styled(out io.Writer) *colorprofile.Writer {
	return &colorprofile.Writer{Forward: out, Profile: colorprofile.Detect(os.Stdout, os.Environ())}
}

// MarkdownTheme returns the Markdown theme for an output, with the styles that it supports.
func MarkdownTheme(out *colorprofile.Writer) *theme.Theme {
	switch {
	case out.Profile <= colorprofile.NoTTY:
		return theme.Bare()
	case out.Profile == colorprofile.ASCII:
		return theme.Plain()
	}
	return theme.Terminal()
}

// WriteTable writes rows of printable text. All columns except the last have the width of their longest value, and are
// two cells apart. Lines are truncated to width cells; 0 is no limit. A table may have many thousands of rows.
func WriteTable(w io.Writer, width int, table iter.Seq[[]string]) error {
	var widths []int
	for row := range table {
		last := len(row) - 1
		widths = append(widths, make([]int, max(0, last-len(widths)))...)
		for i, cell := range row[:last] {
			widths[i] = max(widths[i], cellWidth(cell))
		}
	}
	out := bufio.NewWriterSize(w, bufferSize) // Flush returns write errors
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

// WriteLines writes the lines of text, truncated to width cells; 0 is no limit.
func WriteLines(w io.Writer, width int, text string) error {
	out := bufio.NewWriterSize(w, bufferSize)
	for line := range strings.Lines(text) {
		writeLine(out, width, []byte(line))
	}
	return out.Flush()
}

// writeLine writes a line without trailing spaces, truncated to width cells.
func writeLine(w *bufio.Writer, width int, line []byte) {
	line = bytes.TrimRight(line, " \n")
	if width > 0 && len(line) > width { // every cell takes at least one byte
		line = []byte(ansi.Truncate(string(line), width, "…"))
	}
	_, _ = w.Write(line)
	_ = w.WriteByte('\n')
}

// cellWidth returns the width of a line in cells; for ASCII that is its length.
func cellWidth(line string) int {
	for i := range len(line) {
		if line[i] >= utf8.RuneSelf {
			return ansi.StringWidth(line)
		}
	}
	return len(line)
}
