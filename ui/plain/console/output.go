package console

import (
	"strings"

	"parley/tools/sanitize"
)

// An Output collects the output of a command and returns whole lines.
type Output struct {
	clean sanitize.Stream
	rest  string
}

// Add returns the lines that text completes; "" for none. A backspace in text removes a character,
// but not one of a line already returned.
func (o *Output) Add(text string) (whole string) {
	o.rest = string(o.clean.Append([]byte(o.rest), text))
	if i := strings.LastIndexByte(o.rest, '\n') + 1; i > 0 {
		whole, o.rest = o.rest[:i], o.rest[i:]
	}
	return whole
}

// Rest returns the incomplete last line.
func (o *Output) Rest() string { return o.rest }
