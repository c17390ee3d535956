package store

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"parley/providers/llm"
)

// reads compares what Read gives of a conversation that is prefetched with what it gives otherwise.
func reads(t *testing.T, db *DB, l *Log, ranges ...[2]int) {
	t.Helper()
	for _, r := range ranges {
		got, err := l.Read(r[0], r[1])
		want, wantErr := pageOf(db, l.Session().ID, r[0], r[1])
		if !reflect.DeepEqual(got, want) || (err == nil) != (wantErr == nil) {
			t.Errorf("%v: got %d messages, %v; want %d, %v", r, len(got), err, len(want), wantErr)
		}
	}
}

// Prefetched messages are the same, in any pages and in any order.
func TestPrefetch(t *testing.T) {
	const n = firstPrefetched + thenPrefetched + 7
	db, l := paged(t, n)
	l.Prefetch()
	l.Prefetch() // does nothing
	reads(t, db, l, [2]int{n, n}, [2]int{n - firstPrefetched - 3, n - firstPrefetched + 3}, [2]int{n - 999, n}, [2]int{1, 1}, [2]int{1, n}, [2]int{5, 9})
	if l.prefetched.low != 1 {
		t.Errorf("read back to %d", l.prefetched.low)
	}
	// A new message follows them, and a changed one is read anew.
	for _, seq := range []int{n + 1, 5} {
		if err := l.Put(says(seq, llm.RoleUser, "changed")); err != nil {
			t.Fatal(err)
		}
		reads(t, db, l, [2]int{n - 2, n}, [2]int{1, 9})
	}
}

// Messages of other branches are not read, and nobody waits for a page far before those read so far.
func TestPrefetchFollowsBranch(t *testing.T) {
	const n = firstPrefetched + 2*thenPrefetched + 7
	for name, change := range map[string]string{
		"grown out of an early message": fmt.Sprintf(`UPDATE nodes SET parent = 10 WHERE seq = %d`, n-1),
		"continued in the middle":       fmt.Sprintf(`UPDATE sessions SET head = %d; UPDATE nodes SET parent = 10 WHERE seq = %d`, n-thenPrefetched, n-thenPrefetched-1),
	} {
		t.Run(name, func(t *testing.T) {
			db, l := paged(t, n)
			id := l.Session().ID
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if err := db.write(func(w *writer) error { return w.script(change) }); err != nil {
				t.Fatal(err)
			}
			l, err := db.Resume(id)
			if err != nil {
				t.Fatal(err)
			}
			head := l.Session().Head
			l.Prefetch()
			p := l.prefetched
			<-p.done
			if p.low != head-firstPrefetched+1 || len(p.nodes) != head {
				t.Errorf("of the branch that ends in %d is read back to %d", head, p.low)
			}
			p.ended = false // as if more was being read
			if got := p.take(1, 256); got != nil {
				t.Errorf("%d messages", len(got))
			}
			reads(t, db, l, [2]int{1, 256}, [2]int{head - 9, head}, [2]int{n - 9, n})
		})
	}
}

// A request begins with the last summary: messages before it are read when they are wanted.
func TestPrefetchEndsAtSummary(t *testing.T) {
	const n = firstPrefetched + thenPrefetched + 7
	db, l := paged(t, n)
	id := l.Session().ID
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.write(func(w *writer) error { return w.Exec(`UPDATE nodes SET rest = '{"summary":true}' WHERE seq = ?`, n-10) }); err != nil {
		t.Fatal(err)
	}
	l, err := db.Resume(id)
	if err != nil {
		t.Fatal(err)
	}
	l.Prefetch()
	<-l.prefetched.done
	if low := l.prefetched.low; low != n-firstPrefetched+1 {
		t.Errorf("read back to %d", low)
	}
	reads(t, db, l, [2]int{1, 300}, [2]int{n - 20, n})
}

// Damage is reported by Read, as without.
func TestPrefetchOfDamage(t *testing.T) {
	const n = firstPrefetched + 100
	db, l := paged(t, n)
	if err := db.write(func(w *writer) error { return w.Exec(`UPDATE nodes SET parts = '[' WHERE seq = 50`) }); err != nil {
		t.Fatal(err)
	}
	l.Prefetch()
	reads(t, db, l, [2]int{1, 256}, [2]int{101, n})
	var damaged *DamagedError
	if _, err := l.Read(50, 50); !errors.As(err, &damaged) {
		t.Errorf("got %v", err)
	}
}

// A conversation can be closed while it is read, and none is read once it is closed or where all of
// it is in memory.
func TestPrefetchAndClose(t *testing.T) {
	_, l := paged(t, firstPrefetched+thenPrefetched+7)
	l.Prefetch()
	p := l.prefetched
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	<-p.done
	_, closed := paged(t, minPaged)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	short := fresh(t).Create(Session{})
	for _, l := range []*Log{closed, short} {
		if l.Prefetch(); l.prefetched != nil {
			t.Error("it is read")
		}
	}
}

// The caller may change prefetched messages while more are being read.
func TestPrefetchedPagesAreOwned(t *testing.T) {
	const n = firstPrefetched + thenPrefetched + 7
	_, l := paged(t, n)
	l.Prefetch()
	for to := n; to > 0; to -= batchSize {
		nodes, err := l.Read(max(to-batchSize, 0)+1, to)
		if err != nil {
			t.Fatal(err)
		}
		for i := range nodes {
			nodes[i] = CloseInterrupted(nodes[i], nil)
			nodes[i].Parent, nodes[i].Summary = 0, true
		}
	}
}
