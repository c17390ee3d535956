package budget

import (
	"fmt"
	"slices"
	"testing"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/uitest/apptest"
)

// /budget shows all periods, and accepts amounts in dollars and tokens for the session.
func TestBudget(t *testing.T) {
	b := limits{session.New(session.Options{Limits: []session.Limit{{Period: session.PerDay, Cost: 5}, {Period: session.PerMonth, Provider: "openai", Cost: 20}}})}
	var rows []string
	shows := b.run("")
	if apptest.See(shows).List != nil || apptest.See(shows).Prepare == nil {
		t.Fatalf("the store is read at once: %+v", shows)
	}
	for _, i := range apptest.See(apptest.See(shows).Prepare(t.Context())()).List.Items {
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
		e := b.run(tt.typed)
		if apptest.See(e).Prepare != nil { // the amounts are read asynchronously
			e = apptest.See(e).Prepare(t.Context())()
		}
		if apptest.See(e).Toast != tt.said || (apptest.See(e).Err == nil) != (tt.said != "") {
			t.Errorf("%q: %q, %v", tt.typed, apptest.See(e).Toast, apptest.See(e).Err)
		}
	}
	if got := fmt.Sprint(b.of.Spending.Limits()); got != "[turn limit of 1000000 tokens session limit of $2.50 and 200000 tokens monthly limit of $20.00 at openai]" {
		t.Error(got)
	}
	monthly := b.items()
	list := apptest.See(b.choose(monthly[len(monthly)-1])).List
	chosen := list.Choose(list.Items[0].Value)
	if b.of.Spending.Limits()[2].Cost != 21 {
		t.Errorf("%v after %q", b.of.Spending.Limits(), list.Items[0].Title)
	}
	if said := apptest.See(apptest.See(chosen).Prepare(t.Context())()).Toast; said != "This month at openai: $0.00 of $21.00 · 0%" {
		t.Errorf("said %q", said)
	}
	if list.Choose(list.Items[len(list.Items)-1].Value); len(b.of.Spending.Limits()) != 2 {
		t.Errorf("%v", b.of.Spending.Limits())
	}
}

// A limit in US dollars says, where it is set and where it is shown, that the model's answers do not count against it.
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
		b := limits{session.New(session.Options{Model: tt.model})}
		if got := apptest.See(apptest.See(b.run(tt.typed)).Prepare(t.Context())()).Toast; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		shown := false
		for _, i := range b.items() {
			shown = shown || i.Title+": "+i.Detail == tt.want
		}
		if !shown {
			t.Errorf("%s: the list lacks %q", tt.name, tt.want)
		}
	}
	elsewhere := session.Limit{Period: session.PerDay, Provider: "other", Cost: 5}
	s := session.New(session.Options{Model: llm.Endpoint{Name: "mock/alpha"}, Limits: []session.Limit{elsewhere}})
	if got := (limits{s}).item(elsewhere).Detail; got != "$0.00 of $5.00 · 0%" {
		t.Errorf("at another provider: %q", got)
	}
}
