package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session"
)

// /budget shows each period, and takes amounts in dollars and tokens for the session.
func TestBudget(t *testing.T) {
	a := &App{Options: Options{Session: session.New(session.Options{Limits: []session.Limit{{Period: session.PerDay, Cost: 5}, {Period: session.PerMonth, Provider: "openai", Cost: 20}}})}}
	var rows []string
	shows := budget(a, "")
	if see(shows).List != nil || see(shows).Prepare == nil {
		t.Fatalf("the store is read at once: %+v", shows)
	}
	for _, i := range see(see(shows).Prepare(t.Context())()).List.Items {
		rows = append(rows, i.Title+": "+i.Detail)
	}
	if want := []string{"This prompt: $0.00 · no limit", "This conversation: $0.00 · no limit", "Today: $0.00 of $5.00 · 0%", "This month at openai: $0.00 of $20.00 · 0%"}; !slices.Equal(rows, want) {
		t.Errorf("%q", rows)
	}
	for _, tt := range []struct{ typed, said string }{
		{"session 2.50", "This conversation: $0.00 of $2.50 · 0%"},
		{"session 200k tokens", "This conversation: $0.00 of $2.50 · 0 tokens of 200k"},
		{"DAY $7", "Today: $0.00 of $7.00 · 0%"},
		{"day 0.025", "Today: $0.00 of $0.025 · 0%"},
		{"day off", "Today: $0.00 · no limit"},
		{"turn 1m tokens", "This prompt: 0 tokens of 1.0M · 0%"},
		{"day", ""}, {"year 5", ""}, {"day -1", ""}, {"day NaN", ""}, {"day 5 apples", ""}, {"day 1e300", ""}, {"day lots", ""},
	} {
		e := budget(a, tt.typed)
		if see(e).Prepare != nil { // what was used is read beside the screen
			e = see(e).Prepare(t.Context())()
		}
		if see(e).Toast != tt.said || (see(e).Err == nil) != (tt.said != "") {
			t.Errorf("%q: %q, %v", tt.typed, see(e).Toast, see(e).Err)
		}
	}
	if got := fmt.Sprint(a.Session.Spending.Limits()); got != "[turn limit of 1000000 tokens session limit of $2.50 and 200000 tokens monthly limit of $20.00 at openai]" {
		t.Error(got)
	}
	monthly := budgetItems(a.Session)
	list := see(chooseBudget(a.Session)(monthly[len(monthly)-1], "")).List
	chosen := list.Choose(list.Items[0], "")
	if a.Session.Spending.Limits()[2].Cost != 21 {
		t.Errorf("%v after %q", a.Session.Spending.Limits(), list.Items[0].Title)
	}
	if said := see(see(chosen).Prepare(t.Context())()).Toast; said != "This month at openai: $0.00 of $21.00 · 0%" {
		t.Errorf("said %q", said)
	}
	if list.Choose(list.Items[len(list.Items)-1], ""); len(a.Session.Spending.Limits()) != 2 {
		t.Errorf("%v", a.Session.Spending.Limits())
	}
}

// A limit in US dollars says that the model's answers are not counted in it, where it is set and
// where it is shown.
func TestBudgetWithoutPrice(t *testing.T) {
	price := func(known bool) func(llm.Usage) (float64, bool) {
		return func(llm.Usage) (float64, bool) { return 0, known }
	}
	const uncounted = " · mock/alpha has no price: not counted"
	for _, tt := range []struct {
		name  string
		model llm.Endpoint
		typed string
		want  string
	}{
		{"no price", llm.Endpoint{Name: "mock/alpha", Cost: price(false)}, "day 5", "Today: $0.00 of $5.00 · 0%" + uncounted},
		{"nothing known", llm.Endpoint{Name: "mock/alpha"}, "session 5", "This conversation: $0.00 of $5.00 · 0%" + uncounted},
		{"free", llm.Endpoint{Name: "mock/alpha", Cost: price(true)}, "day 5", "Today: $0.00 of $5.00 · 0%"},
		{"images", llm.Endpoint{Name: "mock/draw", Origin: llm.OriginImages}, "day 5", "Today: $0.00 of $5.00 · 0%"},
		{"tokens are counted", llm.Endpoint{Name: "mock/alpha"}, "day 5k tokens", "Today: 0 tokens of 5.0k · 0%"},
		{"none set", llm.Endpoint{Name: "mock/alpha"}, "day off", "Today: $0.00 · no limit"},
	} {
		a := &App{Options: Options{Session: session.New(session.Options{Model: tt.model})}}
		if got := see(see(budget(a, tt.typed)).Prepare(t.Context())()).Toast; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		shown := false
		for _, i := range budgetItems(a.Session) {
			shown = shown || i.Title+": "+i.Detail == tt.want
		}
		if !shown {
			t.Errorf("%s: the list lacks %q", tt.name, tt.want)
		}
	}
	elsewhere := session.Limit{Period: session.PerDay, Provider: "other", Cost: 5}
	s := session.New(session.Options{Model: llm.Endpoint{Name: "mock/alpha"}, Limits: []session.Limit{elsewhere}})
	if got := budgetItem(s, elsewhere).Detail; got != "$0.00 of $5.00 · 0%" {
		t.Errorf("at another provider: %q", got)
	}
}

