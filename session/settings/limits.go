package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/providers/llm"
)

// A Limit is what may be spent in a period. Cost, Tokens, or both bound it; 0 does not.
type Limit struct {
	Period   Period
	Provider string  // at which provider, of a day or a month; "": at all of them
	Cost     float64 // US dollars
	Tokens   int     // of input and output
}

// Period is what a Limit is about. Days and months are those of the clock, and hold for all
// conversations of all processes that share a store.
type Period string

// The periods.
const (
	PerTurn    Period = "turn"
	PerSession Period = "session"
	PerDay     Period = "day"
	PerMonth   Period = "month"
)

// Periods lists them from the shortest.
var Periods = []Period{PerTurn, PerSession, PerDay, PerMonth}

// Began returns when the day or the month of now began.
func (p Period) Began(now time.Time) time.Time {
	now = now.Local()
	day := now.Day()
	if p == PerMonth {
		day = 1
	}
	return time.Date(now.Year(), now.Month(), day, 0, 0, 0, 0, time.Local)
}

// String names the limit as in "daily limit of $5.00 at openai".
func (l Limit) String() string {
	var amounts []string
	if l.Cost > 0 {
		amounts = append(amounts, Dollars(l.Cost))
	}
	if l.Tokens > 0 {
		amounts = append(amounts, strconv.Itoa(l.Tokens)+" tokens")
	}
	text := map[Period]string{PerDay: "daily", PerMonth: "monthly"}[l.Period]
	text = cmp.Or(text, string(l.Period)) + " limit"
	for i, a := range amounts {
		text += []string{" of ", " and "}[min(i, 1)] + a
	}
	if l.Provider != "" {
		text += " at " + l.Provider
	}
	return text
}

// Dollars returns an amount in cents, or finer where that is little.
func Dollars(amount float64) string {
	if amount > 0 && amount < 0.1 {
		return fmt.Sprintf("$%.4f", amount)
	}
	return fmt.Sprintf("$%.2f", amount)
}

// Shared reports whether l is counted across the conversations of all processes.
func (l Limit) Shared() bool { return l.Period == PerDay || l.Period == PerMonth }

// AppliesTo reports whether l holds for requests to a model, named provider/model.
func (l Limit) AppliesTo(model string) bool {
	provider, _, _ := strings.Cut(model, "/")
	return l.Provider == "" || l.Provider == provider
}

// Same reports whether m is a limit on the same.
func (l Limit) Same(m Limit) bool { return l.Period == m.Period && l.Provider == m.Provider }

// Share returns how much of the limit is used, 1 being all of it.
func (l Limit) Share(used llm.Usage) float64 {
	var share float64
	if l.Cost > 0 {
		share = used.Cost / l.Cost
	}
	if l.Tokens > 0 {
		share = max(share, float64(used.Input+used.Output)/float64(l.Tokens))
	}
	return share
}

// ErrBudget marks the errors about a limit that is reached.
var ErrBudget = errors.New("a spending limit is reached")

// A BudgetError reports that a limit is reached, or that the next request would exceed it.
type BudgetError struct {
	Limit Limit
	Used  llm.Usage
	Next  float64 // US dollars that the next request costs at least, above what is left; 0: the limit is reached
}

func (e *BudgetError) Error() string {
	if e.Next > 0 {
		return fmt.Sprintf("the next request would exceed the %s: %s used, and its input costs at least %s", e.Limit, Dollars(e.Used.Cost), Dollars(e.Next))
	}
	return e.Limit.String() + " reached: " + e.used() + " used"
}

// Check returns a *BudgetError where the limit is reached, or requests that cost at least next, in US
// dollars, exceed it; nil otherwise.
func (l Limit) Check(used llm.Usage, next float64) *BudgetError {
	switch {
	case l.Share(used) >= 1:
		return &BudgetError{Limit: l, Used: used}
	case l.Cost > 0 && used.Cost+next > l.Cost:
		return &BudgetError{Limit: l, Used: used, Next: next}
	}
	return nil
}

// used says how much of what is limited was used.
func (e *BudgetError) used() string {
	if e.Limit.Cost > 0 && e.Used.Cost >= e.Limit.Cost || e.Limit.Tokens == 0 {
		return Dollars(e.Used.Cost)
	}
	return strconv.Itoa(e.Used.Input+e.Used.Output) + " tokens"
}

// Is reports that it is an ErrBudget.
func (e *BudgetError) Is(target error) bool { return target == ErrBudget }

// Budget holds the [budget] section of the configuration. 0 is no limit.
type Budget struct {
	Confirm float64 `toml:"confirm"` // US dollars: what is estimated to cost more is asked about; 0: nothing is
	Turn    float64 `toml:"turn"`    // US dollars, as all that follow
	Session float64 `toml:"session"`

	TurnTokens    int `toml:"turn_tokens"`
	SessionTokens int `toml:"session_tokens"`
	ProviderBudget
	Providers map[string]ProviderBudget `toml:"providers"` // by name
}

// ProviderBudget holds limits that are counted across conversations.
type ProviderBudget struct {
	Day         float64 `toml:"day"`
	Month       float64 `toml:"month"`
	DayTokens   int     `toml:"day_tokens"`
	MonthTokens int     `toml:"month_tokens"`
}

// DefaultBudget returns what holds where the configuration says nothing.
func DefaultBudget() Budget { return Budget{Confirm: 1} }

// Validate names the first key whose value cannot be meant; nil if all can.
func (b Budget) Validate() error {
	for _, l := range b.all() {
		key := "budget."
		if l.Provider != "" {
			key += "providers." + l.Provider + "."
		}
		key += fmt.Sprint(l.Period)
		if err := checkCost(key, l.Cost, "is no limit"); err != nil {
			return err
		}
		if l.Tokens < 0 {
			return fmt.Errorf("%s_tokens cannot be negative; 0 is no limit", key)
		}
	}
	return checkCost("budget.confirm", b.Confirm, "never asks")
}

// checkCost checks the cost of a key. Zero says what 0 does, such as "never asks".
func checkCost(key string, cost float64, zero string) error {
	switch {
	case math.IsInf(cost, 0) || math.IsNaN(cost):
		return fmt.Errorf("%s must be a finite number; 0 %s", key, zero)
	case cost < 0:
		return fmt.Errorf("%s cannot be negative; 0 %s", key, zero)
	}
	return nil
}

// Limits returns the limits that are set.
func (b Budget) Limits() []Limit {
	return slices.DeleteFunc(b.all(), func(l Limit) bool { return l.Cost == 0 && l.Tokens == 0 })
}

// all returns all limits that there can be.
func (b Budget) all() []Limit {
	list := []Limit{
		{Period: PerTurn, Cost: b.Turn, Tokens: b.TurnTokens}, {Period: PerSession, Cost: b.Session, Tokens: b.SessionTokens},
		{Period: PerDay, Cost: b.Day, Tokens: b.DayTokens}, {Period: PerMonth, Cost: b.Month, Tokens: b.MonthTokens},
	}
	for _, name := range slices.Sorted(maps.Keys(b.Providers)) {
		p := b.Providers[name]
		list = append(list, Limit{PerDay, name, p.Day, p.DayTokens}, Limit{PerMonth, name, p.Month, p.MonthTokens})
	}
	return list
}
