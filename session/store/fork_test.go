package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"parley/providers/llm"
)

// ForkInto returns the numbers of the copied messages in the original.
func TestForkNumbers(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{})
	for seq, parent := range []int{0, 1, 0, 3, 2} {
		n := says(seq+1, llm.RoleUser, fmt.Sprint(seq+1))
		n.Parent = parent
		if err := l.Put(n); err != nil {
			t.Fatal(err)
		}
	}
	for head, want := range map[int][]int{0: {1, 2, 5}, 2: {1, 2}, 4: {3, 4}, 9: nil} {
		copied, seqs, err := db.ForkInto(db, l.Session().ID, head)
		if !slices.Equal(seqs, want) || (err != nil) != (want == nil) {
			t.Errorf("to %d: %v, %v, want %v", head, seqs, err, want)
		}
		if err != nil {
			continue
		}
		for i, n := range copied.Nodes() {
			if got := n.Text(); got != fmt.Sprint(want[i]) {
				t.Errorf("to %d: message %d of the copy is %s, want %d", head, i+1, got, want[i])
			}
		}
	}
}

// A fork of a long conversation equals one of decoded messages, also in another store, and after its original was removed.
func TestForkOfPages(t *testing.T) {
	t.Parallel()
	const n = minPaged + 3
	picture := []byte("a picture, which is stored once")
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i] = says(i+1, llm.RoleUser, fmt.Sprint("message ", i+1))
		if i%2 == 1 {
			nodes[i].Role, nodes[i].Model, nodes[i].Usage = llm.RoleAssistant, "a/b", &llm.Usage{Input: 1, Output: 2}
		}
		if i%100 == 0 {
			nodes[i].Parts = append(nodes[i].Parts, llm.Part{Kind: llm.Media, MIME: "image/png", Data: picture})
		}
	}
	for name, tt := range map[string]struct {
		store func(t *testing.T, db *DB) *DB
		do    func(l *Log) error // before the first Put
	}{
		"the same store": {store: func(_ *testing.T, db *DB) *DB { return db }},
		"in memory": {store: func(t *testing.T, _ *DB) *DB {
			db, err := OpenMemory()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			return db
		}},
		"all read before": {store: func(_ *testing.T, db *DB) *DB { return db }, do: func(l *Log) error {
			if got := l.Nodes(); len(got) != n || l.Older() != 0 {
				return fmt.Errorf("%d messages are read, %d are older", len(got), l.Older())
			}
			return nil
		}},
		"pages read before": {store: func(_ *testing.T, db *DB) *DB { return db }, do: func(l *Log) error {
			page, err := l.Read(n-10, n)
			if err == nil && (len(page) != 11 || page[10].Text() != nodes[n-1].Text() || l.LinearCount() != n) {
				err = fmt.Errorf("%d messages are read", len(page))
			}
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			db, original := resumed(t, nodes)
			for i, at := range []struct{ after, next, part int }{{5, 6, 1}, {5, 6, 0}, {0, 1, 0}, {n, n + 1, 2}, {7, 9, 1}} {
				a := noted(i+1, at.after, name)
				a.Next, a.Part = at.next, at.part
				original.Annotate(a)
			}
			left := noted(6, 3, "of another branch")
			left.Kind = KindAbandoned
			original.Annotate(left)
			if err := original.Flush(); err != nil {
				t.Fatal(err)
			}
			id := original.Session().ID
			_, c, _, err := db.load(id, false)
			if err != nil {
				t.Fatal(err)
			}
			want, _, shown := c.branch(n)

			to := tt.store(t, db)
			l, seqs, err := db.ForkInto(to, id, 0)
			if err != nil || l.Older() != n || len(seqs) != n || seqs[n-1] != n {
				t.Fatalf("%d of %d messages are left on disk, %v", l.Older(), len(seqs), err)
			}
			var locked *LockedError
			if err := errors.Join(original.Close(), db.Trash(id)); err != nil {
				t.Fatal(err)
			}
			if err := to.Remove(id); to == db && !errors.As(err, &locked) {
				t.Errorf("the original was removed before it was copied: %v", err)
			}
			if tt.do != nil {
				if err := tt.do(l); err != nil {
					t.Error(err)
				}
			}
			if list, err := to.Count(Query{}); err != nil || list != 0 {
				t.Errorf("%d conversations are stored without a message, %v", list, err)
			}
			last := says(n+1, llm.RoleUser, "zebras")
			if err := l.Put(last); err != nil {
				t.Fatal(err)
			}
			s, got, err := to.Read(l.Session().ID)
			if err != nil || s.Messages != n+1 || s.Origin != "fork "+id {
				t.Errorf("stored %+v, %v", s, err)
			}
			if len(got) != n+1 || !reflect.DeepEqual(got[:n], want) || got[n].Text() != "zebras" {
				t.Errorf("the %d messages of the copy differ from those of the original", len(got))
			}
			if annotations, err := to.Annotations(s.ID); err != nil || !reflect.DeepEqual(annotations, shown) {
				t.Errorf("annotations:\n%+v, %v\nwant\n%+v", annotations, err, shown)
			}
			if hits, _, err := to.Search(Query{Words: "515", Limit: -1}); err != nil || len(hits) != 1 {
				t.Errorf("a search finds %+v, %v", hits, err)
			}
			if to == db {
				if err := db.Remove(id); err != nil {
					t.Error(err)
				}
			}
			if _, got, err := to.Read(s.ID); err != nil || len(got) != n+1 || string(got[0].Parts[1].Data) != string(picture) {
				t.Errorf("after the original was removed the copy has %d messages, %v", len(got), err)
			}
			var blobs, owned int
			if err := errors.Join(to.value(&blobs, `SELECT count(*) FROM blobs`), to.value(&owned, `SELECT count(*) FROM refs r JOIN nodes n ON n.num = r.node
				JOIN sessions s ON s.num = n.session WHERE s.id = ?`, s.ID)); err != nil || blobs != 1 || owned != (n+99)/100 {
				t.Errorf("%d blobs with %d references, %v", blobs, owned, err)
			}
			if page, err := l.Read(1, 3); len(page) != 3 && l.Older() > 0 || err != nil {
				t.Errorf("%d messages are read from the copy, %v", len(page), err)
			}
		})
	}
}

