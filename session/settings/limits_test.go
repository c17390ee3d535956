package settings_test

import (
	"strings"
	"testing"

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
