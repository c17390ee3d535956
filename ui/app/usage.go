package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// A UsageReport is what requests used, summed up by one of session.UsageKeys, as every front
// end shows it.
type UsageReport struct {
	By    string
	Rows  []session.UsageSum // days and months in their order, others dearest first
	Total session.UsageSum

	label func(session.UsageSum) string
}

// A UsageReader sums up what a store knows.
type UsageReader struct {
	Store      *session.Store
	AbbrevPath func(path string) string // how folders are shown; nil: as they are
}

// By sums up what was used from since to until (zero: without bound) by one of
// session.UsageKeys. With an error there may be something all the same.
func (u UsageReader) By(by string, since, until time.Time) (UsageReport, error) {
	rows, err := u.Store.Ledger().Sums(since, until, by)
	return u.report(by, rows), err
}

// Pages sums up the same by each of several keys.
func (u UsageReader) Pages(since, until time.Time, keys ...string) (pages []UsageReport, err error) {
	rows, err := u.Store.Ledger().Sums(since, until, keys...)
	for _, by := range keys {
		if r := u.report(by, sumUsageBy(rows, by)); len(r.Rows) > 0 {
			pages = append(pages, r)
		}
	}
	return pages, err
}

// sumUsageBy sums rows up by one of the keys they have.
func sumUsageBy(rows []session.UsageSum, by string) (sums []session.UsageSum) {
	place := map[string]int{}
	for _, r := range rows {
		key := r.Key(by)
		i, known := place[key]
		if !known {
			i = len(sums)
			place[key] = i
			sums = append(sums, session.UsageSum{}.With(by, key))
		}
		sums[i] = sums[i].Add(r)
	}
	return sums
}

func (u UsageReader) report(by string, rows []session.UsageSum) UsageReport {
	r := UsageReport{By: by, Rows: rows, label: func(s session.UsageSum) string { return s.Key(by) }}
	for _, row := range rows {
		r.Total = r.Total.Add(row)
	}
	r.Total.Usage.Priced = r.Total.Unpriced == 0
	if by == "day" || by == "month" {
		slices.SortStableFunc(rows, func(a, b session.UsageSum) int { return cmp.Compare(a.Key(by), b.Key(by)) })
	} else {
		slices.SortStableFunc(rows, func(a, b session.UsageSum) int {
			return cmp.Or(cmp.Compare(b.Usage.Cost, a.Usage.Cost), cmp.Compare(usedTokens(b), usedTokens(a)))
		})
	}
	switch {
	case by == "session" && len(rows) > 0:
		titles := map[string]string{}
		found, _ := u.Store.List(session.Query{Limit: -1}) // what cannot be read has no title
		for _, f := range found {
			titles[f.ID] = f.ID + "  " + Title(f)
		}
		r.label = func(s session.UsageSum) string { return cmp.Or(titles[s.Session], s.Session, "outside conversations") }
	case by == "folder":
		r.label = func(s session.UsageSum) string {
			if u.AbbrevPath != nil && s.Folder != "" {
				return u.AbbrevPath(s.Folder)
			}
			return cmp.Or(s.Folder, "no folder")
		}
	}
	return r
}

// usedTokens returns all tokens of a sum.
func usedTokens(s session.UsageSum) int { return s.Usage.Input + s.Usage.Output }

// Label returns how a row is called.
func (r UsageReport) Label(s session.UsageSum) string { return sanitize.Line(r.label(s)) }

// Note says what the costs leave out; "" if that is nothing.
func (r UsageReport) Note() string {
	switch n := r.Total.Unpriced; n {
	case 0:
		return ""
	case 1:
		return "1 request has no known price (not included)"
	default:
		return fmt.Sprintf("%d requests have no known price (not included)", n)
	}
}

