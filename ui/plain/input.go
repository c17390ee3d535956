package plain

import (
	"strings"
	"time"

	"parley/ui/plain/console"
)

const (
	// together is the longest pause between lines of one message; only pasted lines come that fast.
	together = 60 * time.Millisecond
	// alone is the shortest pause before a line that can be a command, so that no part of a paste
	// that arrives in pieces runs as one.
	alone = time.Second
)

// An input joins lines into messages.
type input struct {
	keys  *console.Keyboard // nil in tests
	lines chan console.Line // receives from keys

	pending     []console.Line // lines that further lines of the same message may follow
	lastLine    time.Time      // when the last line arrived; zero before the first
	maybePasted bool           // the current message came too soon after lastLine to be a command
	pasted      bool           // part of the current message may have been pasted
	continued   []string       // earlier lines, which ended in a backslash
}

// due returns when the pending lines become a message; zero if there are none.
func (i *input) due() time.Time {
	if n := len(i.pending); n > 0 {
		return i.pending[n-1].At.Add(together)
	}
	return time.Time{}
}

// takeLines removes and returns the pending lines.
func (i *input) takeLines() []console.Line {
	lines := i.pending
	i.pending = nil
	return lines
}

// join returns lines as one text, and reports whether the terminal truncated one of them. lines
// must not be empty.
func (i *input) join(lines []console.Line) (text string, cut bool) {
	var texts []string
	for _, l := range lines {
		texts = append(texts, l.Text)
		cut = cut || l.Cut
	}
	i.maybePasted = !i.lastLine.IsZero() && lines[0].At.Sub(i.lastLine) < alone
	i.pasted = len(lines) > 1 || i.maybePasted || len(i.continued) > 0 && i.pasted
	i.lastLine = lines[len(lines)-1].At
	return strings.Join(texts, "\n"), cut
}

// continues reports whether text ends in a backslash. If so, it keeps text for finish.
func (i *input) continues(text string) bool {
	begun, more := strings.CutSuffix(text, `\`)
	if more {
		i.continued = append(i.continued, begun)
	}
	return more
}

// finish returns text after the lines kept by continues.
func (i *input) finish(text string) string {
	text = strings.Join(append(i.continued, text), "\n")
	i.continued = nil
	return text
}

// prompt returns the prompt for the next line.
func (i *input) prompt() string {
	if len(i.continued) > 0 {
		return "More: "
	}
	return "You: "
}

// discard drops typed but unread input.
func (i *input) discard() {
	if i.keys != nil {
		i.keys.Forget()
	}
}

// echo turns the terminal's echo on or off.
func (i *input) echo(on bool) {
	if i.keys != nil {
		i.keys.Echo(on)
	}
}
