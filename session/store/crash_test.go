package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// Writes that Put acknowledged outlive a power cut, and deleted text is not left in the file: by
// itself SQLite sees to neither.
func TestWriterSettings(t *testing.T) {
	db := reopen(t, filepath.Join(t.TempDir(), "parley.db"))
	check := func(settings map[string]string) {
		for name, want := range settings {
			var got string
			if err := db.writer.QueryRow("PRAGMA " + name).Scan(&got); err != nil || got != want {
				t.Errorf("%s is %q, want %q: %v", name, got, want, err)
			}
		}
	}
	check(map[string]string{"journal_mode": "wal", "synchronous": "2", "secure_delete": "2", "temp_store": "2"})
	if err := db.Bulk(func() error { check(map[string]string{"synchronous": "1"}); return nil }); err != nil {
		t.Error(err)
	}
	check(map[string]string{"synchronous": "2"})
}

// A garbage collector that the user has set with GOGC stays as it is.
func TestBulkKeepsGOGC(t *testing.T) {
	t.Setenv("GOGC", "50")
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	db := reopen(t, filepath.Join(t.TempDir(), "parley.db"))
	if err := db.Bulk(func() error {
		if got := debug.SetGCPercent(50); got != 50 {
			t.Errorf("got %d, want 50", got)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// A process that is killed at any moment loses nothing that Put acknowledged.
func TestKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(llmtest.Folder(t), "parley.db")
	for round := range either(12, 300) {
		id := fmt.Sprintf("round%03d", round)
		cmd, out := child(t, "write", path, id)
		line(t, out)
		time.AfterFunc(time.Duration(rand.IntN(30))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		acked := 1
		for out.Scan() {
			seq, err := strconv.Atoi(out.Text())
			if err != nil {
				t.Fatal(out.Text())
			}
			acked = seq
		}
		_ = cmd.Wait()

		db, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if round%4 == 3 { // what is damaged stays so
			if err := db.Check(); err != nil {
				t.Fatal(err)
			}
		}
		l, err := db.Resume(id) // its lease died with it
		if err != nil {
			t.Fatal(err)
		}
		nodes := l.Nodes()
		if len(nodes) < acked || l.Session().Messages != len(nodes) || l.Session().Head != len(nodes) {
			t.Fatalf("round %d: %d were acknowledged, %d are there: %+v", round, acked, len(nodes), l.Session())
		}
		for i, n := range nodes {
			if n.Seq != i+1 || n.Text() != text(n.Seq) {
				t.Fatalf("round %d: message %d says %.40q", round, i+1, n.Text())
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	list, err := reopen(t, path).List(Query{})
	if err != nil || len(list) != either(12, 300) || list[0].ID != fmt.Sprintf("round%03d", len(list)-1) {
		t.Errorf("%d sessions, %v", len(list), err)
	}
}

// A process that is killed at any moment leaves whole forks, or none.
func TestForksKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(llmtest.Folder(t), "parley.db")
	var nodes []Node
	for seq := range minPaged {
		nodes = append(nodes, says(seq+1, llm.RoleUser, text(seq+1)))
	}
	db := reopen(t, path)
	id, err := db.Import(Session{}, nodes)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for round := range either(6, 60) {
		cmd, out := child(t, "fork", path, id)
		id = line(t, out)
		time.AfterFunc(time.Duration(rand.IntN(40))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		for out.Scan() {
			id = out.Text()
		}
		_ = cmd.Wait()
		db := reopen(t, path)
		list, err := db.List(Query{Limit: 4})
		if err != nil || !slices.ContainsFunc(list, func(s Session) bool { return s.ID == id }) {
			t.Fatalf("round %d: %s is not in %+v, %v", round, id, list, err)
		}
		for _, s := range list {
			_, nodes, err := db.Read(s.ID)
			if err != nil || len(nodes) != s.Messages || s.Head != s.Messages {
				t.Fatalf("round %d: %+v has %d messages, %v", round, s, len(nodes), err)
			}
			for i, n := range nodes {
				if n.Seq != i+1 || n.Text() != text(i+1) {
					t.Fatalf("round %d: message %d says %.40q", round, i+1, n.Text())
				}
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Many processes write one file without getting in each other's way.
func TestProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(llmtest.Folder(t), "parley.db")
	processes, turns := 8, either(25, 200)
	var waits []func() error
	for range processes {
		cmd, out := child(t, "turns", path, strconv.Itoa(turns))
		waits = append(waits, func() error {
			for out.Scan() {
				t.Error(out.Text())
			}
			return cmd.Wait()
		})
	}
	for _, wait := range waits {
		if err := wait(); err != nil {
			t.Error(err)
		}
	}
	db := reopen(t, path)
	list, err := db.List(Query{})
	if err != nil || len(list) != processes {
		t.Fatalf("%d sessions, %v", len(list), err)
	}
	for _, s := range list {
		_, nodes, err := db.Read(s.ID)
		if err != nil || len(nodes) != turns {
			t.Errorf("%s: %d messages, %v", s.ID, len(nodes), err)
		}
	}
	if err := db.Check(); err != nil {
		t.Error(err)
	}
}

// An answer that was still arriving is read back as far as it was saved, and can be found.
func TestCutOff(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{})
	talk(t, l, "question")
	n := says(2, "assistant", "an answer about zebras that")
	n.Partial = true
	if err := l.Put(n); err != nil {
		t.Fatal(err)
	}
	_, nodes, err := db.Read(l.Session().ID)
	if err != nil || len(nodes) != 2 || !nodes[1].Partial || nodes[1].Text() != n.Text() {
		t.Fatalf("got %+v, %v", nodes, err)
	}
	if hits, _, err := db.Search(Query{Words: "zebras"}); err != nil || len(hits) != 1 {
		t.Errorf("got %+v, %v", hits, err)
	}
	whole := says(2, "assistant", "an answer about giraffes")
	if err := l.Put(whole); err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]int{"zebras": 0, "giraffes": 1} {
		if hits, _, err := db.Search(Query{Words: word}); err != nil || len(hits) != want {
			t.Errorf("%s: got %+v, %v", word, hits, err)
		}
	}
	if spent, err := dailyUsage(db, time.Time{}, time.Time{}, false); err != nil || len(spent) != 1 || spent[0].Answers != 1 {
		t.Errorf("got %+v, %v", spent, err)
	}
}

// TestPanicInTransaction: a bug within a transaction undoes it, and the next one can be written.
func TestPanicInTransaction(t *testing.T) {
	db := fresh(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was caught")
			}
		}()
		_ = db.write(func(w *writer) error {
			if err := w.Exec(`INSERT INTO state (key, value) VALUES ('half', 'x')`); err != nil {
				t.Error(err)
			}
			panic("a bug")
		})
	}()
	if err := db.Set("key", "value"); err != nil {
		t.Errorf("nothing can be written any more: %v", err)
	}
	if half, err := db.Get("half"); half != "" || err != nil {
		t.Errorf("half of it is there: %q, %v", half, err)
	}
}
