package store

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestComparisons keeps which answers were chosen, with the time, in order.
func TestComparisons(t *testing.T) {
	db, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	before := time.Now().Add(-time.Hour)
	for _, winner := range []string{"a/one", "b/two"} {
		if err := db.Comparisons().Add(Comparison{Session: "s", Winner: winner, Losers: []string{"c/three"}, Blind: winner == "a/one"}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := db.Comparisons().List(before, time.Time{})
	if err != nil || len(all) != 2 || all[0].Winner != "a/one" || !all[0].Blind || all[1].Winner != "b/two" || !slices.Equal(all[1].Losers, []string{"c/three"}) || all[0].At.Before(before) {
		t.Errorf("%+v, %v", all, err)
	}
	if old, err := db.Comparisons().List(time.Time{}, before); len(old) > 0 || err != nil {
		t.Errorf("an hour ago: %+v, %v", old, err)
	}
	if err := db.write(func(w *writer) error { return w.Exec(`UPDATE comparisons SET at = NULL WHERE num = 1`) }); err != nil {
		t.Fatal(err)
	}
	one, two := all[0].At, all[1].At
	for _, tt := range []struct {
		since, until time.Time
		want         string
	}{
		{time.Time{}, time.Time{}, "a/one b/two"}, {one, two.Add(1), "a/one b/two"}, {time.Time{}, one, ""}, {two.Add(1), time.Time{}, ""},
		{time.Time{}, before, ""}, {before, time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC), "a/one b/two"}, {time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), two.Add(1), "a/one b/two"},
	} {
		found, err := db.Comparisons().List(tt.since, tt.until)
		var winners []string
		for _, c := range found {
			winners = append(winners, c.Winner)
		}
		if got := strings.Join(winners, " "); got != tt.want || err != nil {
			t.Errorf("from %v to %v: %q, %v, want %q", tt.since, tt.until, got, err, tt.want)
		}
	}
}
