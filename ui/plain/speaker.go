package plain

import (
	"fmt"
	"io"
	"strings"

	"parley/ui/safe"
)

// A speaker writes lines, in order and each once. It lets nothing through that
// is not printable.
type speaker struct {
	w    io.Writer // errors are not its matter: a terminal that is gone ends the program in other ways
	open bool      // the last line is unfinished
}

// say writes one line, whatever is in it.
func (s *speaker) say(format string, args ...any) {
	s.end()
	io.WriteString(s.w, safe.Line(fmt.Sprintf(format, args...))+"\n")
}

// block writes text as the lines it has.
func (s *speaker) block(text string) {
	s.end()
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		io.WriteString(s.w, safe.Text(line)+"\n")
	}
}

// text goes on with a line, or with several.
func (s *speaker) text(text string) {
	if text == "" {
		return
	}
	io.WriteString(s.w, safe.Text(text))
	s.open = !strings.HasSuffix(text, "\n")
}

// ask writes what is to be answered on the same line.
func (s *speaker) ask(prompt string) {
	s.end()
	io.WriteString(s.w, safe.Line(prompt))
	s.open = true
}

// end finishes a line.
func (s *speaker) end() {
	if s.open {
		io.WriteString(s.w, "\n")
	}
	s.open = false
}

// entered notes that the terminal's echo of enter has finished the line.
func (s *speaker) entered() { s.open = false }
