package cli

import (
	"strings"
	"testing"

	"parley/providers/catalog"
	"parley/tools"
)

// The parts of a request beside the messages are estimated once, and again when they change: the screen of an empty
// conversation shows them in each frame.
func TestRequestFacts(t *testing.T) {
	set, err := tools.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var known estimates
	var p project
	sum := func(system string) (sum int) {
		for _, f := range requestFacts(system, &p, set, &known) {
			sum += f.Tokens
		}
		return sum
	}
	want := 0
	for _, tool := range set.Tools() {
		want += catalog.Estimate(tool.Description) + catalog.Estimate(string(tool.Schema))
	}
	for _, system := range []string{"Be brief.", "Be brief.", strings.Repeat("Be thorough. ", 100), ""} {
		if got, want := sum(system), want+catalog.Estimate(system); got != want {
			t.Errorf("with the system prompt %.20q: %d tokens, want %d", system, got, want)
		}
	}
	first := testing.AllocsPerRun(5, func() { known.known = nil; sum("Be brief.") })
	again := testing.AllocsPerRun(5, func() { sum("Be brief.") })
	if again*2 > first {
		t.Errorf("%v allocations, and %v for the first time", again, first)
	}
}

func BenchmarkRequestFacts(b *testing.B) {
	set, err := tools.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	var known estimates
	var p project
	for b.Loop() {
		requestFacts("Be brief.", &p, set, &known)
	}
}
