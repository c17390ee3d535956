package prompts

import (
	"strings"
	"testing"
)

// TestSplitCost: a long word, which may be pasted, is not copied for each of its characters.
func TestSplitCost(t *testing.T) {
	args := "x='a b'" + strings.Repeat("c", 4000)
	if words := split(args); len(words) != 1 || len(words[0].text) != len(args)-2 {
		t.Errorf("got %q", words)
	}
	if n := testing.AllocsPerRun(10, func() { split(args) }); n > 50 {
		t.Errorf("%v allocations", n)
	}
}
