package sessions

import (
	"strings"
	"testing"
	"time"

	"parley/session"
	"parley/session/archive"
	"parley/ui/cli/cmdutil"
)

// TestComparisonTally counts the chosen answers per model and per pair.
func TestComparisonTally(t *testing.T) {
	lib := session.MemoryStore()
	for _, c := range []session.Comparison{
		{Winner: "a/one", Losers: []string{"b/two", "c/three"}, Blind: true}, {Winner: "a/one", Losers: []string{"b/two"}}, {Winner: "b/two", Losers: []string{"a/one"}},
	} {
		if err := lib.Comparisons().Add(c); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	usage := Options{Stored: cmdutil.Conversations{Open: func() (*session.Store, error) { return lib, nil }}, Archive: archive.New(), Out: &out, Note: func(string) {}, Now: time.Now}.usage()
	usage.SetArgs([]string{"--compare"})
	if err := usage.Execute(); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	want := `a/one    chosen 2 of 3  66%  1 blind
b/two    chosen 1 of 3  33%  1 blind
c/three  chosen 0 of 1  0%   1 blind

a/one  2 – 1  b/two    1 blind
a/one  1 – 0  c/three  1 blind
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