// Chart returns the report as a table with bars: of costs, or of tokens where nothing cost
// anything.
func (r UsageReport) Chart() format.Chart {
	c := format.Chart{Heading: r.By, Columns: []format.ChartColumn{
		{Heading: "requests", Rank: 3}, {Heading: "input", Rank: 1}, {Heading: "cached", Rank: 4}, {Heading: "output", Rank: 2}, {Heading: "cost"}}}
	figures := func(s session.UsageSum) []string {
		cached := strings.TrimSuffix(CacheShare(s.Usage), " cached")
		return []string{strconv.Itoa(s.Requests), format.Tokens(s.Usage.Input), cached, format.Tokens(s.Usage.Output), UsageCost(s)}
	}
	for _, s := range r.Rows {
		row := format.ChartRow{Label: r.Label(s), Figures: figures(s), Amount: s.Usage.Cost}
		if r.Total.Usage.Cost == 0 {
			row.Amount = float64(usedTokens(s))
		}
		c.Rows = append(c.Rows, row)
	}
	c.Total = figures(r.Total)
	return c
}

// UsageCost returns what a sum cost: requests of unknown price are not in it.
func UsageCost(s session.UsageSum) string {
	switch cost := format.Cost(s.Usage.Cost, s.Unpriced == 0); {
	case s.Unpriced == 0 && cost == "":
		return "free"
	case cost == "":
		return "no price"
	default:
		return cost
	}
}

// UsageSums are the sums of today, of this month and of 30 days.
type UsageSums struct{ Today, Month, Days30 session.UsageSum }

// Recent sums up the days up to now.
func (u UsageReader) Recent(now time.Time) (sums UsageSums, err error) {
	y, m, d := now.Date()
	for _, s := range []struct {
		to   *session.UsageSum
		from time.Time
	}{{&sums.Today, time.Date(y, m, d, 0, 0, 0, 0, now.Location())}, {&sums.Month, time.Date(y, m, 1, 0, 0, 0, 0, now.Location())}, {&sums.Days30, Days30(now)}} {
		var failed error
		*s.to, failed = u.Store.Ledger().Spent(s.from, time.Time{}, "")
		err = errors.Join(err, failed)
	}
	return sums, err
}

// Days30 returns when the last 30 days began, today included.
func Days30(now time.Time) time.Time {
	y, m, d := now.Date()
	return time.Date(y, m, d-30, 0, 0, 0, 0, now.Location())
}

// A CacheReport is what requests did with providers' prompt caches.
type CacheReport struct {
	Total  session.UsageSum
	Misses []session.CacheSum // by cause, dearest first
}

// Cache sums up what requests from since to until (zero: without bound) read from caches,
// wrote and missed.
func (u UsageReader) Cache(since, until time.Time) (r CacheReport, err error) {
	totals, err := u.Store.Ledger().Sums(since, until)
	for _, t := range totals {
		r.Total = r.Total.Add(t)
	}
	misses, failed := u.Store.Ledger().Missed(since, until)
	r.Misses = misses
	return r, errors.Join(err, failed)
}

// Missed sums up the misses.
func (r CacheReport) Missed() (sum session.CacheSum) {
	for _, m := range r.Misses {
		sum.Requests, sum.Tokens, sum.Cost = sum.Requests+m.Requests, sum.Tokens+m.Tokens, sum.Cost+m.Cost
	}
	return sum
}

// Summary returns what was read, written and missed, in a line.
func (r CacheReport) Summary() string {
	u, share := r.Total.Usage, ""
	if u.Input > 0 {
		share = " (" + format.Percent(float64(u.CacheRead)/float64(u.Input)) + ")"
	}
	return fmt.Sprintf("Prompts: %s tokens · read from cache: %s%s · written: %s · missed: %s",
		format.Tokens(u.Input), format.Tokens(u.CacheRead), share, format.Tokens(u.CacheWrite), format.Tokens(r.Missed().Tokens))
}

// Chart returns the misses by cause.
func (r CacheReport) Chart() format.Chart {
	c := format.Chart{Heading: "missed because", Columns: []format.ChartColumn{{Heading: "requests", Rank: 2}, {Heading: "tokens", Rank: 1}, {Heading: "extra cost"}}}
	figures := func(m session.CacheSum) []string {
		return []string{strconv.Itoa(m.Requests), format.Tokens(m.Tokens), cmp.Or(format.Cost(m.Cost, m.Cost > 0), "no price")}
	}
	for _, m := range r.Misses {
		c.Rows = append(c.Rows, format.ChartRow{Label: sanitize.Line(cmp.Or(m.Cause.String(), string(m.Cause))), Figures: figures(m), Amount: float64(m.Tokens)})
	}
	c.Total = figures(r.Missed())
	return c
}

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
