package composer

import (
	"slices"
	"strings"
	"testing"
)

// Every action has keys, no key has two actions, and the help lists each key.
func TestBindings(t *testing.T) {
	var told strings.Builder
	basic, readline := Bindings()
	for _, row := range slices.Concat(basic, readline) {
		if row[0] == "" || row[1] == "" {
			t.Errorf("%q is a row of the help", row)
		}
		told.WriteString(strings.NewReplacer(" / ", "\n", ", ", "\n").Replace(row[0]) + "\n")
	}
	bound, owner := map[action]bool{}, map[string]action{}
	for _, b := range bindings() {
		bound[b.do] = b.Enabled()
		for _, name := range b.Keys() {
			if was, taken := owner[name]; taken {
				t.Errorf("%s does %d and %d", name, was, b.do)
			}
			owner[name] = b.do
			if !strings.Contains(told.String(), name+"\n") {
				t.Errorf("%s is not told", name)
			}
		}
	}
	for do := none + 1; do <= complete; do++ {
		if !bound[do] {
			t.Errorf("action %d has no key", do)
		}
	}
}
