package plain

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/ui/app"
	"parley/ui/format"
)

// settle is how long a question must have been asked before a line answers it: a
// line on its way when it came meant something else.
const settle = 300 * time.Millisecond

// A question waits for a line. One that is guarded is not answered by what was
// typed before it could be heard, nor by what is pasted, and an empty line never
// agrees to anything.
type question struct {
	call    string                 // that it is about; "" for none
	tell    func()                 // writes what has to be known
	prompt  string                 // stands in front of the answer
	guarded bool                   // its answer allows something
	answer  func(line string) bool // false: that was none
	leave   func()                 // ctrl+c; nil: it has to be answered

	opened  time.Time
	settled bool
}

// question is the one that waits for an answer; nil if none does.
func (p *front) question() *question {
	if len(p.questions) == 0 {
		return nil
	}
	return p.questions[0]
}

// later asks q once those before it are answered.
func (p *front) later(q *question) { p.questions = append(p.questions, q) }

// next asks q before all others.
func (p *front) next(q *question) {
	p.questions = append([]*question{q}, p.questions...)
	p.asked = false
}

// close takes the first question away.
func (p *front) close() {
	p.questions = p.questions[1:]
	p.asked = false
}

// ask writes q.
func (p *front) ask(q *question) {
	if q.tell != nil {
		q.tell()
	}
	p.out.ask(q.prompt + " ")
	p.asked, p.prompted = true, true
	q.arm(p)
}

// arm makes a guarded question deaf to what was typed so far.
func (q *question) arm(p *front) {
	q.opened, q.settled = p.now(), !q.guarded
	if q.guarded {
		p.forget()
	}
}

// forget throws away what was typed and not entered.
func (p *front) forget() {
	if p.keys != nil {
		p.keys.forget()
	}
}

// answer gives q what was typed, and reports whether it was meant for it.
func (p *front) answer(q *question, lines []typed, text string) bool {
	if q.guarded {
		switch at := lines[0].at; {
		case at.Before(q.opened):
			return false
		case at.Before(q.opened.Add(settle)):
			p.say("Dropped, it came too early to be an answer: %s", glance(text, 60))
			q.arm(p)
			return true
		case len(lines) > 1:
			p.say("Dropped, several lines at once are no answer.")
			q.arm(p)
			return true
		}
	}
	p.close()
	if !q.answer(strings.TrimSpace(text)) {
		p.questions = append([]*question{q}, p.questions...)
		p.asked = true
		q.arm(p)
	}
	return true
}

// confirm is a question with a yes and a no.
func (p *front) confirm(text, yes, no string, guarded bool, decided func(yes bool)) *question {
	return &question{
		tell:    func() { p.block(text) },
		prompt:  "Type y to " + yes + ", n to " + no + ":",
		guarded: guarded,
		answer: func(line string) bool {
			switch strings.ToLower(line) {
			case "y", "yes":
				decided(true)
			case "n", "no":
				decided(false)
			default:
				p.say("That was neither y nor n.")
				return false
			}
			return true
		},
		leave: func() { decided(false) },
	}
}

// A choice is a row of a numbered list.
type choice struct {
	name   string
	detail string
	off    bool // cannot be chosen, as detail says
	value  string
}

// few is how many rows of a list are read out unasked.
const few = 30

// choose reads a numbered list out and takes a number or a part of a name. An
// empty line leaves it, and so does a command.
func (p *front) choose(thing string, rows []choice, chosen func(value string)) {
	read := func(which func(choice) bool) {
		told, left := 0, 0
		for i, r := range rows {
			switch {
			case !which(r):
			case told == few:
				left++
			default:
				told++
				p.say("%d. %s", i+1, strings.TrimSuffix(r.name+", "+r.detail, ", "))
			}
		}
		if left > 0 {
			p.say("And %d more: type a part of a name to hear those.", left)
		}
	}
	p.next(&question{
		tell: func() {
			p.say("%s:", format.Plural(len(rows), thing))
			read(func(r choice) bool { return !r.off || len(rows) <= few })
		},
		prompt: "Number or name, or nothing to leave:",
		answer: func(line string) bool {
			if line == "" {
				p.say("Left.")
				return true
			}
			if strings.HasPrefix(line, "/") && commanding(line) && !p.typing.hasty {
				p.command(line)
				return true
			}
			found, near := match(rows, line)
			switch {
			case len(found) == 0:
				p.say("There is no %s in the list.", line)
				return false
			case near: // a slip is not to choose
				p.say("There is no %s in the list. Did you mean:", line)
				read(func(r choice) bool { return slices.Contains(found, r) })
				return false
			case len(found) > 1:
				p.say("%d match:", len(found))
				read(func(r choice) bool { return slices.Contains(found, r) })
				return false
			case found[0].off:
				p.say("%s cannot be chosen: %s", found[0].name, found[0].detail)
				return false
			}
			chosen(found[0].value)
			return true
		},
		leave: func() { p.say("Left.") },
	})
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
	for _, r := range rows {
		if strings.EqualFold(r.name, line) {
			return []choice{r}, false
		}
		if strings.Contains(strings.ToLower(r.name), strings.ToLower(line)) {
			found = append(found, r)
		}
	}
	if len(found) > 0 {
		return found, false
	}
	var names []string
	for _, r := range rows {
		names = append(names, r.name)
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
