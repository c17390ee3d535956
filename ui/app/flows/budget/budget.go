// Package budget lets the user see and set limits on spending.
package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/session/settings"
	"parley/ui/app"
	"parley/ui/format"
)

// Register adds the flow to a.
func Register(a *app.App) {
	a.Commands = append(a.Commands,
		app.Command{Name: "budget", Aliases: []string{"limits"}, Group: app.Conversations, Arg: "PERIOD AMOUNT", Help: "Spending limits and what is used", Run: func(arg string) app.Effect { return limits{a.Session}.run(arg) }},
	)
}

// limits shows and sets the limits of one conversation.
type limits struct{ of *session.Session }

// run lists the limits with the amounts spent. With an argument such as "day 5", "session 20k tokens" or "day off" it
// sets a limit for this session.
func (b limits) run(arg string) app.Effect {
	if arg == "" {
		return app.Prepare(func(context.Context) func() app.Effect { // reads the amounts from the store
			list := &app.List{Title: "Budget", Noun: "limit", Items: b.items()}
			list.Choose = func(value string) app.Effect { return b.choose(list.Item(value)) }
			return func() app.Effect { return list }
		})
	}
	limit, err := parseLimit(arg)
	if err != nil {
		return app.Fail(err)
	}
	for _, known := range b.of.Spending.Limits() { // keep the limit on the other unit
		if known.Period == limit.Period && known.Provider == "" && (limit.Cost > 0) != (limit.Tokens > 0) {
			if limit.Cost > 0 {
				limit.Tokens = known.Tokens
			} else {
				limit.Cost = known.Cost
			}
		}
	}
	return b.set(limit)
}

// set sets a limit and shows its row.
func (b limits) set(l session.Limit) app.Effect {
	b.of.Spending.SetLimit(l)
	return app.Prepare(func(context.Context) func() app.Effect {
		item := b.item(l)
		return func() app.Effect { return app.Toast(item.Title + ": " + item.Detail) }
	})
}

// items lists all periods with their limits and the amounts spent.
func (b limits) items() (items []app.Item) {
	all := b.of.Spending.Limits()
	for _, p := range settings.Periods {
		set := false
		for _, l := range all {
			if l.Period == p {
				set = true
				items = append(items, b.item(l))
			}
		}
		if !set {
			items = append(items, b.item(session.Limit{Period: p}))
		}
	}
	return items
}

// item formats a limit; one without an amount is shown as no limit.
func (b limits) item(l session.Limit) app.Item {
	item := app.Item{Title: map[settings.Period]string{
		settings.PerTurn: "This prompt", settings.PerSession: "This conversation", settings.PerDay: "Today", settings.PerMonth: "This month",
	}[l.Period], Value: string(l.Period)}
	if l.Provider != "" {
		item.Title += " at " + l.Provider
		item.Value += " " + l.Provider
	}
	used, err := b.of.Spending.Used(l)
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
	if m := b.of.Model(); l.Cost > 0 && l.AppliesTo(m.Name) && b.isUncounted(m) {
		item.Detail += " · " + m.Name + " has no price: not counted"
	}
	return item
}

// isUncounted reports whether answers of m do not count against limits in US dollars: m has no price, and its provider
// did not report the cost of the last answer.
func (b limits) isUncounted(m llm.Endpoint) bool {
	if m.Name == "" || m.Origin == llm.OriginImages { // each image has a price
		return false
	}
	if m.Cost != nil {
		if _, known := m.Cost(llm.Usage{Input: 1, Output: 1}); known {
			return false
		}
	}
	_, last := b.of.Spending.Usage()
	return !last.Priced
}

// choose offers amounts for the limit of a row.
func (b limits) choose(row app.Item) app.Effect {
	period, provider, _ := strings.Cut(row.Value, " ")
	was := session.Limit{Period: settings.Period(period), Provider: provider}
	for _, l := range b.of.Spending.Limits() {
		if l.Period == was.Period && l.Provider == was.Provider {
			was = l
		}
	}
	var items []app.Item
	offer := func(title string, amount float64, current bool) {
		items = append(items, app.Item{Title: title, Value: fmt.Sprint(amount), Current: current})
	}
	if was.Cost > 0 {
		offer(fmt.Sprintf("Raise by $1 to $%.2f", was.Cost+1), was.Cost+1, false)
		offer(fmt.Sprintf("Raise by half to $%.2f", was.Cost*1.5), was.Cost*1.5, false)
	}
	for _, amount := range []float64{1, 5, 20, 100} {
		offer(fmt.Sprintf("$%.2f", amount), amount, amount == was.Cost)
	}
	offer("No limit", 0, was.Cost == 0 && was.Tokens == 0)
	return app.Choose(row.Title+": limit for this session", "amount", items, func(amount string) app.Effect {
		l := was
		if l.Cost, _ = strconv.ParseFloat(amount, 64); l.Cost == 0 {
			l.Tokens = 0
		}
		return b.set(l)
	})
}

var errUsage = errors.New("/budget takes turn, session, day or month, and an amount: day 5, session 200k tokens, month off")

// parseLimit parses the argument of /budget: a period, and an amount in US dollars or tokens.
func parseLimit(arg string) (session.Limit, error) {
	words := strings.Fields(strings.ToLower(arg))
	l := session.Limit{}
	for _, p := range settings.Periods {
		if len(words) > 1 && words[0] == string(p) {
			l.Period = p
		}
	}
	if l.Period == "" {
		return l, errUsage
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
		return l, errUsage
	case tokens:
		l.Tokens = int(n * unit)
	default:
		l.Cost = n
	}
	return l, nil
}
