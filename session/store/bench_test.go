package store

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
)

// prose returns n words, as unlike each other as those of a language.
func prose(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "w%d ", int(r.ExpFloat64()*800))
	}
	return b.String()
}

// percentiles reports how long f takes at the middle and at the worst.
func percentiles(b *testing.B, f func(i int)) {
	var took []time.Duration
	i := 0
	for b.Loop() {
		start := time.Now()
		f(i)
		took = append(took, time.Since(start))
		i++
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

func BenchmarkPut(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	text := make([]string, 100)
	for i := range text {
		text[i] = prose(r, 150)
	}
	l := fresh(b).Create(Session{})
	percentiles(b, func(i int) {
		if err := l.Put(says(i+1, llm.RoleUser, text[i%100])); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkPutOpen measures what saving a partial answer costs each second.
func BenchmarkPutOpen(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	text := prose(r, 2000)
	l := fresh(b).Create(Session{})
	percentiles(b, func(int) {
		n := says(1, llm.RoleAssistant, text)
		n.Partial = true
		if err := l.Put(n); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkPutLarge(b *testing.B) {
	text := strings.Repeat("fifty million bytes of text ", 50_000_000/28)
	l := fresh(b).Create(Session{})
	percentiles(b, func(i int) {
		if err := l.Put(says(i+1, llm.RoleUser, text)); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	db := fresh(b)
	talk(b, db.Create(Session{}), "hi", "ho")
	_ = db.Close()
	for b.Loop() {
		db, err := Open(db.path)
		if err != nil {
			b.Fatal(err)
		}
		_ = db.Close()
	}
}

// filled returns a store of sessions with so many messages each; one in ten
// thousand says "needle".
func filled(b *testing.B, sessions, messages int) *DB {
	db := fresh(b)
	r := rand.New(rand.NewPCG(3, 4))
	total := 0
	for range sessions {
		var nodes []Node
		for i := range messages {
			role := llm.RoleUser
			text := prose(r, 20)
			if i%2 == 1 {
				role, text = llm.RoleAssistant, prose(r, 120)
			}
			if total++; total%10000 == 0 {
				text += "needle"
			}
			nodes = append(nodes, says(i+1, role, text))
		}
		if _, err := db.Import(Session{}, nodes); err != nil {
			b.Fatal(err)
		}
	}
	return db
}

func BenchmarkSearch(b *testing.B) {
	db := filled(b, 100, 1000)
	for _, word := range []string{"needle", "w17", "w1*", "w3 w4 w5"} {
		b.Run(word, func(b *testing.B) {
			percentiles(b, func(int) {
				if hits, _, err := db.Search(Query{Words: word, Limit: 50, Recent: true}); err != nil || len(hits) == 0 {
					b.Fatal(hits, err)
				}
			})
		})
	}
}

func BenchmarkResume(b *testing.B) {
	db := filled(b, 1, 20000)
	list, err := db.List(Query{})
	if err != nil || len(list) != 1 {
		b.Fatal(list, err)
	}
	percentiles(b, func(int) {
		l, err := db.Resume(list[0].ID)
		if err != nil || len(l.Nodes()) != 20000 {
			b.Fatal(err)
		}
		_ = l.Close()
	})
}

func BenchmarkList(b *testing.B) {
	db := filled(b, 1000, 2)
	b.ReportAllocs()
	percentiles(b, func(int) {
		if list, err := db.List(Query{}); err != nil || len(list) != 1000 {
			b.Fatal(len(list), err)
		}
	})
}

// BenchmarkShortIDs asks for those of a page, among many.
func BenchmarkShortIDs(b *testing.B) {
	db := filled(b, 10_000, 1)
	list, err := db.List(Query{Limit: 1000})
	if err != nil || len(list) != 1000 {
		b.Fatal(len(list), err)
	}
	var ids []string
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	percentiles(b, func(int) {
		if short, err := db.ShortIDs(13, ids...); err != nil || len(short) != len(ids) {
			b.Fatal(len(short), err)
		}
	})
}

// BenchmarkFsync measures what the disk itself takes, to compare with BenchmarkPut.
func BenchmarkFsync(b *testing.B) {
	path := filepath.Join(b.TempDir(), "f")
	if err := createEmpty(path); err != nil {
		b.Fatal(err)
	}
	percentiles(b, func(int) {
		if err := syncFile(path); err != nil {
			b.Fatal(err)
		}
	})
}
