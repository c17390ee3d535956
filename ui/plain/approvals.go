package plain

import (
	"strconv"
	"strings"

	"parley/session"
	"parley/tools"
	"parley/ui/describe"
)

// approvals asks about calls that the user has to allow.
type approvals struct {
	*desk
	questions *questions
	editor    *editor
}

// question asks whether a call may run. All of it is written before the question,
// so that it is heard before it can be answered.
func (a *approvals) question(ask session.ApprovalRequest) *question {
	action := ask.Action
	reply := func(answer tools.Approval) bool {
		ask.Reply(answer)
		return true
	}
	tell := func(details bool) {
		a.say("%s", describe.Title(action))
		a.out.Block(strings.Join(describe.Words(action, details), "\n"))
	}
	once, further := "y allow once", ", a allow this session, p always allow"
	if action.Sandboxed && !action.Network {
		once += ", w allow with network"
	}
	if action.AskEachTime {
		further = ""
	}
	options := once + further + ", e edit, n deny, d deny with a reason, ? details"
	q := &question{call: ask.Call.ID, prompt: "Allow? " + options + ":", guarded: true, tell: func() { tell(false) }}
	q.answer = func(line string) bool {
		word, note, _ := strings.Cut(line, " ")
		if note != "" && word != "d" {
			word = ""
		}
		switch strings.ToLower(word) {
		case "y":
			return reply(tools.Approval{Verdict: tools.Allow})
		case "w":
			if action.Sandboxed && !action.Network {
				return reply(tools.Approval{Verdict: tools.Allow, Network: true})
			}
		case "a":
			if !action.AskEachTime {
				return reply(tools.Approval{Verdict: tools.Allow, Session: true})
			}
		case "p":
			if !action.AskEachTime {
				a.always(ask)
				return true
			}
		case "e":
			a.edit(ask)
			return true
		case "n":
			return reply(tools.Approval{Verdict: tools.Deny})
		case "d":
			if note != "" {
				return reply(tools.Approval{Verdict: tools.Deny, Note: strings.TrimSpace(note)})
			}
			a.note(ask)
			return true
		case "?":
			tell(true)
			return false
		}
		a.say("Type one of the letters and nothing else.")
		return false
	}
	return q
}

// note asks what to tell the model with a no.
func (a *approvals) note(ask session.ApprovalRequest) {
	a.questions.next(&question{call: ask.Call.ID, prompt: "Reason for the model (optional):", answer: func(line string) bool {
		ask.Reply(tools.Approval{Verdict: tools.Deny, Note: line})
		return true
	}})
}

// always asks which rule is to be remembered: for exactly this, or for what begins
// like it.
func (a *approvals) always(ask session.ApprovalRequest) {
	prefixes, why := tools.PrefixLengths(ask.Action)
	prefixes = append([]int{0}, prefixes...)
	a.questions.next(&question{
		call: ask.Call.ID, guarded: true, prompt: "Which rule? Its number, or nothing to go back:",
		tell: func() {
			a.say("It runs now, and later without asking by one of these rules:")
			for i, n := range prefixes {
				rule, means, err := describe.Rule(ask.Action, n)
				if err != nil {
					rule, means = "none", sentence(oneLine(err.Error()))
				}
				a.say("%d. %s. %s", i+1, rule, means)
			}
			if why != "" {
				a.say("Cannot be widened: %s.", why)
			}
		},
		answer: func(line string) bool {
			if line == "" {
				a.questions.next(a.question(ask))
				return true
			}
			n, err := strconv.Atoi(line)
			if err != nil || n < 1 || n > len(prefixes) {
				a.say("No rule %s.", line)
				return false
			}
			ask.Reply(tools.Approval{Verdict: tools.Allow, Always: true, PrefixWords: prefixes[n-1]})
			return true
		},
	})
}

// edit has the arguments changed, in the user's editor if there is one. That is
// another call, about which the session asks anew.
func (a *approvals) edit(ask session.ApprovalRequest) {
	action := ask.Action
	name, text := describe.Editable(action)
	use := func(written string) bool {
		input, err := describe.Arguments(action, name, written)
		switch {
		case err != nil:
			a.fail(err)
		case input == string(action.Input) || written == text:
			a.say("Nothing changed.")
		default:
			ask.Reply(tools.Approval{Verdict: tools.Allow, Input: input})
			return true
		}
		a.questions.next(a.question(ask))
		return false
	}
	if written, err := a.editor.edit(text); err == nil {
		use(written)
		return
	}
	what := "arguments, as JSON on one line"
	if name != "" {
		what = name
	}
	a.questions.next(&question{call: ask.Call.ID, prompt: "New " + what + ", or nothing to go back:", answer: func(line string) bool {
		if line == "" {
			a.questions.next(a.question(ask))
		} else {
			use(line)
		}
		return true
	}})
}