// Each question of a turn is told with its answers, and with what it comes to by itself.
func TestQuestionText(t *testing.T) {
	limit := session.Limit{Period: session.PerDay, Cost: 5}
	for _, tt := range []struct {
		q    session.Question
		want string
	}{
		{session.Question{About: session.Failure{Err: &llm.Error{Fault: llm.RateLimit, Provider: "a", Message: "slow"}, From: "a/x", To: "b/y"}, Wait: time.Second,
			Choices: []session.Choice{{Action: session.SwitchModel, Model: "b/y"}, {Action: session.WaitAndTry}, {Action: session.StopTurn}}},
			"a/x: Rate limited (a): slow|Continue with b/y|Wait for a/x|Stop"},
		{session.Question{About: session.Failure{Err: errors.New("it was cut"), From: "a/x", To: "b/y", Visible: true}, Choices: []session.Choice{{Action: session.TryAgain}, {Action: session.StopTurn}}},
			"a/x: It was cut\nThe answer stopped halfway. A new one replaces it; this one stays on a branch.|Ask a/x again|Stop"},
		{session.Question{About: session.Overflow{Model: "a/x", Tokens: 222_000, Window: 100_000}, Choices: []session.Choice{
			{Action: session.Summarize}, {Action: session.Fork}, {Action: session.OmitOldest}, {Action: session.SwitchModel, Model: "c/z"}, {Action: session.LeaveOut, Model: "a/x"}, {Action: session.SendAnyway}, {Action: session.StopTurn}}},
			"Too long for a/x: about 222k tokens, and its context window is 100k. Not sent yet.|Summarize the conversation first|Fork: summarize in a copy, keep this as is|Skip the oldest turns|Continue with c/z|Leave a/x out|Send anyway|Stop"},
		{session.Question{About: session.Overspend{BudgetError: session.BudgetError{Limit: limit, Used: llm.Usage{Cost: 5.2}}}, Choices: []session.Choice{
			{Action: session.RaiseLimit, Amount: 6}, {Action: session.RaiseLimit, Amount: 7.5}, {Action: session.StopTurn}}},
			"Daily limit of $5.00 reached: $5.20 used|Raise it to $6.00|Raise it to $7.50|Stop"},
		{session.Question{About: session.Overspend{BudgetError: session.BudgetError{Limit: limit, Used: llm.Usage{Cost: 4.2}, Next: 1.5}}, Choices: []session.Choice{
			{Action: session.RaiseLimit, Amount: 6.7}, {Action: session.StopTurn}}},
			"The next request would exceed the daily limit of $5.00: $4.20 used, and its input costs at least $1.50|Raise it to $6.70|Stop"},
		{session.Question{About: session.Overspend{BudgetError: session.BudgetError{Limit: session.Limit{Period: session.PerTurn, Tokens: 1000}, Used: llm.Usage{Input: 1200}}}, Choices: []session.Choice{
			{Action: session.RaiseLimit, Amount: 1500}, {Action: session.StopTurn}}}, "Turn limit of 1000 tokens reached: 1200 tokens used|Raise it to 1.5k tokens|Stop"},
		{session.Question{About: session.Expense{Model: "a/x", Tokens: 400_000, Cost: 2}, Choices: []session.Choice{{Action: session.SendAnyway}, {Action: session.StopTurn}}},
			"The next request costs about $2.00: 400k tokens to a/x. Not sent yet.|Send anyway|Stop"},
		{session.Question{About: session.Expense{Model: "o/image", Cost: 2}, Choices: []session.Choice{{Action: session.SendAnyway}, {Action: session.StopTurn}}},
			"The next request costs about $2.00: o/image. Not sent yet.|Send anyway|Stop"},
	} {
		text, answers := QuestionText(tt.q)
		if got := strings.Join(append([]string{text}, answers...), "|"); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
		if tt.q.Wait > 0 && CountdownText(tt.q, 3*time.Second) != "Continue with b/y in 3.0 s" {
			t.Error(CountdownText(tt.q, 3*time.Second))
		}
	}
}
