package store

import (
	"fmt"
	"slices"
	"testing"
)

// many creates n sessions of one message each.
func many(t *testing.T, n int) *DB {
	t.Helper()
	db := fresh(t)
	for i := range n {
		l := db.Create(Session{ID: fmt.Sprintf("s%03d", i), Dir: fmt.Sprintf("/p%d", i%2)})
		talk(t, l, "hello")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// The first sessions are read alone: the first screen shows three, of however many.
func TestListReadsWhatItShows(t *testing.T) {
	db := many(t, 60)
	allocations := func(limit int) float64 {
		return testing.AllocsPerRun(5, func() {
			if list, err := db.List(Query{Limit: limit}); err != nil || len(list) != limit {
				t.Fatal(len(list), err)
			}
		})
	}
	if three, all := allocations(3), allocations(60); three > all/4 {
		t.Errorf("three sessions take %.0f allocations, and all sixty %.0f", three, all)
	}
}

// A limit cuts the list, and changes neither what is in it nor the order.
func TestListLimit(t *testing.T) {
	db := many(t, 12)
	if err := db.Pin("s004", true); err != nil {
		t.Fatal(err)
	}
	if err := db.Trash("s011"); err != nil {
		t.Fatal(err)
	}
	ids := func(q Query) (ids []string) {
		t.Helper()
		list, err := db.List(q)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			ids = append(ids, s.ID)
		}
		return ids
	}
	for _, q := range []Query{{}, {Dir: "/p1"}, {Words: "hello"}, {Deleted: true}} {
		q.Limit = -1
		all := ids(q)
		for _, n := range []int{1, 3, 100} {
			q.Limit = n
			if got, want := ids(q), all[:min(n, len(all))]; !slices.Equal(got, want) {
				t.Errorf("%+v: got %v, want %v", q, got, want)
			}
		}
	}
}

// A session that cannot be read does not take the place of one that can.
func TestListLimitWithDamage(t *testing.T) {
	db := many(t, 6)
	if err := db.write(func(w *writer) error { return w.exec(`UPDATE sessions SET touched = 'x' WHERE id = 's001'`) }); err != nil {
		t.Fatal(err)
	}
	want, _ := db.List(Query{Limit: -1})
	got, err := db.List(Query{Limit: 3})
	if err == nil || len(got) != 3 {
		t.Fatalf("got %d sessions, %v", len(got), err)
	}
	for i := range got {
		if got[i].ID != want[i].ID {
			t.Errorf("%d: got %s, want %s", i, got[i].ID, want[i].ID)
		}
	}
}
