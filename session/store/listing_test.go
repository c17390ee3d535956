package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"parley/providers/llm"
)

// insertMany inserts n sessions without messages.
func insertMany(t *testing.T, db *DB, n int) {
	t.Helper()
	err := db.write(func(w *writer) error {
		for i := range n {
			s := Session{ID: fmt.Sprintf("s%06d", i), Title: fmt.Sprint("title ", i), Dir: "/p", Origin: "fork x", Preview: "hello", Usage: llm.Usage{Input: i, Cost: 0.25}}
			if _, err := insertSession(w, s, int64(i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Odd values in a row do not take the others from a list, with or without a limit.
func TestListOfOddValues(t *testing.T) {
	for _, odd := range []string{
		`created = -9223372036854775808`, `updated = -9223372036854775808`, `deleted = -9223372036854775808`, `touched = -1`,
		`messages = 'head'`, `messages = CAST('head' AS BLOB)`, `named = 'false'`, `pinned = 'false'`, `pinned = x'00'`, `head = 9223372036854775807`,
	} {
		db := fresh(t)
		insertMany(t, db, 9)
		if err := db.write(func(w *writer) error { return w.script(`UPDATE sessions SET ` + odd + ` WHERE num = 4`) }); err != nil {
			t.Fatal(err)
		}
		listed := 0
		for _, q := range []Query{{}, {Deleted: true}} {
			all, _ := db.List(q) // of damage
			listed += len(all)
			if first, _ := db.List(Query{Limit: 1, Deleted: q.Deleted}); len(all) > 0 && (len(first) != 1 || first[0] != all[0]) {
				t.Errorf("%s: the first one is %+v, want %+v", odd, first, all[0])
			}
		}
		if listed != 9 {
			t.Errorf("%s: %d of 9 sessions are listed", odd, listed)
		}
	}
}

// Lists of many sessions are whole and in order.
func TestLongList(t *testing.T) {
	db := fresh(t)
	const n = 2*500 + 3
	insertMany(t, db, n)
	list, err := db.List(Query{})
	if err != nil || len(list) != n || list[0].ID != fmt.Sprintf("s%06d", n-1) || list[n-1].ID != "s000000" {
		t.Errorf("got %d sessions, %v", len(list), err)
	}
	if found, err := db.Find("TITLE 1001"); err != nil || len(found) != 1 || found[0].ID != "s001001" {
		t.Errorf("got %+v, %v", found, err)
	}
	for id, want := range map[string]string{"s001001": "s001001", "s000000": "s000000", "x": ""} {
		if short, err := db.ShortIDs(3, id); short[id] != want || err != nil {
			t.Errorf("%s is %q for short, %v", id, short, err)
		}
	}
}

// In a damaged table a row may not be found by its num, and is read all the same.
func TestListOfDamagedTree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	db := reopen(t, path)
	insertMany(t, db, 3*500)
	var root, page int
	err := db.read(func(q querier) error {
		return errors.Join(q.QueryRow(`SELECT rootpage FROM sqlite_schema WHERE name = 'sessions'`).Scan(&root), q.QueryRow(`PRAGMA page_size`).Scan(&page))
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tree := data[(root-1)*page : root*page]
	if tree[0] != 5 {
		t.Fatalf("the root is a page of type %d, not with the nums of others", tree[0])
	}
	changed := 0
	for i := range int(binary.BigEndian.Uint16(tree[3:])) {
		key := tree[binary.BigEndian.Uint16(tree[12+2*i:])+4:] // in 7 bits each, the last one below 0x80
		if key[0] > 0x80 && key[1] < 0x80 {
			key[1], changed = 0, changed+1
		}
	}
	if err := os.WriteFile(path, data, 0o600); err != nil || changed < 10 {
		t.Fatal(changed, err)
	}
	list, _ := reopen(t, path).List(Query{})
	if len(list) != 3*500 {
		t.Errorf("got %d sessions of %d", len(list), 3*500)
	}
}
