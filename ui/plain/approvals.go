package plain

import (
	"strconv"
	"strings"

	"parley/session"
	"parley/tools/act"
	"parley/ui/describe"
)

// approvals asks the user to allow tool calls.
type approvals struct {
	*deps
	questions *questions
	editor    *editor
}

// question returns the question whether a call may run. It writes the complete call first, so that
// the user hears it before they can answer.
func (a *approvals) question(ask session.ApprovalRequest) *question {
	choices := describe.Choices(ask.Action, true, false)
	write := func(details bool) {
		a.writeLine("%s", describe.Title(ask.Action))
		a.out.Block(strings.Join(describe.Words(ask.Action, details), "\n"))
		for i, c := range choices {
			listed := answers[c].listed
			if c == describe.DenyCall && ask.Action.OfPrompt { // the denial reaches no model
				listed = "n"
			}
			a.writeLine("%d. %s (%s)", i+1, choiceText(c, ask.Action), listed)
		}
	}
	q := &question{call: ask.Call.ID, prompt: "Number or letter (? for details):", guarded: true, describe: func() { write(false) }}
	q.answer = func(line string) bool {
		word, note, _ := strings.Cut(line, " ")
		word = strings.ToLower(word)
		if line == "?" {
			write(true)
			return false
		}
		choice := choiceOf(choices, word)
		if choice == describe.NoChoice || note != "" && word != denyWithReason {
			a.writeLine("Type one of the numbers or letters and nothing else.")
			return false
		}
		if word == denyWithReason && note == "" && !ask.Action.OfPrompt {
			a.askReason(ask)
			return true
		}
		a.applyChoice(ask, choice, strings.TrimSpace(note))
		return true
	}
	return q
}

// denyWithReason is the letter that denies a call and asks for a reason for the model.
const denyWithReason = "d"

// answers maps each choice to its letters, and to their text in the list of choices.
var answers = map[describe.Choice]struct{ letters, listed string }{
	describe.AllowOnce: {"y", "y"}, describe.AllowSession: {"a", "a"}, describe.AlwaysAllow: {"p", "p"},
	describe.DenyCall: {"n" + denyWithReason, "n, or " + denyWithReason + " with a reason"}, describe.EditArguments: {"e", "e"}, describe.WithNetwork: {"w", "w"},
}

// choiceOf returns the choice with the number or letter in word, or NoChoice.
func choiceOf(choices []describe.Choice, word string) describe.Choice {
	for i, c := range choices {
		if word == strconv.Itoa(i+1) || len(word) == 1 && strings.Contains(answers[c].letters, word) {
			return c
		}
	}
	return describe.NoChoice
}

// choiceText describes a choice. It shortens a long name to its end, because the user heard all of
// it in the question.
func choiceText(c describe.Choice, action *act.Action) string {
	const most = 40 // characters of a name
	session := "Allow this session"
	if what, name := describe.SessionScope(action); name != "" {
		if r := []rune(name); len(r) > most {
			name = "…" + string(r[len(r)-most:])
		}
		session = "Allow " + what + name + " this session"
	}
	return c.Phrase(action, session, false)
}

// applyChoice answers an approval request, or first asks for further input that the choice needs.
func (a *approvals) applyChoice(ask session.ApprovalRequest, choice describe.Choice, note string) {
	switch choice {
	case describe.AlwaysAllow:
		a.askRule(ask)
	case describe.EditArguments:
		a.editArguments(ask)
	default:
		ask.Reply(approvalOf(choice, note))
	}
}

// approvalOf returns the approval for a choice that needs no further input. Any other choice denies.
func approvalOf(choice describe.Choice, note string) act.Approval {
	switch choice {
	case describe.AllowOnce:
		return act.Approval{Verdict: act.Allow}
	case describe.AllowSession:
		return act.Approval{Verdict: act.Allow, Session: true}
	case describe.WithNetwork:
		return act.Approval{Verdict: act.Allow, Network: true}
	}
	return act.Approval{Verdict: act.Deny, Note: note}
}

// askReason asks for a note that goes to the model with a denial.
func (a *approvals) askReason(ask session.ApprovalRequest) {
	a.questions.enqueueFirst(&question{call: ask.Call.ID, prompt: "Reason for the model (optional):", answer: func(line string) bool {
		ask.Reply(act.Approval{Verdict: act.Deny, Note: line})
		return true
	}})
}

// askRule asks which permission rule to store: one for exactly this action, or for a prefix of it.
func (a *approvals) askRule(ask session.ApprovalRequest) {
	prefixes, why := ask.Policy.PrefixLengths(ask.Action)
	prefixes = append([]int{0}, prefixes...)
	a.questions.enqueueFirst(&question{
		call: ask.Call.ID, guarded: true, prompt: "Which rule? Its number, or nothing to go back:",
		describe: func() {
			a.writeLine("It runs now, and later without asking by one of these rules:")
			for i, n := range prefixes {
				rule, means, err := describe.Rule(ask.Policy, ask.Action, n)
				if err != nil {
					rule, means = "none", sentence(oneLine(err.Error()))
				}
				a.writeLine("%d. %s. %s", i+1, rule, means)
			}
			if why != "" {
				a.writeLine("Cannot be widened: %s.", why)
			}
		},
		answer: func(line string) bool {
			if line == "" {
				a.questions.enqueueFirst(a.question(ask))
				return true
			}
			n, err := strconv.Atoi(line)
			if err != nil || n < 1 || n > len(prefixes) {
				a.writeLine("No rule %s.", line)
				return false
			}
			ask.Reply(act.Approval{Verdict: act.Allow, Always: true, PrefixWords: prefixes[n-1]})
			return true
		},
	})
}

// editArguments lets the user change the arguments, in their editor if there is one. The result is a
// new call, which the session submits for approval again.
func (a *approvals) editArguments(ask session.ApprovalRequest) {
	action := ask.Action
	name, text := describe.Editable(action)
	use := func(written string) {
		input, err := describe.Arguments(action, name, written)
		switch {
		case err != nil:
			a.writeError(err)
		case input == string(action.Input) || written == text:
			a.writeLine("Nothing changed.")
		default:
			ask.Reply(act.Approval{Verdict: act.Allow, Input: input})
			return
		}
		a.questions.enqueueFirst(a.question(ask))
	}
	if written, err := a.editor.edit(text); err == nil {
		use(written)
		return
	}
	what := "arguments, as JSON on one line"
	if name != "" {
		what = name
	}
	a.questions.enqueueFirst(&question{call: ask.Call.ID, prompt: "New " + what + ", or nothing to go back:", answer: func(line string) bool {
		if line == "" {
			a.questions.enqueueFirst(a.question(ask))
		} else {
			use(line)
		}
		return true
	}})
}
