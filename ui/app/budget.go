package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"parley/providers/llm"
	"parley/session"
	"parley/ui/format"
	"strconv"
	"strings"
)

// budget shows what may be spent, and what was; with an argument such as "day 5", "session
// 20k tokens" or "day off" it sets a limit for this session.
func budget(a *App, arg string) Effect {
	if arg == "" {
		s := a.Session
		return Prepare(func(context.Context) func() Effect { // what was used is in the store
			list := &List{Title: "Budget", Noun: "limit", Items: budgetItems(s), Choose: chooseBudget(s)}
			return func() Effect { return list }
		})
	}
	limit, err := parseLimit(arg)
	if err != nil {
		return Failure{Err: err}
	}
	for _, known := range a.Session.Spending.Limits() { // the other amount stays
		if known.Period == limit.Period && known.Provider == "" && (limit.Cost > 0) != (limit.Tokens > 0) {
			if limit.Cost > 0 {
				limit.Tokens = known.Tokens
			} else {
				limit.Cost = known.Cost
			}
		}
	}
	a.Session.Spending.SetLimit(limit)
	return limitEffect(a.Session, limit)
}

// limitEffect says how a limit stands that was set, in the words of its row.
func limitEffect(s *session.Session, l session.Limit) Effect {
	return Prepare(func(context.Context) func() Effect {
		item := budgetItem(s, l)
		return func() Effect { return Toast(item.Title + ": " + item.Detail) }
	})
}

// budgetItems lists each period with its limits and what is used of them.
func budgetItems(s *session.Session) (items []Item) {
	limits := s.Spending.Limits()
	for _, p := range session.Periods {
		set := false
		for _, l := range limits {
			if l.Period == p {
				set = true
				items = append(items, budgetItem(s, l))
			}
		}
		if !set {
			items = append(items, budgetItem(s, session.Limit{Period: p}))
		}
	}
	return items
}

// budgetItem tells how a limit stands. One without an amount is none.
func budgetItem(s *session.Session, l session.Limit) Item {
	item := Item{Title: map[session.Period]string{
		session.PerTurn: "This prompt", session.PerSession: "This conversation", session.PerDay: "Today", session.PerMonth: "This month",
	}[l.Period], Value: string(l.Period)}
	if l.Provider != "" {
		item.Title += " at " + l.Provider
		item.Value += " " + l.Provider
	}
	used, err := s.Spending.Used(l)
	if err != nil {
		item.Detail = format.ErrorText(err)
		return item
	}
	cost, tokens := cmp.Or(format.Cost(used.Cost, true), "$0.00"), format.Tokens(used.Input+used.Output)+" tokens"
	switch {
	case l.Cost > 0 && l.Tokens > 0:
		item.Detail = fmt.Sprintf("%s of %s · %s of %s", cost, format.Price(l.Cost), tokens, format.Tokens(l.Tokens))
	case l.Cost > 0:
		item.Detail = fmt.Sprintf("%s of %s · %s", cost, format.Price(l.Cost), format.Percent(used.Cost/l.Cost))
	case l.Tokens > 0:
		item.Detail = fmt.Sprintf("%s of %s · %s", tokens, format.Tokens(l.Tokens), format.Percent(float64(used.Input+used.Output)/float64(l.Tokens)))
	default:
		item.Detail = cost + " · no limit"
	}
	if m := s.Model(); l.Cost > 0 && l.AppliesTo(m.Name) && isUncounted(s, m) {
		item.Detail += " · " + m.Name + " has no price: not counted"
	}
	return item
}

// isUncounted reports whether no limit in US dollars counts what m answers: it has no price, and its
// provider did not say what the last answer cost.
func isUncounted(s *session.Session, m llm.Endpoint) bool {
	if m.Name == "" || m.Origin == llm.OriginImages { // each image has a price
		return false
	}
	if m.Cost != nil {
		if _, known := m.Cost(llm.Usage{Input: 1, Output: 1}); known {
			return false
		}
	}
	_, last := s.Spending.Usage()
	return !last.Priced
}

// chooseBudget offers amounts for the limit of a row.
func chooseBudget(s *session.Session) func(Item, string) Effect {
	return func(row Item, _ string) Effect {
		period, provider, _ := strings.Cut(row.Value, " ")
		set := func(l session.Limit) Effect {
			s.Spending.SetLimit(l)
			return limitEffect(s, l)
		}
		was := session.Limit{Period: session.Period(period), Provider: provider}
		for _, l := range s.Spending.Limits() {
			if l.Period == was.Period && l.Provider == was.Provider {
				was = l
			}
		}
		var items []Item
		if was.Cost > 0 {
			items = append(items, Item{Title: fmt.Sprintf("Raise by $1 to $%.2f", was.Cost+1), Value: fmt.Sprint(was.Cost + 1)},
				Item{Title: fmt.Sprintf("Raise by half to $%.2f", was.Cost*1.5), Value: fmt.Sprint(was.Cost * 1.5)})
		}
		for _, amount := range []float64{1, 5, 20, 100} {
			items = append(items, Item{Title: fmt.Sprintf("$%.2f", amount), Value: fmt.Sprint(amount), Current: amount == was.Cost})
		}
		items = append(items, Item{Title: "No limit", Value: "0", Current: was.Cost == 0 && was.Tokens == 0})
		return &List{Title: row.Title + ": limit for this session", Noun: "amount", Items: items, Choose: func(i Item, _ string) Effect {
			l := was
			if l.Cost, _ = strconv.ParseFloat(i.Value, 64); l.Cost == 0 {
				l.Tokens = 0
			}
			return set(l)
		}}
	}
}

var errBudgetUsage = errors.New("/budget takes turn, session, day or month, and an amount: day 5, session 200k tokens, month off")

// parseLimit reads the argument of /budget: a period, and an amount in US dollars or tokens.
func parseLimit(arg string) (session.Limit, error) {
	words := strings.Fields(strings.ToLower(arg))
	l := session.Limit{}
	for _, p := range session.Periods {
		if len(words) > 1 && words[0] == string(p) {
			l.Period = p
		}
	}
	if l.Period == "" {
		return l, errBudgetUsage
	}
	amount, tokens := words[1], len(words) == 3 && strings.HasPrefix(words[2], "token")
	if amount == "off" || amount == "none" {
		return l, nil
	}
	unit := 1.0
	if tokens {
		for suffix, factor := range map[string]float64{"k": 1e3, "m": 1e6} {
			if short, ok := strings.CutSuffix(amount, suffix); ok {
				amount, unit = short, factor
			}
		}
	}
	n, err := strconv.ParseFloat(strings.TrimPrefix(amount, "$"), 64)
	switch {
	case err != nil, !(n >= 0), n*unit > 1e12, len(words) > 2 && !tokens:
		return l, errBudgetUsage
	case tokens:
		l.Tokens = int(n * unit)
	default:
		l.Cost = n
	}
	return l, nil
}