// Forks of long conversations and of such forks share messages with the original, and keep them as they were when it
// changes them or is removed.
func TestForksShareMessages(t *testing.T) {
	t.Parallel()
	const n = minPaged
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i] = says(i+1, llm.RoleUser, fmt.Sprint("message ", i+1))
	}
	nodes[1].Role, nodes[1].Model = llm.RoleAssistant, "a/b"
	db, l := resumed(t, nodes)
	ids := []string{l.Session().ID}
	for i := range 2 {
		fork, _, err := db.ForkInto(db, ids[i], 0)
		if err != nil {
			t.Fatal(err)
		}
		fork.Describe(func(s *Session) { s.Title = fmt.Sprint("whale ", i) })
		if err := errors.Join(fork.Put(says(n+i+1, llm.RoleUser, fmt.Sprint("fork ", i+1))), fork.Close()); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, fork.Session().ID)
	}
	var rows int
	if err := db.value(&rows, `SELECT count(*) FROM nodes`); err != nil || rows != n+3 {
		t.Errorf("%d messages are stored, want %d; %v", rows, n+3, err)
	}
	if whales, err := db.List(Query{Words: "whale"}); err != nil || len(whales) != 2 {
		t.Errorf("%d forks are found by their titles, %v", len(whales), err)
	}
	check := func(when, last string, with512 int) {
		t.Helper()
		for i, id := range ids[1:] {
			_, got, err := db.Read(id)
			if err != nil || len(got) != n+1+i || got[0].Text() != "message 1" || got[n-1].Text() != last || got[n].Text() != "fork 1" {
				t.Errorf("%s, fork %d has %d messages, %v", when, i+1, len(got), err)
			}
			if _, models, pages, err := db.Paged(id); err != nil || pages == nil || !slices.Equal(models, []string{"a/b"}) {
				t.Errorf("%s, fork %d in pages: models %q, %v", when, i+1, models, err)
			}
			log, err := db.Resume(id)
			if err != nil {
				t.Fatal(err)
			}
			if page, err := log.Read(n-1, n+1); err != nil || log.Older() != n+1+i || page[1].Text() != last || page[2].Text() != "fork 1" {
				t.Errorf("%s, a page of fork %d: %+v, %v", when, i+1, page, err)
			}
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		}
		hits, _, err := db.Search(Query{Words: "512"})
		list, errList := db.List(Query{Words: "512"})
		if len(hits) != with512 || len(list) != with512 || err != nil || errList != nil {
			t.Errorf("%s, a search finds %d messages and %d conversations, %v, %v", when, len(hits), len(list), err, errList)
		}
	}
	check("at first", "message 512", 3)
	if err := l.Put(says(n, llm.RoleUser, "changed")); err != nil {
		t.Fatal(err)
	}
	check("after a change", "message 512", 2)
	if again, _, err := db.ForkInto(db, ids[0], 0); err != nil || again.Put(says(n+1, llm.RoleUser, "fork 1")) != nil || again.Close() != nil {
		t.Fatal(err)
	} else {
		ids = []string{ids[0], again.Session().ID}
	}
	check("again", "changed", 2)
	if err := errors.Join(l.Close(), db.Remove(ids[0])); err != nil {
		t.Fatal(err)
	}
	check("without the original", "changed", 2)
	if err := db.Remove(ids[1]); err != nil {
		t.Error(err)
	}
}

// A fork of an imported conversation, and a fork of that, say where it came from.
func TestForkKeepsTheOrigin(t *testing.T) {
	db, err := Open(filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	id, err := db.Import(Session{ID: "x", Origin: "codex"}, []Node{says(1, llm.RoleUser, "hi")})
	if err != nil {
		t.Fatal(err)
	}
	for n := 2; n < 4; n++ {
		l, _, err := db.ForkInto(db, id, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Put(says(n, llm.RoleUser, "more")), l.Close()); err != nil {
			t.Fatal(err)
		}
		s, _, err := db.Read(l.Session().ID)
		if err != nil || s.ImportedFrom() != "codex" || s.Origin != "fork "+id+" from codex" {
			t.Errorf("%q, %v", s.Origin, err)
		}
		id = s.ID
	}
	for _, origin := range []string{"", "fork x"} {
		if from := (Session{Origin: origin}).ImportedFrom(); from != "" {
			t.Errorf("%q is imported from %q", origin, from)
		}
	}
}
