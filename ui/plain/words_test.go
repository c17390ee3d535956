package plain

import (
	"testing"

	"parley/providers/llm"
)

// Amounts are in cents until they would round to a dollar, and have no trailing zeros.
func TestMoney(t *testing.T) {
	for _, tt := range []struct {
		dollars float64
		want    string
	}{
		{0, ""},
		{0.00001, "less than 0.01 cents"},
		{0.0012, "0.12 cents"},
		{0.005, "0.5 cents"},
		{0.00994, "0.99 cents"},
		{0.00996, "1.0 cents"},
		{0.0123, "1.2 cents"},
		{0.9994, "99.9 cents"},
		{0.9996, "1.00 dollars"},
		{12.345, "12.35 dollars"},
	} {
		if got := money(llm.Usage{Cost: tt.dollars, Priced: true}); got != tt.want {
			t.Errorf("money of %g dollars = %q, want %q", tt.dollars, got, tt.want)
		}
	}
}
