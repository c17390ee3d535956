package settings_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session/config"
	. "parley/session/settings"
)

type budgetFile struct {
	Budget Budget `toml:"budget"`
}

func (f *budgetFile) Validate() error { return f.Budget.Validate() }

// An impossible value is reported with the key that was written, and its line.
func TestBudgetNamesTheKey(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"turn = 1\nturn_tokens = -1", "3: budget.turn_tokens cannot be negative; 0 is no limit"},
		{"turn_tokens = 1\nturn = -0.5", "3: budget.turn cannot be negative; 0 is no limit"},
		{"day = 1\nturn = inf", "3: budget.turn must be a finite number; 0 is no limit"},
		{"session = -inf", "2: budget.session must be a finite number; 0 is no limit"},
		{"month = nan", "2: budget.month must be a finite number; 0 is no limit"},
		{"confirm = nan", "2: budget.confirm must be a finite number; 0 never asks"},
		{"confirm = -1", "2: budget.confirm cannot be negative; 0 never asks"},
		{"[budget.providers.openai]\nday = 1\nday_tokens = -1", "4: budget.providers.openai.day_tokens cannot be negative; 0 is no limit"},
		{"[budget.providers.openai]\nday_tokens = 1\nmonth = -1", "4: budget.providers.openai.month cannot be negative; 0 is no limit"},
		{"providers.openai.month_tokens = -1", "2: budget.providers.openai.month_tokens cannot be negative; 0 is no limit"},
		{"turn = 0\nturn_tokens = 0\nconfirm = 0", ""},
	} {
		got := ""
		if err := config.Decode("[budget]\n"+tt.text, &budgetFile{}); err != nil {
			got = strings.TrimSpace(err.Error())
		}
		if got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestLimitString(t *testing.T) {
	for want, l := range map[string]Limit{
		"daily limit of $5.00 at openai":           {PerDay, "openai", 5, 0},
		"monthly limit of $0.0500 and 9 tokens":    {PerMonth, "", 0.05, 9},
		"turn limit of 1000 tokens":                {PerTurn, "", 0, 1000},
		"session limit of $0.10":                   {PerSession, "", 0.1, 0},
		"session limit":                            {Period: PerSession},
		"daily limit of $1.00 and 1 tokens at x y": {PerDay, "x y", 1, 1},
	} {
		if got := l.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDollars(t *testing.T) {
	for amount, want := range map[float64]string{0: "$0.00", 0.00004: "$0.0000", 0.0123: "$0.0123", 0.099: "$0.0990", 0.1: "$0.10", 12.345: "$12.35", -0.01: "$-0.01"} {
		if got := Dollars(amount); got != want {
			t.Errorf("%v: got %s, want %s", amount, got, want)
		}
	}
}

// Days and months begin at midnight where the user is.
func TestBegan(t *testing.T) {
	for _, zone := range []*time.Location{time.Local, time.UTC, time.FixedZone("", 14*3600), time.FixedZone("", -12*3600)} {
		at := time.Date(2026, time.May, 17, 0, 30, 15, 99, zone)
		y, m, d := at.In(time.Local).Date()
		if got, want := PerDay.Began(at), time.Date(y, m, d, 0, 0, 0, 0, time.Local); !got.Equal(want) {
			t.Errorf("the day of %v began %v", at, got)
		}
		if got, want := PerMonth.Began(at), time.Date(y, m, 1, 0, 0, 0, 0, time.Local); !got.Equal(want) {
			t.Errorf("the month of %v began %v", at, got)
		}
	}
}

// TestCheck: a limit is reached at exactly its amount, and the next request may use up the rest.
func TestCheck(t *testing.T) {
	cost, tokens, both := Limit{PerTurn, "", 2, 0}, Limit{PerTurn, "", 0, 100}, Limit{PerTurn, "", 2, 100}
	for _, tt := range []struct {
		name  string
		limit Limit
		used  llm.Usage
		next  float64
		share float64
		want  string
	}{
		{"nothing used", both, llm.Usage{}, 0, 0, ""},
		{"no limit", Limit{Period: PerTurn}, llm.Usage{Input: 1000, Cost: 50}, 50, 0, ""},
		{"half", cost, llm.Usage{Input: 1000, Cost: 1}, 0, 0.5, ""},
		{"the rest", cost, llm.Usage{Cost: 1}, 1, 0.5, ""},
		{"more than the rest", cost, llm.Usage{Cost: 1}, 1.5, 0.5, "the next request would exceed the turn limit of $2.00: $1.00 used, and its input costs at least $1.50"},
		{"all", cost, llm.Usage{Input: 7, Cost: 2}, 1, 1, "turn limit of $2.00 reached: $2.00 used"},
		{"tokens", tokens, llm.Usage{Input: 60, Output: 39, Cost: 50}, 50, 0.99, ""},
		{"all tokens", tokens, llm.Usage{Input: 60, Output: 40, Cost: 50}, 0, 1, "turn limit of 100 tokens reached: 100 tokens used"},
		{"both: the cost", both, llm.Usage{Input: 50, Cost: 4}, 0, 2, "turn limit of $2.00 and 100 tokens reached: $4.00 used"},
		{"both: the tokens", both, llm.Usage{Input: 150, Cost: 1}, 0, 1.5, "turn limit of $2.00 and 100 tokens reached: 150 tokens used"},
	} {
		if got := tt.limit.Share(tt.used); got != tt.share {
			t.Errorf("%s: share %v, want %v", tt.name, got, tt.share)
		}
		got := ""
		if err := tt.limit.Check(tt.used, tt.next); err != nil {
			if got = err.Error(); !errors.Is(err, ErrBudget) || errors.Is(err, io.EOF) || err.Limit != tt.limit || err.Used != tt.used {
				t.Errorf("%s: %+v", tt.name, err)
			}
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestLimits: the limits that are set, the conversation's first, and what each of them covers.
func TestLimits(t *testing.T) {
	b := Budget{Turn: 1, SessionTokens: 2, ProviderBudget: ProviderBudget{Day: 3, MonthTokens: 4},
		Providers: map[string]ProviderBudget{"b": {DayTokens: 5, Month: 6}, "a": {Day: 7, DayTokens: 8}, "c": {}}}
	want := []Limit{{PerTurn, "", 1, 0}, {PerSession, "", 0, 2}, {PerDay, "", 3, 0}, {PerMonth, "", 0, 4}, {PerDay, "a", 7, 8}, {PerDay, "b", 0, 5}, {PerMonth, "b", 6, 0}}
	if got := b.Limits(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := DefaultBudget(); len(got.Limits()) != 0 || got.Confirm != 1 || got.Validate() != nil {
		t.Errorf("without a configuration: %+v", got)
	}
	shared := ""
	for _, p := range Periods {
		shared += fmt.Sprint(p, " ", Limit{Period: p}.Shared(), ", ")
	}
	if shared != "turn false, session false, day true, month true, " {
		t.Errorf("shared: %s", shared)
	}
	all, one := Limit{PerDay, "", 1, 0}, Limit{PerDay, "a", 2, 3}
	if !all.AppliesTo("a/x") || !one.AppliesTo("a/x/y") || one.AppliesTo("ab/x") || one.AppliesTo("x/a") {
		t.Error("a limit covers requests to other providers, or not its own")
	}
	if all.Same(one) || one.Same(Limit{PerMonth, "a", 2, 3}) || !one.Same(Limit{PerDay, "a", 0, 9}) {
		t.Error("limits are the same by period and provider")
	}
}
