package budget

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/session"
	"parley/session/settings"
	"parley/ui/app"
	"parley/ui/uitest/apptest"
)

// /budget shows all periods, and accepts amounts in dollars and tokens for the session.
func TestBudget(t *testing.T) {
	b := limits{session.New(session.Options{Limits: []session.Limit{{Period: settings.PerDay, Cost: 5}, {Period: settings.PerMonth, Provider: "openai", Cost: 20}}})}
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
		{"day", ""}, {"year 5", ""}, {"day -1", ""}, {"day NaN", ""}, {"day 5 apples", ""}, {"day 1e300", ""}, {"day lots", ""}, {"day 2e6m tokens", ""},
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
	elsewhere := session.Limit{Period: settings.PerDay, Provider: "other", Cost: 5}
	s := session.New(session.Options{Model: llm.Endpoint{Name: "mock/alpha"}, Limits: []session.Limit{elsewhere}})
	if got := (limits{s}).item(elsewhere).Detail; got != "$0.00 of $5.00 · 0%" {
		t.Errorf("at another provider: %q", got)
	}
}

// The choice of a row is a limit in US dollars, which leaves a limit in tokens alone; "No limit" removes both.
func TestChoices(t *testing.T) {
	titles := func(l *app.List) (titles []string) {
		for _, i := range l.Items {
			if titles = append(titles, i.Title); i.Current {
				titles[len(titles)-1] += " (current)"
			}
		}
		return titles
	}
	fixed := []string{"$1.00", "$5.00", "$20.00", "$100.00", "No limit"}
	for _, tt := range []struct {
		name   string
		set    []session.Limit
		row    string // prefix of its title
		offers []string
		choose string
		want   string
	}{
		{"none", nil, "Today", append(slices.Clone(fixed[:4]), "No limit (current)"), "$5.00", "[daily limit of $5.00]"},
		{"dollars", []session.Limit{{Period: settings.PerDay, Cost: 5}}, "Today", []string{"Raise by $1 to $6.00", "Raise by half to $7.50", "$1.00", "$5.00 (current)", "$20.00", "$100.00", "No limit"}, "Raise by half to $7.50", "[daily limit of $7.50]"},
		{"tokens", []session.Limit{{Period: settings.PerDay, Tokens: 9}}, "Today", fixed, "$20.00", "[daily limit of $20.00 and 9 tokens]"},
		{"no limit", []session.Limit{{Period: settings.PerDay, Cost: 1, Tokens: 9}}, "Today", []string{"Raise by $1 to $2.00", "Raise by half to $1.50", "$1.00 (current)", "$5.00", "$20.00", "$100.00", "No limit"}, "No limit", "[]"},
		{"of a provider", []session.Limit{{Period: settings.PerDay, Cost: 5}, {Period: settings.PerDay, Provider: "x", Tokens: 9}}, "Today at x", fixed, "$1.00", "[daily limit of $5.00 daily limit of $1.00 and 9 tokens at x]"},
	} {
		b := limits{session.New(session.Options{Limits: tt.set})}
		rows := apptest.See(apptest.See(b.run("")).Prepare(t.Context())()).List
		at := slices.IndexFunc(rows.Items, func(i app.Item) bool { return i.Title == tt.row })
		list := apptest.See(rows.Choose(rows.Items[at].Value)).List
		if got := titles(list); !slices.Equal(got, tt.offers) || list.Title != tt.row+": limit for this session" {
			t.Errorf("%s: offers %q for %q, want %q", tt.name, got, list.Title, tt.offers)
		}
		list.Choose(list.Items[slices.IndexFunc(list.Items, func(i app.Item) bool { return i.Title == tt.choose })].Value)
		if got := fmt.Sprint(b.of.Spending.Limits()); got != tt.want {
			t.Errorf("%s: limits %s, want %s", tt.name, got, tt.want)
		}
	}
}

// Setting one unit of a limit keeps the other one of the same period, for all providers only.
func TestUnitsOfLimits(t *testing.T) {
	set := []session.Limit{{Period: settings.PerDay, Provider: "x", Cost: 7, Tokens: 8}, {Period: settings.PerMonth, Cost: 5, Tokens: 6}, {Period: settings.PerDay, Cost: 1}}
	for typed, want := range map[string]string{
		"day 2":               "daily limit of $2.00",
		"day 2 tokens":        "daily limit of $1.00 and 2 tokens",
		"day 2k Token":        "daily limit of $1.00 and 2000 tokens",
		"month 3":             "monthly limit of $3.00 and 6 tokens",
		"month 3 tokens":      "monthly limit of $5.00 and 3 tokens",
		"session 1.5m tokens": "session limit of 1500000 tokens",
		"turn 1e12":           "turn limit of $1000000000000.00",
	} {
		b := limits{session.New(session.Options{Limits: set})}
		b.run(typed)
		got := fmt.Sprint(b.of.Spending.Limits())
		if !strings.Contains(got[:len(got)-1]+" ", want+" ") {
			t.Errorf("%s: %s, want %s", typed, got, want)
		}
	}
	for _, typed := range []string{"day none", "day off"} {
		b := limits{session.New(session.Options{Limits: set[2:]})}
		if b.run(typed); len(b.of.Spending.Limits()) != 0 {
			t.Errorf("%s: %v", typed, b.of.Spending.Limits())
		}
	}
}
