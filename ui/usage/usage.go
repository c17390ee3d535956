// Package usage summarizes the use and cost of requests for display.
package usage

import (
	"cmp"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app/blocks"
	"parley/ui/app/wording"
	"parley/ui/format"
)

// A Report is the use of requests, summarized by one of session.UsageKeys, for all
// front ends.
type Report struct {
	By    string
	Rows  []session.UsageSum // days and months in order, others by descending cost
	Total session.UsageSum

	label func(session.UsageSum) string
}

// A Reader summarizes the records of a store.
type Reader struct {
	Store      *session.Store
	AbbrevPath func(path string) string // shortens paths for display; nil to leave them unchanged
}

// By summarizes the use from since to until (zero for no limit) by one of
// session.UsageKeys. With an error the report may still contain data.
func (u Reader) By(by string, since, until time.Time) (Report, error) {
	rows, err := u.Store.Ledger().Sums(since, until, by)
	return u.report(by, rows), err
}

// Pages returns the summary by each of several keys, without empty ones.
func (u Reader) Pages(since, until time.Time, keys ...string) (pages []Report, err error) {
	rows, err := u.Store.Ledger().Sums(since, until, keys...)
	for _, by := range keys {
		if r := u.report(by, sumBy(rows, by)); len(r.Rows) > 0 {
			pages = append(pages, r)
		}
	}
	return pages, err
}

// sumBy sums rows by one of their keys.
func sumBy(rows []session.UsageSum, by string) (sums []session.UsageSum) {
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

func (u Reader) report(by string, rows []session.UsageSum) Report {
	r := Report{By: by, Rows: rows, label: func(s session.UsageSum) string { return s.Key(by) }}
	for _, row := range rows {
		r.Total = r.Total.Add(row)
	}
	r.Total.Usage.Priced = r.Total.Unpriced == 0
	if by == "day" || by == "month" {
		sort.SliceStable(rows, func(i, j int) bool { return rows[i].Key(by) < rows[j].Key(by) })
	} else {
		sort.SliceStable(rows, func(i, j int) bool {
			return cmp.Or(cmp.Compare(rows[j].Usage.Cost, rows[i].Usage.Cost), cmp.Compare(usedTokens(rows[j]), usedTokens(rows[i]))) < 0
		})
	}
	switch {
	case by == "session" && len(rows) > 0:
		titles := map[string]string{}
		found, _ := u.Store.List(session.Query{Limit: -1}) // unreadable conversations have no title
		for _, f := range found {
			titles[f.ID] = f.ID + "  " + wording.Title(f)
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

// usedTokens returns the total number of tokens in a sum.
func usedTokens(s session.UsageSum) int { return s.Usage.Input + s.Usage.Output }

// Label returns the display name of a row.
func (r Report) Label(s session.UsageSum) string { return sanitize.Line(r.label(s)) }

// Note describes the requests missing in the costs; "" if none are.
func (r Report) Note() string {
	switch n := r.Total.Unpriced; n {
	case 0:
		return ""
	case 1:
		return "1 request has no known price (not included)"
	default:
		return fmt.Sprintf("%d requests have no known price (not included)", n)
	}
}

// Chart returns the report as a table with bars for costs, or for tokens if nothing had a cost.
func (r Report) Chart() format.Chart {
	c := format.Chart{Heading: r.By, Columns: []format.ChartColumn{
		{Heading: "requests", Rank: 3}, {Heading: "input", Rank: 1}, {Heading: "cached", Rank: 4}, {Heading: "output", Rank: 2}, {Heading: "cost"}}}
	figures := func(s session.UsageSum) []string {
		cached := strings.TrimSuffix(blocks.CacheShare(s.Usage), " cached")
		return []string{strconv.Itoa(s.Requests), format.Tokens(s.Usage.Input), cached, format.Tokens(s.Usage.Output), cost(s)}
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

// cost returns the cost of a sum, without requests of unknown price.
func cost(s session.UsageSum) string {
	switch cost := format.Cost(s.Usage.Cost, s.Unpriced == 0); {
	case s.Unpriced == 0 && cost == "":
		return "free"
	case cost == "":
		return "no price"
	default:
		return cost
	}
}

// Sums holds the sums of today, of this month and of 30 days.
type Sums struct{ Today, Month, Days30 session.UsageSum }

// Recent returns the sums of the periods up to now.
func (u Reader) Recent(now time.Time) (sums Sums, err error) {
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

// Days30 returns the beginning of the last 30 days, including today.
func Days30(now time.Time) time.Time {
	y, m, d := now.Date()
	return time.Date(y, m, d-30, 0, 0, 0, 0, now.Location())
}

// A Caches summarizes the use of providers' prompt caches.
type Caches struct {
	Total  session.UsageSum
	Misses []session.CacheSum // by cause, in order of descending cost
}

// Cache summarizes the tokens that requests from since to until (zero for no limit) read
// from caches, wrote and missed.
func (u Reader) Cache(since, until time.Time) (r Caches, err error) {
	totals, err := u.Store.Ledger().Sums(since, until)
	for _, t := range totals {
		r.Total = r.Total.Add(t)
	}
	misses, failed := u.Store.Ledger().Missed(since, until)
	r.Misses = misses
	return r, errors.Join(err, failed)
}

// Missed returns the sum of the misses.
func (r Caches) Missed() (sum session.CacheSum) {
	for _, m := range r.Misses {
		sum.Requests, sum.Tokens, sum.Cost = sum.Requests+m.Requests, sum.Tokens+m.Tokens, sum.Cost+m.Cost
	}
	return sum
}

// Summary returns the tokens read, written and missed, in one line.
func (r Caches) Summary() string {
	u, share := r.Total.Usage, ""
	if u.Input > 0 {
		share = " (" + format.Percent(float64(u.CacheRead)/float64(u.Input)) + ")"
	}
	return fmt.Sprintf("Prompts: %s tokens · read from cache: %s%s · written: %s · missed: %s",
		format.Tokens(u.Input), format.Tokens(u.CacheRead), share, format.Tokens(u.CacheWrite), format.Tokens(r.Missed().Tokens))
}

// Chart returns the misses by cause.
func (r Caches) Chart() format.Chart {
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
