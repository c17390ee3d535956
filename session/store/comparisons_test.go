package store

import (
	"slices"
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
}
