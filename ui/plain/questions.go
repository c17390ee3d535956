package plain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/session"
	"parley/ui/app"
	"parley/ui/plain/console"
)

// answerDelay bounds the time after a question in which no line answers it: one that was on
// its way when it came meant something else.
const answerDelay = 300 * time.Millisecond

// A question waits for a line. One that is guarded is not answered by what was
// typed before it could be heard, nor by what is pasted, and an empty line never
// agrees to anything.
type question struct {
	call     string                 // that it is about; "" for none
	describe func()                 // writes what has to be known
	prompt   string                 // stands in front of the answer
	guarded  bool                   // its answer allows something
	answer   func(line string) bool // false: that was none
	leave    func()                 // ctrl+c; nil: it has to be answered
	message  string                 // that is sent once it is answered; "" for none
	secret   bool                   // its answer is not echoed, and kept nowhere
	line     bool                   // any text may answer it

	opened  time.Time
	settled bool
}

// questions holds those that wait for an answer, in their order.
type questions struct {
	*deps
	input   *input
	waiting []*question
	asked   bool      // the first of them was
	ended   *question // was taken back when it had been asked, and nothing was entered since; nil: none
}

// first returns the question that is asked, or asked next; nil if none waits.
func (a *questions) first() *question {
	if len(a.waiting) == 0 {
		return nil
	}
	return a.waiting[0]
}

// open returns the question that was asked; nil if none was.
func (a *questions) open() *question {
	if !a.asked {
		return nil
	}
	return a.first()
}

// enqueue asks q once those before it are answered.
func (a *questions) enqueue(q *question) { a.waiting = append(a.waiting, q) }

// enqueueFirst asks q before all others.
func (a *questions) enqueueFirst(q *question) {
	a.waiting = append([]*question{q}, a.waiting...)
	a.asked = false
}

// close takes the first question away.
func (a *questions) close() {
	if a.first().secret {
		a.input.echo(true)
	}
	a.waiting = a.waiting[1:]
	a.asked = false
}

// drop takes a question back that needs no answer any more, and reports whether it waited.
func (a *questions) drop(q *question) bool {
	i := slices.Index(a.waiting, q)
	if i == 0 {
		if a.asked {
			a.ended = q
			a.out.ClearPrompt()
		}
		a.close()
	} else if i > 0 {
		a.waiting = slices.Delete(a.waiting, i, i+1)
	}
	return i >= 0
}

// isHidden reports whether what is typed at the moment is shown nowhere.
func (a *questions) isHidden() bool { return a.open() != nil && a.open().secret }

// leave leaves the first question, as ctrl+c does, and reports whether that can be left.
func (a *questions) leave() bool {
	q := a.first()
	if q == nil || q.call != "" || q.leave == nil {
		return false
	}
	a.close()
	q.leave()
	return true
}

// messages returns the messages that wait for an answer.
func (a *questions) messages() []string {
	var texts []string
	for _, q := range a.waiting {
		if q.message != "" {
			texts = append(texts, q.message)
		}
	}
	return texts
}

// dropCalls takes questions about calls away that are over.
func (a *questions) dropCalls() {
	if q := a.first(); q != nil && q.call != "" {
		if a.ended = nil; a.asked {
			a.ended = q
		}
		a.asked = false
		a.out.ClearPrompt()
	}
	a.waiting = slices.DeleteFunc(a.waiting, func(q *question) bool { return q.call != "" })
}

// settle asks the first question, or writes its prompt again where something else was
// said since. It reports whether one waits.
func (a *questions) settle() bool {
	q := a.first()
	switch {
	case q == nil:
		return false
	case !a.asked:
		if q.describe != nil {
			q.describe()
		}
		if q.secret {
			a.input.echo(false)
		}
		a.out.Ask(q.prompt + " ")
		a.asked = true
		a.ignoreTypeahead(q)
	case !a.out.Prompted():
		a.out.Ask(q.prompt + " ")
	}
	return true
}

// ignoreTypeahead makes a guarded question deaf to what was typed so far.
func (a *questions) ignoreTypeahead(q *question) {
	q.opened, q.settled = a.now(), !q.guarded
	if q.guarded {
		a.input.discard()
	}
}

// due returns when what was typed ahead of the open question is thrown away; zero if
// nothing is.
func (a *questions) due() time.Time {
	if q := a.open(); q != nil && !q.settled {
		return q.opened.Add(answerDelay)
	}
	return time.Time{}
}

// tick does what is due by now.
func (a *questions) tick(now time.Time) {
	if due := a.due(); !due.IsZero() && !now.Before(due) {
		a.first().settled = true
		a.input.discard() // a line that was begun before the question could be heard
	}
}

// answer gives the open question what was typed, and reports whether it was meant for it.
func (a *questions) answer(lines []console.Line, text string) bool {
	q := a.open()
	ended := a.ended
	a.ended = nil
	if q == nil && ended != nil && ended.secret {
		a.writeLine("Not sent. The question it may answer has ended.")
		return true
	}
	if q == nil && ended != nil && (ended.line && !strings.HasPrefix(text, "/") || lateAnswer(text)) {
		a.writeLine("Not sent: %s. The question it may answer has ended. Enter it again to send it.", strings.TrimSpace(text))
		return true
	}
	if q == nil {
		return false
	}
	if q.guarded {
		switch at := lines[0].At; {
		case at.Before(q.opened):
			return false
		case at.Before(q.opened.Add(answerDelay)):
			a.writeLine("Ignored, typed before the question: %s", truncate(text, 60))
			a.ignoreTypeahead(q)
			return true
		case len(lines) > 1:
			a.writeLine("Ignored: several lines at once are not an answer.")
			a.ignoreTypeahead(q)
			return true
		}
	}
	a.close()
	if !q.answer(strings.TrimSpace(text)) {
		a.waiting = append([]*question{q}, a.waiting...)
		a.asked = true
		a.ignoreTypeahead(q)
	}
	return true
}

// lateAnswer reports whether text may be meant for a question that was taken back: a number, or
// a word as answers have them.
func lateAnswer(text string) bool {
	word := strings.ToLower(strings.TrimSpace(text))
	return word != "" && len(word) <= 3 && !strings.HasPrefix(word, "/") || slices.Contains([]string{"wait", "stop", "switch", "again"}, word)
}

// confirm asks a question with a yes and a no once those before it are answered, and
// returns it.
func (a *questions) confirm(text, yes, no string, guarded bool, decided func(yes bool)) *question {
	q := &question{
		describe: func() { a.out.Question(text) },
		prompt:   "Type y (" + yes + ") or n (" + no + "):",
		guarded:  guarded,
		answer: func(line string) bool {
			switch strings.ToLower(line) {
			case "y", "yes":
				decided(true)
			case "n", "no":
				decided(false)
			default:
				a.writeLine("Type y or n.")
				return false
			}
			return true
		},
		leave: func() { decided(false) },
	}
	a.enqueue(q)
	return q
}

// decision asks how a turn goes on. Its answers have numbers.
func (a *questions) decision(ask session.Question) *question {
	text, answers := app.QuestionText(ask)
	return &question{
		call: fmt.Sprint("question ", ask.ID), guarded: true, prompt: "Number:",
		describe: func() {
			a.out.Question(text)
			for i, answer := range answers {
				a.writeLine("%d. %s", i+1, answer)
			}
			ask.MarkShown()
		},
		answer: func(line string) bool {
			n, ok := app.AnswerTo(ask, line)
			if !ok {
				ask.StopCountdown()
				a.writeLine("Type one of the numbers.")
				return false
			}
			ask.Reply(n)
			return true
		},
	}
}
