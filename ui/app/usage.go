package app

import (
	"errors"
	"fmt"
	"math"

	"parley/providers/llm"
	"parley/session"
)

// UsageGroups say what a row is summed up under.
var UsageGroups = map[string]func(session.DailyUsage) string{
	"day":     func(s session.DailyUsage) string { return s.Day },
	"model":   func(s session.DailyUsage) string { return s.Model },
	"session": func(s session.DailyUsage) string { return s.Session },
}

// SumUsage adds rows up under the name that group gives them, in the order in which
// the names come first.
func SumUsage(spent []session.DailyUsage, group func(session.DailyUsage) string) (names []string, sums map[string]session.DailyUsage) {
	sums = map[string]session.DailyUsage{}
	for _, row := range spent {
		name := group(row)
		sum, known := sums[name]
		if !known {
			names = append(names, name)
			sum = session.DailyUsage{Day: row.Day, Model: row.Model, Session: row.Session}
		}
		sum.Answers += row.Answers
		sum.Unpriced += row.Unpriced
		sum.Usage = sum.Usage.Add(row.Usage)
		sums[name] = sum
	}
	return names, sums
}

// Cached returns the share of a prompt that came from a provider's cache; "" if that
// is nothing.
func Cached(u llm.Usage) string {
	if u.Input == 0 || u.CacheRead == 0 {
		return ""
	}
	return fmt.Sprintf("%d%% cached", 100*u.CacheRead/u.Input)
}

// Budget holds the [budget] section of the configuration.
type Budget struct {
	Confirm float64 `toml:"confirm"` // US dollars: images and videos that are estimated to cost more are asked about
}

// DefaultBudget returns what holds where the configuration says nothing.
func DefaultBudget() Budget { return Budget{Confirm: 1} }

// Validate names a value that cannot be meant.
func (b Budget) Validate() error {
	if !(b.Confirm >= 0) || math.IsInf(b.Confirm, 0) {
		return errors.New("budget.confirm cannot be negative; 0 asks about everything that costs")
	}
	return nil
}
