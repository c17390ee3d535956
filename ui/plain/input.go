package plain

import (
	"strings"
	"time"

	"parley/ui/plain/console"
)

const (
	// together is how soon behind one another lines come that are one message: as
	// fast as that they are pasted.
	together = 60 * time.Millisecond
	// alone is how long nothing may have come before a line that is a command: what is
	// pasted in pieces commands nothing.
	alone = time.Second
)

// An input joins the lines that are typed to messages.
type input struct {
	keys  *console.Keyboard // nil in tests
	lines chan console.Line // that keys reads

	held        []console.Line // lines that may not be the last of their message
	lastLine    time.Time      // when the last line did; zero if none has
	maybePasted bool           // the message at hand came too soon behind that to command anything
	pasted      bool           // of the message at hand, something came with or too soon behind other lines
	continued   []string       // lines that ended in a backslash
}

// due returns when the lines that are held are a message; zero if none are.
func (i *input) due() time.Time {
	if n := len(i.held); n > 0 {
		return i.held[n-1].At.Add(together)
	}
	return time.Time{}
}

// takeLines returns the lines that are held, and holds none.
func (i *input) takeLines() []console.Line {
	held := i.held
	i.held = nil
	return held
}

// join returns lines that were typed or pasted at once as one text, and whether the
// terminal dropped a part of it.
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

// continues reports whether text ends in a backslash, and keeps it for the message then.
func (i *input) continues(text string) bool {
	begun, more := strings.CutSuffix(text, `\`)
	if more {
		i.continued = append(i.continued, begun)
	}
	return more
}

// finish returns text behind the lines that were begun.
func (i *input) finish(text string) string {
	text = strings.Join(append(i.continued, text), "\n")
	i.continued = nil
	return text
}

// prompt returns what stands in front of the next line.
func (i *input) prompt() string {
	if len(i.continued) > 0 {
		return "More: "
	}
	return "You: "
}

// discard throws away what was typed and not entered.
func (i *input) discard() {
	if i.keys != nil {
		i.keys.Forget()
	}
}

// echo has the terminal show what is typed, or not.
func (i *input) echo(on bool) {
	if i.keys != nil {
		i.keys.Echo(on)
	}
}
