package plain

import (
	"slices"
	"strconv"
	"strings"

	"parley/providers/similar"
	"parley/ui/format"
)

// A choice is a row of a numbered list.
type choice struct {
	name        string
	detail      string
	unavailable bool // cannot be chosen; detail gives the reason
	value       string
}

// maxUnasked is the maximum number of rows read out at once.
const maxUnasked = 30

// lists lets the user choose from numbered lists.
type lists struct {
	*deps
	input     *input
	questions *questions
	command   func(line string) bool
}

// choose writes a numbered list and asks for a number or a part of a name. An empty line or a
// command leaves the list. thing is the singular of the listed things.
func (l *lists) choose(thing string, rows []choice, chosen func(value string)) {
	l.chooseOr("", thing, rows, chosen, nil)
}

// chooseOr is like choose, with a title that states the purpose, which may be "", and with left,
// which is called when the user leaves the list and may be nil. It returns the question.
func (l *lists) chooseOr(title, thing string, rows []choice, chosen func(value string), left func()) *question {
	if left == nil {
		left = func() {}
	}
	q := &question{
		describe: func() {
			what := format.Plural(len(rows), thing) + ":"
			if title != "" && !strings.EqualFold(title, thing+"s") {
				what = sentence(oneLine(title)) + " " + what
			}
			l.writeLine("%s", what)
			l.read(rows, func(r choice) bool { return !r.unavailable || len(rows) <= maxUnasked })
		},
		prompt: "Number or name, or nothing to cancel:",
		answer: func(line string) bool {
			if line == "" {
				l.writeLine("Canceled.")
				left()
				return true
			}
			if l.runCommand(line) {
				left()
				return true
			}
			found, near := match(rows, line)
			among := func(r choice) bool { return slices.Contains(found, r) }
			switch {
			case len(found) == 0:
				l.writeLine("No %s in the list.", line)
				return false
			case near: // a misspelled name must not choose
				l.writeLine("No %s in the list. Did you mean:", line)
				l.read(rows, among)
				return false
			case len(found) > 1:
				l.writeLine("%d match:", len(found))
				l.read(rows, among)
				return false
			case found[0].unavailable:
				l.writeLine("%s cannot be chosen: %s", found[0].name, found[0].detail)
				return false
			}
			chosen(found[0].value)
			return true
		},
		leave: func() {
			l.writeLine("Canceled.")
			left()
		},
	}
	l.questions.enqueueFirst(q)
	return q
}

// runCommand runs line if it is a command, and reports whether it is.
func (l *lists) runCommand(line string) bool {
	return !l.input.maybePasted && !strings.Contains(line, "\n") && l.command(line)
}

// read writes the rows for which which returns true, with their numbers.
func (l *lists) read(rows []choice, which func(choice) bool) {
	written, left := 0, 0
	for i, r := range rows {
		switch {
		case !which(r):
		case written == maxUnasked:
			left++
		default:
			written++
			l.writeLine("%d. %s", i+1, format.Join(", ", r.name, r.detail))
		}
	}
	if left > 0 {
		l.writeLine("And %d more: type part of a name to narrow the list.", left)
	}
}

// match returns the rows with the number, name or part of a name in line. For a full name it
// returns only that row. near reports that the names only resemble line.
func match(rows []choice, line string) (found []choice, near bool) {
	if n, err := strconv.Atoi(line); err == nil {
		if n < 1 || n > len(rows) {
			return nil, false
		}
		return rows[n-1 : n], false
	}
	var names []string
	for _, r := range rows {
		if strings.EqualFold(r.name, line) {
			return []choice{r}, false
		}
		if strings.Contains(strings.ToLower(r.name), strings.ToLower(line)) {
			found = append(found, r)
		}
		names = append(names, r.name)
	}
	if len(found) > 0 {
		return found, false
	}
	for _, name := range similar.Names(line, names, 3) {
		for _, r := range rows {
			if r.name == name {
				found = append(found, r)
			}
		}
	}
	return found, true
}
