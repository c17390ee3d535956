package plain

import (
	"slices"
	"strconv"
	"strings"

	"parley/ui/app"
	"parley/ui/format"
)

// A choice is a row of a numbered list.
type choice struct {
	name        string
	detail      string
	unavailable bool // cannot be chosen, as detail says
	value       string
}

// maxUnasked limits the rows of a list that are read out unasked.
const maxUnasked = 30

// lists asks for rows of numbered lists.
type lists struct {
	*deps
	input     *input
	questions *questions
	command   func(line string)
}

// choose reads a numbered list out and takes a number or a part of a name. An
// empty line leaves it, and so does a command.
func (l *lists) choose(thing string, rows []choice, chosen func(value string)) {
	l.chooseOr(thing, rows, chosen, nil)
}

// chooseOr does as choose. Left is called when the list is left; nil: nobody has to know.
// It returns the question.
func (l *lists) chooseOr(thing string, rows []choice, chosen func(value string), left func()) *question {
	if left == nil {
		left = func() {}
	}
	q := &question{
		describe: func() {
			l.writeLine("%s:", format.Plural(len(rows), thing))
			l.read(rows, func(r choice) bool { return !r.unavailable || len(rows) <= maxUnasked })
		},
		prompt: "Number or name, or nothing to cancel:",
		answer: func(line string) bool {
			if line == "" {
				l.writeLine("Left.")
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
			case near: // a slip is not to choose
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
			l.writeLine("Left.")
			left()
		},
	}
	l.questions.enqueueFirst(q)
	return q
}

// runCommand carries out a command that leaves a list, and reports whether line is one.
func (l *lists) runCommand(line string) bool {
	command := strings.HasPrefix(line, "/") && isCommand(line) && !l.input.maybePasted
	if command {
		l.command(line)
	}
	return command
}

// read reads the rows out that which reports true for, with their numbers.
func (l *lists) read(rows []choice, which func(choice) bool) {
	told, left := 0, 0
	for i, r := range rows {
		switch {
		case !which(r):
		case told == maxUnasked:
			left++
		default:
			told++
			l.writeLine("%d. %s", i+1, strings.TrimSuffix(r.name+", "+r.detail, ", "))
		}
	}
	if left > 0 {
		l.writeLine("And %d more: type part of a name to narrow the list.", left)
	}
}

// pick takes one of rows: the one that arg names or, without arg, that is chosen.
func (l *lists) pick(thing, arg string, rows []choice, chosen func(value string)) {
	if arg == "" {
		l.choose(thing, rows, chosen)
		return
	}
	var names []string
	for _, r := range rows {
		if r.name == arg {
			chosen(r.value)
			return
		}
		names = append(names, r.name)
	}
	l.writeLine("No %s: %s.", arg, strings.Join(names, ", "))
}

// match finds the rows that a number, a name or a part of one means. A whole name
// means that row alone. Near reports that those found only look like line.
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
	for _, name := range app.NearestNames(line, names, 3) {
		for _, r := range rows {
			if r.name == name {
				found = append(found, r)
			}
		}
	}
	return found, true
}
