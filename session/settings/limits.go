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

// A Limit bounds spending in a period, by Cost, Tokens, or both; 0 is no bound.
type Limit struct {
	Period   Period
	Provider string  // provider of a daily or monthly limit; "": all
	Cost     float64 // US dollars
	Tokens   int     // of input and output
}

// Period is the period of a Limit. Days and months are calendar ones, and cover all
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

// Began returns the beginning of the day or month of now.
func (p Period) Began(now time.Time) time.Time {
	now = now.Local()
	day := now.Day()
	if p == PerMonth {
		day = 1
	}
	return time.Date(now.Year(), now.Month(), day, 0, 0, 0, 0, time.Local)
}

// String describes the limit, as in "daily limit of $5.00 at openai".
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

// Dollars formats an amount in cents, or more precisely if it is small.
func Dollars(amount float64) string {
	if amount > 0 && amount < 0.1 {
		return fmt.Sprintf("$%.4f", amount)
	}
	return fmt.Sprintf("$%.2f", amount)
}

// Shared reports whether l is counted across the conversations of all processes.
func (l Limit) Shared() bool { return l.Period == PerDay || l.Period == PerMonth }

// AppliesTo reports whether l covers requests to a model, named provider/model.
func (l Limit) AppliesTo(model string) bool {
	provider, _, _ := strings.Cut(model, "/")
	return l.Provider == "" || l.Provider == provider
}

// Same reports whether l and m have the same period and provider.
func (l Limit) Same(m Limit) bool { return l.Period == m.Period && l.Provider == m.Provider }

// Share returns the used share of the limit; 1 is all of it.
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

// ErrBudget matches errors about a limit that is reached.
var ErrBudget = errors.New("a spending limit is reached")

// A BudgetError reports that a limit is reached, or that the next request would exceed it.
type BudgetError struct {
	Limit Limit
	Used  llm.Usage
	Next  float64 // US dollars by which the next request exceeds the rest, at least; 0: the limit is reached
}

func (e *BudgetError) Error() string {
	if e.Next > 0 {
		return fmt.Sprintf("the next request would exceed the %s: %s used, and its input costs at least %s", e.Limit, Dollars(e.Used.Cost), Dollars(e.Next))
	}
	return e.Limit.String() + " reached: " + e.used() + " used"
}

// Check returns a *BudgetError if the limit is reached, or if requests of at least next US dollars
// would exceed it; nil otherwise.
func (l Limit) Check(used llm.Usage, next float64) *BudgetError {
	switch {
	case l.Share(used) >= 1:
		return &BudgetError{Limit: l, Used: used}
	case l.Cost > 0 && used.Cost+next > l.Cost:
		return &BudgetError{Limit: l, Used: used, Next: next}
	}
	return nil
}

// used describes the usage that counts towards the limit.
func (e *BudgetError) used() string {
	if e.Limit.Cost > 0 && e.Used.Cost >= e.Limit.Cost || e.Limit.Tokens == 0 {
		return Dollars(e.Used.Cost)
	}
	return strconv.Itoa(e.Used.Input+e.Used.Output) + " tokens"
}

// Is reports whether target is ErrBudget.
func (e *BudgetError) Is(target error) bool { return target == ErrBudget }

// Budget holds the [budget] section of the configuration. 0 is no limit.
type Budget struct {
	Confirm float64 `toml:"confirm"` // US dollars: requests with a higher estimate need confirmation; 0: none do
	Turn    float64 `toml:"turn"`    // US dollars, like all fields below
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

// DefaultBudget returns the limits used if the configuration has none.
func DefaultBudget() Budget { return Budget{Confirm: 1} }

// Validate returns an error for the first key with an invalid value.
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

// checkCost checks the cost of a key. Zero describes the effect of 0, such as "never asks".
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

// all returns all possible limits.
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
