package wording

import (
	"errors"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/session/settings"
)

// Questions of a turn are shown with their answers and, if they have one, their default.
func TestQuestionText(t *testing.T) {
	limit := session.Limit{Period: settings.PerDay, Cost: 5}
	for _, tt := range []struct {
		q    session.Question
		want string
	}{
		{session.Question{About: session.Failure{Err: &llm.Error{Fault: llm.RateLimit, Provider: "a", Message: "slow", Wait: time.Hour}, From: "a/x", To: "b/y",
			Until: time.Date(2026, 11, 30, 15, 1, 0, 0, time.Local)}, Wait: time.Second,
			Choices: []session.Choice{{Action: session.SwitchModel, Model: "b/y"}, {Action: session.WaitAndTry}, {Action: session.StopTurn}}},
			"a/x: Rate limited (a): slow|Continue with b/y|Wait for a/x until 15:01|Stop"},
		{session.Question{About: session.Failure{Err: errors.New("it was cut"), From: "a/x", To: "b/y", Visible: true}, Choices: []session.Choice{{Action: session.TryAgain}, {Action: session.StopTurn}}},
			"a/x: It was cut\nThe answer stopped halfway. A new one replaces it; this one stays on a branch.|Ask a/x again|Stop"},
		{session.Question{About: session.Overflow{Model: "a/x", Tokens: 222_000, Window: 100_000}, Choices: []session.Choice{
			{Action: session.Summarize}, {Action: session.Fork}, {Action: session.OmitOldest}, {Action: session.SwitchModel, Model: "c/z"}, {Action: session.LeaveOut, Model: "a/x"}, {Action: session.SendAnyway}, {Action: session.StopTurn}}},
			"Too long for a/x: about 222k tokens, and its context window is 100k. Not sent yet.|Summarize the conversation first|Fork: summarize in a copy, keep this as is|Skip the oldest turns|Continue with c/z|Leave a/x out|Send anyway|Stop"},
		{session.Question{About: session.Overspend{BudgetError: settings.BudgetError{Limit: limit, Used: llm.Usage{Cost: 5.2}}}, Choices: []session.Choice{
			{Action: session.RaiseLimit, Amount: 6}, {Action: session.RaiseLimit, Amount: 7.5}, {Action: session.StopTurn}}},
			"Daily limit of $5.00 reached: $5.20 used|Raise it to $6.00|Raise it to $7.50|Stop"},
		{session.Question{About: session.Overspend{BudgetError: settings.BudgetError{Limit: limit, Used: llm.Usage{Cost: 4.2}, Next: 1.5}}, Choices: []session.Choice{
			{Action: session.RaiseLimit, Amount: 6.7}, {Action: session.StopTurn}}},
			"The next request would exceed the daily limit of $5.00: $4.20 used, and its input costs at least $1.50|Raise it to $6.70|Stop"},
		{session.Question{About: session.Overspend{BudgetError: settings.BudgetError{Limit: session.Limit{Period: settings.PerTurn, Tokens: 1000}, Used: llm.Usage{Input: 1200}}}, Choices: []session.Choice{
			{Action: session.RaiseLimit, Amount: 1500}, {Action: session.StopTurn}}}, "Turn limit of 1000 tokens reached: 1200 tokens used|Raise it to 1.5k tokens|Stop"},
		{session.Question{About: session.Expense{Model: "a/x", Tokens: 400_000, Cost: 2}, Choices: []session.Choice{{Action: session.SendAnyway}, {Action: session.StopTurn}}},
			"The next request costs about $2.00: 400k tokens to a/x. Not sent yet.|Send anyway|Stop"},
		{session.Question{About: session.Expense{Model: "o/image", Cost: 2}, Choices: []session.Choice{{Action: session.SendAnyway}, {Action: session.StopTurn}}},
			"The next request costs about $2.00: o/image. Not sent yet.|Send anyway|Stop"},
	} {
		text, answers := Question(tt.q)
		if got := strings.Join(append([]string{text}, answers...), "|"); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
		if tt.q.Wait > 0 && Countdown(tt.q, 3*time.Second) != "Continue with b/y in 3.0 s" {
			t.Error(Countdown(tt.q, 3*time.Second))
		}
	}
}

// A limit is raised in its own unit.
func TestRaiseText(t *testing.T) {
	for _, c := range []struct {
		limit  session.Limit
		amount float64
		want   string
	}{
		{session.Limit{Cost: 2}, 4, "Raise it to $4.00"}, {session.Limit{Tokens: 1000}, 2000, "Raise it to 2.0k tokens"},
		{session.Limit{Cost: 2, Tokens: 1000}, 2000, "Raise it to 2.0k tokens"}, {session.Limit{Cost: 2, Tokens: 1000}, 1000, "Raise it to $1000.00"},
	} {
		if got := raiseText(c.limit, c.amount); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.limit, got, c.want)
		}
	}
	text, answers := Question(session.Question{About: session.Overflow{Model: "a/b", Tokens: 20_000, Window: 8000, Widen: "start it with -c"}, Choices: []session.Choice{{Action: session.OmitOldest}, {Action: session.StopTurn}}})
	if want := "Too long for a/b: about 20k tokens, and its context window is 8.0k. Not sent yet.\nTo make it larger, start it with -c."; text != want || strings.Join(answers, " | ") != "Skip the oldest turns | Stop" {
		t.Errorf("got %q, %q", text, answers)
	}
}
