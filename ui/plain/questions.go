package plain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/session"
	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/format"
	"parley/ui/plain/console"
)

// answerDelay is how long after a question lines do not answer it, because they were probably
// meant for something else.
const answerDelay = 300 * time.Millisecond

// A question waits for a line. A guarded question ignores pasted lines, and lines typed before
// the user could hear it. An empty line never agrees to anything.
type question struct {
	call     string                 // ID of the tool call in question; "" for none
	describe func()                 // writes the facts that the user needs first; nil for none
	prompt   string                 // written before the user answers
	guarded  bool                   // the answer may allow something
	answer   func(line string) bool // handles a line; false if the line is no answer
	leave    func()                 // called on ctrl+c; nil if the question must be answered
	message  string                 // message waiting for the answer; "" for none
	secret   bool                   // the answer is neither echoed nor stored
	line     bool                   // any text may be an answer

	opened  time.Time
	settled bool // answerDelay has passed
}

// questions holds the unanswered questions, in order.
type questions struct {
	*deps
	input   *input
	waiting []*question
	asked   bool      // the first question has been asked
	ended   *question // question withdrawn after it was asked, until the next line; nil for none
}

// first returns the current or next question; nil if none waits.
func (a *questions) first() *question {
	if len(a.waiting) == 0 {
		return nil
	}
	return a.waiting[0]
}

// open returns the question that has been asked but not answered; nil if there is none.
func (a *questions) open() *question {
	if !a.asked {
		return nil
	}
	return a.first()
}

// enqueue asks q after the questions before it.
func (a *questions) enqueue(q *question) { a.waiting = append(a.waiting, q) }

// enqueueFirst asks q before all others.
func (a *questions) enqueueFirst(q *question) {
	a.waiting = append([]*question{q}, a.waiting...)
	a.asked = false
}

// close removes the first question.
func (a *questions) close() {
	if a.first().secret {
		a.input.echo(true)
	}
	a.waiting = a.waiting[1:]
	a.asked = false
}

// drop withdraws a question, and reports whether it was waiting.
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

// isHidden reports whether the terminal does not echo input.
func (a *questions) isHidden() bool { return a.open() != nil && a.open().secret }

// leave leaves the first question, as ctrl+c does. It returns false if there is none that can be left.
func (a *questions) leave() bool {
	q := a.first()
	if q == nil || q.call != "" || q.leave == nil {
		return false
	}
	a.close()
	q.leave()
	return true
}

// messages returns the messages waiting for the answer to a question.
func (a *questions) messages() []string {
	var texts []string
	for _, q := range a.waiting {
		if q.message != "" {
			texts = append(texts, q.message)
		}
	}
	return texts
}

// dropCalls withdraws all questions about tool calls.
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

// settle asks the first question, or repeats its prompt if other text was written since. It
// reports whether a question waits.
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

// ignoreTypeahead makes a guarded question ignore earlier input.
func (a *questions) ignoreTypeahead(q *question) {
	q.opened, q.settled = a.now(), !q.guarded
	if q.guarded {
		a.input.discard()
	}
}

// due returns when typeahead of the open question is discarded; zero if there is none to discard.
func (a *questions) due() time.Time {
	if q := a.open(); q != nil && !q.settled {
		return q.opened.Add(answerDelay)
	}
	return time.Time{}
}

// tick does the work that is due.
func (a *questions) tick(now time.Time) {
	if due := a.due(); !due.IsZero() && !now.Before(due) {
		a.first().settled = true
		a.input.discard() // a line begun before the user could hear the question
	}
}

// answer passes typed lines, joined as text, to the open question. It returns false if they are a
// separate message.
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

// lateAnswer reports whether text looks like an answer to a withdrawn question: it is as short as
// a number, or a word that answers questions.
func lateAnswer(text string) bool {
	word := strings.ToLower(strings.TrimSpace(text))
	return word != "" && len(word) <= 3 && !strings.HasPrefix(word, "/") || slices.Contains([]string{"wait", "stop", "switch", "again"}, word)
}

// confirm enqueues a yes-or-no question and returns it. It calls decided with the answer; leaving
// the question is a no.
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

// decision returns the question of how to continue a turn, with numbered answers.
func (a *questions) decision(ask session.Question) *question {
	text, answers := wording.Question(ask)
	stop, _ := answerTo(ask, string(session.StopTurn))
	return &question{
		call: fmt.Sprint("question ", ask.ID), guarded: true, prompt: "Number, or nothing to stop:",
		describe: func() {
			a.out.Question(text)
			for i, answer := range answers {
				a.writeLine("%d. %s", i+1, answer)
			}
			ask.MarkShown()
		},
		answer: func(line string) bool {
			n, ok := answerTo(ask, line)
			if line == "" && stop >= 0 {
				n, ok = stop, true
			}
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

// askUser asks a question of the model until it is answered or withdrawn.
func (p *frontend) askUser(m *app.ModelQuestion) {
	q := &question{
		call: "question of the model", guarded: true, prompt: "Number or your own answer, or nothing for no answer:",
		describe: func() {
			p.writeLine("Question %s", strings.TrimLeft(m.Count+" from the model:", " "))
			for line := range strings.SplitSeq(m.Text, "\n") {
				p.writeLine("%s", line)
			}
			for i, c := range m.Choices {
				p.writeLine("%d. %s", i+1, format.Join(", ", c.Title, format.When(i == 0, "recommended"), c.Detail))
			}
		},
		answer: func(line string) bool {
			chosen, text := chosenBy(line, m)
			if text != "" && strings.Trim(text, "0123456789, ") == "" {
				p.writeLine("1 to %d, or your own words.", len(m.Choices))
				return false
			}
			p.apply(m.Answer(chosen, text))
			return true
		},
	}
	if m.Several {
		q.prompt = "Numbers with commas or your own answer, or nothing for no answer:"
	}
	p.questions.enqueue(q)
	p.dropWhenOver(m.Done, nil, q, func() {})
}

// chosenBy returns the choices whose numbers are in a line, or the line if it is something else.
func chosenBy(line string, m *app.ModelQuestion) (chosen []int, text string) {
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == ',' })
	for _, word := range words {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(m.Choices) || len(words) > 1 && !m.Several {
			return nil, line
		}
		chosen = append(chosen, n-1)
	}
	return chosen, ""
}

// answerTo returns the index of the choice meant by a line: its number, or a word such as now, wait or stop, perhaps
// with a slash.
func answerTo(q session.Question, line string) (n int, ok bool) {
	word := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(line)), "/")
	if n, err := strconv.Atoi(word); err == nil {
		return n - 1, n >= 1 && n <= len(q.Choices)
	}
	if word == "now" {
		word = string(session.SwitchModel)
	}
	n = slices.IndexFunc(q.Choices, func(c session.Choice) bool { return string(c.Action) == word })
	return n, n >= 0
}
