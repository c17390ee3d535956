package wording

import (
	"fmt"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/format"
)

// Question returns the text of a question, and its answers in the order of its choices.
func Question(q session.Question) (text string, answers []string) {
	switch about := q.About.(type) {
	case session.Failure:
		text = about.From + ": " + Error(about.Err)
		if about.Visible {
			text += "\nThe answer stopped halfway. A new one replaces it; this one stays on a branch."
		}
	case session.Overflow:
		text = fmt.Sprintf("Too long for %s: about %s tokens, and its context window is %s. Not sent yet.",
			about.Model, format.Tokens(about.Tokens), format.Tokens(about.Window))
		if about.Widen != "" {
			text += "\nTo make it larger, " + about.Widen + "."
		}
	case session.Overspend:
		text = format.Capital(about.Error())
	case session.Expense:
		what := about.Model
		if about.Tokens > 0 {
			what = format.Tokens(about.Tokens) + " tokens to " + what
		}
		text = fmt.Sprintf("The next request costs about %s: %s. Not sent yet.", format.Price(about.Cost), what)
	}
	for _, c := range q.Choices {
		answers = append(answers, choiceText(q, c))
	}
	return text, answers
}

// choiceText describes a choice.
func choiceText(q session.Question, c session.Choice) string {
	failure, _ := q.About.(session.Failure)
	switch c.Action {
	case session.SwitchModel:
		return "Continue with " + c.Model
	case session.WaitAndTry:
		text := "Wait for " + failure.From
		if until := failure.Until; !until.IsZero() {
			text += " until " + format.Clock(until, until.Add(-llm.WaitOf(failure.Err)))
		}
		return text
	case session.TryAgain:
		return "Ask " + failure.From + " again"
	case session.Summarize:
		return "Summarize the conversation first"
	case session.Fork:
		return "Fork: summarize in a copy, keep this as is"
	case session.LeaveOut:
		return "Leave " + c.Model + " out"
	case session.OmitOldest:
		return "Skip the oldest turns"
	case session.SendAnyway:
		return "Send anyway"
	case session.RaiseLimit:
		o, _ := q.About.(session.Overspend)
		return raiseText(o.Limit, c.Amount)
	}
	return "Stop"
}

// raiseText describes a higher limit for the rest of the session.
func raiseText(l session.Limit, amount float64) string {
	if l.Cost == 0 || l.Tokens > 0 && amount > float64(l.Tokens) {
		return "Raise it to " + format.Tokens(int(amount)) + " tokens"
	}
	return "Raise it to " + format.Cost(amount, true)
}
