// Package checklist reads the steps of a plan: lines of Markdown that begin with "- [ ]", as
// GitHub has them, and with "- [>]" for the one that is under way.
package checklist

import "strings"

// A Mark says how far a step is.
type Mark byte

// The marks.
const (
	Pending Mark = ' '
	Current Mark = '>'
	Done    Mark = 'x'
)

// Step returns the mark and the text of a line that is a step; false for another one.
func Step(line string) (mark Mark, text string, ok bool) {
	line = strings.TrimSpace(line)
	if len(line) < 2 || !strings.Contains("-*+", line[:1]) {
		return 0, "", false
	}
	rest := strings.TrimLeft(line[1:], " ")
	if len(rest) < 3 || rest[0] != '[' || rest[2] != ']' {
		return 0, "", false
	}
	switch mark = Mark(rest[1]); mark {
	case 'X':
		mark = Done
	case Pending, Current, Done:
	default:
		return 0, "", false
	}
	return mark, strings.TrimSpace(rest[3:]), true
}
