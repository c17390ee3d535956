package rules

import "testing"

func TestTables(t *testing.T) {
	for name, why := range refused() {
		if why == "" || program(name) != name && len(name) > 1 && name[len(name)-1] != '*' {
			t.Errorf("%q: %q", name, why)
		}
	}
	for name, options := range harmless() {
		if len(options) == 0 {
			t.Errorf("%q has no options", name)
		}
	}
}
