package vectors

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llmtest"
	"parley/session/store"
)

var small = Space{Model: "mock/small", Dimensions: 24, Task: "document"}

// unit returns n vectors of length 1, the same for each number from first on.
func unit(first, n, dimensions int) (rows []Row) {
	for i := first; i < first+n; i++ {
		r := rand.New(rand.NewPCG(uint64(i), 7))
		v, sum := make([]float32, dimensions), 0.0
		for tx := range v {
			v[tx] = float32(r.NormFloat64())
			sum += float64(v[tx]) * float64(v[tx])
		}
		for tx := range v {
			v[tx] /= float32(math.Sqrt(sum))
		}
		rows = append(rows, Row{File: "a.txt", Line: i + 1, Text: fmt.Sprint("text ", i), Vector: v})
	}
	return rows
}

func reopen(t testing.TB, path string) *store.DB {
	t.Helper()
	db, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Texts are found by their vectors, for all sizes of additions, in this process and in the next.
func TestSimilar(t *testing.T) {
	path := filepath.Join(llmtest.Folder(t), "parley.db")
	db := reopen(t, path)
	all := unit(0, 1000, 24)
	for n, at := 1, 0; at < len(all); n = n*2 + 1 {
		end := min(len(all), at+n)
		c, err := Of(db).Add("notes", small, all[at:end])
		if at = end; err != nil || c.Rows != at {
			t.Fatalf("%+v, %v", c, err)
		}
	}
	check := func(db *store.DB) {
		t.Helper()
		c, err := Of(db).Get("notes")
		if err != nil || c.Rows != 1000 || c.Space != small {
			t.Fatalf("%+v, %v", c, err)
		}
		for _, i := range []int{0, 255, 256, 600, 999} {
			found, err := Of(db).Similar(c, all[i].Vector, 3)
			if err != nil || len(found) != 3 || found[0].Text != all[i].Text || found[0].Line != i+1 || found[0].Score < 0.9999 || found[1].Score > found[0].Score {
				t.Errorf("text %d: %+v, %v", i, found, err)
			}
		}
	}
	check(db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = reopen(t, path)
	check(db)
	if has, err := Of(db).HasText(notes(t, db), "text 7"); !has || err != nil {
		t.Error("lost a text", err)
	}
	if has, _ := Of(db).HasText(notes(t, db), "text 1000"); has {
		t.Error("has a text that nobody added")
	}
	if list, err := Of(db).List(); err != nil || len(list) != 1 || list[0].Name != "notes" {
		t.Errorf("%+v, %v", list, err)
	}
	if was, err := Of(db).Remove("notes"); !was || err != nil {
		t.Error(was, err)
	}
	if was, err := Of(db).Remove("notes"); was || err != nil {
		t.Error("removed twice", err)
	}
	if n := vectorRows(t, db); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

func notes(t *testing.T, db *store.DB) Collection {
	t.Helper()
	c, err := Of(db).Get("notes")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func vectorRows(t *testing.T, db *store.DB) (n int) {
	t.Helper()
	if err := db.View(func(q store.Tx) error {
		return q.QueryRow(`SELECT (SELECT count(*) FROM vectors) + (SELECT count(*) FROM coarse) + (SELECT count(*) FROM collections)`).Scan(&n)
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// Codes are stored in few large blocks for all sizes of additions, and a search during additions finds each text once.
func TestSimilarWhileBlocksAreJoined(t *testing.T) {
	db := reopen(t, filepath.Join(t.TempDir(), "parley.db"))
	const group = blockRows * joinedBlocks
	all := unit(0, 2*group+blockRows+3, 8)
	set := Space{Model: "mock/small", Dimensions: 8}
	for at := 0; at < len(all); {
		end := min(len(all), at+700)
		if _, err := Of(db).Add("notes", set, all[at:end]); err != nil {
			t.Fatal(err)
		}
		before := notes(t, db)
		at = end
		next := make(chan error)
		go func() {
			_, err := Of(db).Add("notes", set, all[at:min(len(all), at+600)])
			next <- err
		}()
		found, err := Of(db).Similar(before, all[end-1].Vector, 400)
		if err := <-next; err != nil {
			t.Fatal(err)
		}
		at = min(len(all), at+600)
		texts := map[string]bool{}
		for _, f := range found {
			texts[f.Text] = true
		}
		if err != nil || len(found) != 400 || len(texts) != 400 || found[0].Text != all[end-1].Text {
			t.Fatalf("after %d: %d found, %d of them different, %v", end, len(found), len(texts), err)
		}
	}
	var blocks, bytes int
	if err := db.View(func(q store.Tx) error {
		return q.QueryRow(`SELECT count(*), sum(length(data)) FROM coarse`).Scan(&blocks, &bytes)
	}); err != nil || blocks != 4 || bytes != len(all)*recordSize(8) {
		t.Errorf("%d blocks of %d bytes, %v", blocks, bytes, err)
	}
	for _, i := range []int{0, group - 1, group, 2*group - 1, 2 * group, len(all) - 1} {
		if found, err := Of(db).Similar(notes(t, db), all[i].Vector, 1); err != nil || len(found) != 1 || found[0].Text != all[i].Text {
			t.Errorf("text %d: %+v, %v", i, found, err)
		}
	}
}

// A collection holds vectors of one model, one number of dimensions and one task, and each text once. An addition that
// fails adds nothing.
func TestCollectionsAreNotMixed(t *testing.T) {
	db, err := store.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows := unit(0, 3, 24)
	if c, err := Of(db).Add("notes", small, append(rows, rows...)); err != nil || c.Rows != 3 {
		t.Fatalf("%+v, %v", c, err)
	}
	for _, other := range []Space{{Model: "mock/large", Dimensions: 24, Task: "document"}, {Model: "mock/small", Dimensions: 12, Task: "document"}, {Model: "mock/small", Dimensions: 24}} {
		var mixed *mismatchError
		if _, err := Of(db).Add("notes", other, unit(5, 1, other.Dimensions)); !errors.As(err, &mixed) {
			t.Errorf("%+v: %v", other, err)
		}
	}
	if _, err := Of(db).Add("notes", small, append(unit(5, 1, 24), unit(6, 1, 12)...)); err == nil {
		t.Error("added a row of other dimensions")
	}
	if c, _ := Of(db).Get("notes"); c.Rows != 3 {
		t.Errorf("%d rows", c.Rows)
	}
	if _, err := Of(db).Similar(notes(t, db), make([]float32, 12), 1); err == nil {
		t.Error("compared vectors of other dimensions")
	}
	if c, err := Of(db).Get("none"); err != nil || c.Rows != 0 || c.Model != "" {
		t.Errorf("%+v, %v", c, err)
	}
	for name, ok := range map[string]bool{"notes": true, "meine Notizen": true, "": false, "-rf": false, "a\nb": false, " a": false, strings.Repeat("a", 101): false} {
		if ValidCollection(name) != ok {
			t.Errorf("%q: %v", name, !ok)
		}
	}
}

// BenchmarkSimilar searches 100,000 vectors of 1,536 dimensions in a file, as the first search after opening the file.
func BenchmarkSimilar(b *testing.B) {
	path := os.Getenv("PARLEY_VECTORS") // keeps the file between runs
	if path == "" {
		path = filepath.Join(b.TempDir(), "parley.db")
	}
	db, err := store.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	set := Space{Model: "mock/large", Dimensions: 1536}
	began := time.Now()
	for c, _ := Of(db).Get("bench"); c.Rows < 100_000 && err == nil; {
		c, err = Of(db).Add("bench", set, unit(c.Rows, 2000, 1536))
	}
	if err != nil || db.Close() != nil {
		b.Fatal(err)
	}
	b.Logf("filled in %s", time.Since(began))
	query := unit(77_777, 1, 1536)[0].Vector
	for b.Loop() {
		db, err := store.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		c, err := Of(db).Get("bench")
		if err != nil {
			b.Fatal(err)
		}
		found, err := Of(db).Similar(c, query, 10)
		if err != nil || len(found) != 10 || found[0].Text != "text 77777" || !slices.IsSortedFunc(found, func(a, b SimilarText) int { return int(1e6 * (b.Score - a.Score)) }) {
			b.Fatal(found, err)
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
