package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// joinedRows is a number of sessions that fills several pages of the file.
const joinedRows = 500

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

// Reading rows as one text finds what reading them column by column does, whatever they hold.
func TestJoinedSessions(t *testing.T) {
	db := fresh(t)
	texts := []string{"", "plain", "Größe, déjà vu 日本", "tab\tand\nline", `"quoted" {json}`, "nul \x00 in it", "bad \xff utf-8", "' OR 1", "\x1f", "a\x1eb", "\x1e\x1f\x1e"}
	for i, title := range texts {
		l := db.Create(Session{ID: fmt.Sprintf("s%03d", i), Dir: "/p", Model: "x/" + title, Title: title})
		talk(t, l, "hello "+title, "ho")
		if i%3 == 0 {
			if err := db.Pin(l.Session().ID, true); err != nil {
				t.Fatal(err)
			}
		}
		if i%4 == 1 { // the others stay open here
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, odd := range []string{``, `UPDATE sessions SET created = NULL`, `UPDATE sessions SET usage = '{"cost":1e-3,"priced":true,"new":[1,{}]}' WHERE num = 2`,
		`UPDATE sessions SET usage = '{}' WHERE num = 3`, `UPDATE sessions SET effort = 'huge' WHERE num = 4`, `UPDATE sessions SET id = CAST(id AS BLOB) WHERE num = 5`} {
		if err := db.write(func(w *writer) error { return w.script(odd) }); err != nil {
			t.Fatal(err)
		}
		for n := range len(texts) + 1 { // with and without those that cannot be joined
			err := db.View(func(q Tx) error {
				where := fmt.Sprintf(`WHERE s.num <= %d`, n)
				want, wantErr := sessionReader{db, q}.checked(where)
				sortRows(want, place.compare)
				got, gotErr := sessionReader{db, q}.sessions(place.compare, where)
				if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) || len(got) != len(want) {
					t.Fatalf("%q: got %d sessions, %v, want %d, %v", odd, len(got), gotErr, len(want), wantErr)
				}
				for i := range got {
					if got[i] != want[i].Session {
						t.Errorf("%q: got\n%+v, want\n%+v", odd, got[i], want[i].Session)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Values that stand for others in joined rows are read as they are.
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
		for _, q := range []Query{{}, {Limit: 1}, {Deleted: true}} {
			where, _ := q.filter()
			var rows []*sessionRow
			wantErr := db.View(func(r Tx) (err error) {
				rows, err = sessionReader{db, r}.checked(`WHERE ` + where)
				return err
			})
			sortRows(rows, place.compare)
			want := sessionsOf(rows)
			want = want[:min(len(want), q.limit(len(want)))]
			got, err := db.List(q)
			told := q.Limit > 0 || fmt.Sprint(err) == fmt.Sprint(wantErr) // a limit reads no others
			if !slices.Equal(got, want) || !told {
				t.Errorf("%s, %+v: got\n%+v, %v, want\n%+v, %v", odd, q, got, err, want, wantErr)
			}
		}
	}
}

func sessionsOf(rows []*sessionRow) (list []Session) {
	for _, r := range rows {
		list = append(list, r.Session)
	}
	return list
}

// Joined rows are read in several texts where there are many.
func TestJoinedSessionsInParts(t *testing.T) {
	db := fresh(t)
	const n = 2*joinedRows + 3
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
	insertMany(t, db, 3*joinedRows)
	var root, page int
	err := db.View(func(q Tx) error {
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
	if len(list) != 3*joinedRows {
		t.Errorf("got %d sessions of %d", len(list), 3*joinedRows)
	}
}

// A list is the same, whatever is damaged, as one that is read column by column.
func TestListOfDamagedRows(t *testing.T) {
	db := fresh(t)
	insertMany(t, db, 9)
	for _, odd := range []string{``, `UPDATE sessions SET title = preview, head = 3, messages = 4, pinned = 1 WHERE num = 2`, `UPDATE sessions SET origin = NULL WHERE num = 3`,
		`UPDATE sessions SET preview = x'00ff' WHERE num = 4`, `UPDATE sessions SET head = 'x' WHERE num = 5`, `UPDATE sessions SET named = 2, messages = 2.5 WHERE num = 6`, `UPDATE sessions SET named = '', pinned = '', messages = '' WHERE num = 7`} {
		_ = db.write(func(w *writer) error { return w.script(odd) }) // NOT NULL refuses one
		var rows []*sessionRow
		wantErr := db.View(func(q Tx) (err error) {
			rows, err = sessionReader{db, q}.checked(``)
			return err
		})
		sortRows(rows, place.compare)
		want := sessionsOf(rows)
		got, err := db.List(Query{})
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || len(got) != 9 {
			t.Fatalf("%q: got %d sessions, %v, want %v", odd, len(got), err, wantErr)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got\n%+v, want\n%+v", odd, got, want)
		}
	}
}

// A session in a list takes the two allocations of database/sql for its text, and little memory besides that.
func TestListAllocations(t *testing.T) {
	db := fresh(t)
	insertMany(t, db, 4*joinedRows)
	few, all := joinedRows/2, 4*joinedRows
	list := func(n int) func() {
		return func() {
			if found, err := db.List(Query{Limit: n}); err != nil || len(found) != n {
				t.Fatal(len(found), err)
			}
		}
	}
	more := float64(all - few)
	if n := (testing.AllocsPerRun(3, list(all)) - testing.AllocsPerRun(3, list(few))) / more; n > 2.2 && !llmtest.Race {
		t.Errorf("each session takes %.1f allocations", n)
	}
	if n := float64(allocated(list(all))-allocated(list(few))) / more; n > 700 {
		t.Errorf("each session takes %.0f bytes", n)
	}
}
