package console

import (
	"strings"

	"parley/tools/sanitize"
)

// An Output takes what a command writes as it comes, and hands on whole lines.
type Output struct {
	clean sanitize.Stream
	rest  string
}

// Add returns the lines that text makes whole; "" if there is none. A backspace in text takes back
// a character, but not one of a line that was handed on.
func (o *Output) Add(text string) (whole string) {
	o.rest = string(o.clean.Append([]byte(o.rest), text))
	if i := strings.LastIndexByte(o.rest, '\n') + 1; i > 0 {
		whole, o.rest = o.rest[:i], o.rest[i:]
	}
	return whole
}

// Rest returns the line that has no end yet.
func (o *Output) Rest() string { return o.rest }
