package store

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
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
	size := func(limit int) uint64 {
		return allocated(func() {
			if list, err := db.List(Query{Limit: limit}); err != nil || len(list) != limit {
				t.Fatal(len(list), err)
			}
		})
	}
	if three, all := size(3), size(60); all < three+57*200 { // what a session takes at least
		t.Errorf("three sessions take %d bytes, and all sixty %d", three, all)
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
	for _, q := range []Query{{}, {Dir: "/p1"}, {Words: "hello"}, {Words: "hello", Model: "none"}, {Words: "!"}, {Deleted: true}} {
		q.Limit = -1
		all := ids(q)
		for _, n := range []int{1, 3, 100} {
			q.Limit = n
			if got, want := ids(q), all[:min(n, len(all))]; !slices.Equal(got, want) {
				t.Errorf("%+v: got %v, want %v", q, got, want)
			}
			if count, err := db.Count(q); count != len(all) || err != nil {
				t.Errorf("%+v: counted %d, %v, want %d", q, count, err, len(all))
			}
		}
	}
}

// A session that cannot be read does not take the place of one that can.
func TestListLimitWithDamage(t *testing.T) {
	db := many(t, 6)
	if err := db.write(func(w *writer) error { return w.Exec(`UPDATE sessions SET touched = 'x' WHERE id = 's001'`) }); err != nil {
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

// A short ID finds its session among all that the store has, also those that were deleted since.
func TestShortIDs(t *testing.T) {
	db := fresh(t)
	ids := []string{"0199a3c2-7b1a", "0199a3c2-7b2a", "0199a3c3-0000", "ab", "abc", "abd", "z", "\u00e9\u00e9", "\u00e9\u00ea"}
	for _, id := range ids {
		if _, err := db.Import(Session{ID: id, Title: "t", Dir: "/p"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		least int
		of    []string
		want  []string
	}{
		"all":           {4, ids[:7], []string{"0199a3c2-7b1", "0199a3c2-7b2", "0199a3c3", "ab", "abc", "abd", "z"}},
		"one of many":   {4, ids[:1], []string{"0199a3c2-7b1"}},
		"longer":        {100, ids[:2], ids[:2]},
		"not there":     {4, []string{"0199a3c2-7b1", "y", ""}, []string{"", "", ""}},
		"several bytes": {1, ids[7:], []string{"\u00e9\u00e9", "\u00e9\u00ea"}},
		"none":          {4, nil, nil},
	} {
		short, err := db.ShortIDs(c.least, c.of...)
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range c.of {
			if short[id] != c.want[i] {
				t.Errorf("%s: %s is %q for short, want %q", name, id, short[id], c.want[i])
			}
			if found, err := db.Find(short[id]); err != nil || short[id] != "" && (len(found) != 1 || found[0].ID != id) {
				t.Errorf("%s: %s finds %v, %v", name, short[id], found, err)
			}
		}
	}
	if err := db.Trash("0199a3c2-7b2a"); err != nil {
		t.Fatal(err)
	}
	if short, err := db.ShortIDs(4, ids[:2]...); err != nil || len(short) != 1 || short[ids[0]] != "0199a3c2-7b1" {
		t.Errorf("got %v, %v", short, err)
	}
}

// The session that -c continues is the one of the folder itself in which something was said
// last; what was imported, deleted, or began below, is none.
func TestLatest(t *testing.T) {
	db := fresh(t)
	if _, err := db.Latest("/p"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	at := func(n int) []Node {
		node := says(1, llm.RoleUser, "hello")
		node.At = time.Unix(int64(n), 0)
		return []Node{node}
	}
	for i, s := range []Session{
		{ID: "old", Dir: "/p"}, {ID: "own", Dir: "/p"}, {ID: "fork", Dir: "/p", Origin: "fork own"}, {ID: "gone", Dir: "/p"},
		{ID: "foreign", Dir: "/p", Origin: "chatgpt"}, {ID: "below", Dir: "/p/q"}, {ID: "other", Dir: "/q"},
	} {
		if _, err := db.Import(s, at(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Trash("gone"); err != nil {
		t.Fatal(err)
	}
	for _, damage := range []string{``, `UPDATE sessions SET usage = x'00'`} {
		if err := db.write(func(w *writer) error { return w.script(damage) }); err != nil {
			t.Fatal(err)
		}
		if got, err := db.Latest("/p"); got.ID != "fork" || err != nil && damage == "" {
			t.Errorf("%q: got %q, %v", damage, got.ID, err)
		}
	}
}

// The cost of finding one session does not grow with the number of sessions.
func TestFindingIsFlat(t *testing.T) {
	few, many := many(t, 10), many(t, 300)
	for name, find := range map[string]func(db *DB) error{
		"latest": func(db *DB) error { _, err := db.Latest("/p1"); return err },
		"by ID":  func(db *DB) error { _, err := db.Find("s001"); return err },
		"three":  func(db *DB) error { _, err := db.List(Query{Limit: 3}); return err },
	} {
		cost := func(db *DB) float64 {
			least := math.Inf(1)
			for range 5 { // the collector empties pools in between
				least = min(least, testing.AllocsPerRun(3, func() {
					if err := find(db); err != nil {
						t.Fatal(err)
					}
				}))
			}
			return least
		}
		if a, b := cost(few), cost(many); b > a*1.1+4 && !llmtest.Race { // which makes pools forget by chance
			t.Errorf("%s: %.0f allocations among 10 sessions, %.0f among 300", name, a, b)
		}
	}
	var plan string
	err := many.View(func(q Tx) error {
		return EachRow(q, func(rows *sql.Rows) error {
			var id, parent, unused int
			var detail string
			err := rows.Scan(&id, &parent, &unused, &detail)
			plan += detail + "\n"
			return err
		}, `EXPLAIN QUERY PLAN SELECT s.num FROM sessions s WHERE s.deleted IS NULL `+listOrder+` LIMIT 3`)
	})
	if err != nil || !strings.Contains(plan, "sessions_listed") || strings.Contains(plan, "TEMP B-TREE") {
		t.Errorf("the first of a list are found by\n%s%v", plan, err)
	}
}

// TestListOfARoot: the sessions below a root do not include those without a known directory.
func TestListOfARoot(t *testing.T) {
	db := fresh(t)
	for _, dir := range []string{"", "/", "/a", `C:\`, `C:\x`} {
		talk(t, db.Create(Session{Dir: dir}), "hello")
	}
	for root, want := range map[string]string{"/": "/a /", `C:\`: `C:\x C:\`} {
		list, err := db.List(Query{Dir: root})
		var got []string
		for _, s := range list {
			got = append(got, s.Dir)
		}
		if strings.Join(got, " ") != want || err != nil {
			t.Errorf("%s: got %q, want %s, %v", root, got, want, err)
		}
	}
}
