package rules

import (
	"strings"
	"testing"
)

func TestTables(t *testing.T) {
	for name, why := range refused() {
		if why == "" || strings.ToLower(name) != name {
			t.Errorf("%q: %q", name, why)
		}
	}
	for name, options := range harmless() {
		if len(options) == 0 {
			t.Errorf("%q has no options", name)
		}
	}
}
