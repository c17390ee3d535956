package store

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session/store/holder"
)

// full keeps the file from growing, or no longer.
func full(t *testing.T, db *DB, on bool) {
	t.Helper()
	pages := 1 << 30
	if on {
		pages = 1 // no less than there are
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if err := db.writer.script(fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
		t.Fatal(err)
	}
}

// A full disk stops nothing: what could not be written is written later, in its
// order.
func TestFull(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	l := db.Create(Session{})
	talk(t, l, "hello", "hi")
	var told []error
	l.OnSave(func(err error) { told = append(told, err) })
	full(t, db, true)
	large := strings.Repeat("large ", 20000)
	for seq := 3; seq < 8; seq++ {
		err := l.Put(says(seq, llm.RoleUser, large+fmt.Sprint(seq)))
		if err == nil || !strings.Contains(err.Error(), "the disk is full: free some space") {
			t.Fatalf("message %d: %v", seq, err)
		}
	}
	if n, err := l.Pending(); n != 5 || err == nil || len(l.Nodes()) != 7 {
		t.Errorf("%d pending, %v", n, err)
	}
	if _, nodes, err := db.Read(l.Session().ID); err != nil || len(nodes) != 2 {
		t.Errorf("%d on disk, %v", len(nodes), err)
	}
	full(t, db, false)
	talk(t, l, "there is room again")
	if n, err := l.Pending(); n != 0 || err != nil {
		t.Errorf("%d pending, %v", n, err)
	}
	_, nodes, err := db.Read(l.Session().ID)
	if err != nil || len(nodes) != 8 || nodes[6].Text() != large+"7" {
		t.Errorf("%d on disk, %v", len(nodes), err)
	}
	if len(told) != 2 || told[0] == nil || told[1] != nil {
		t.Errorf("told %v", told)
	}
}

// Without a Put, what failed is tried again by itself.
func TestTriesAgain(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	l := db.Create(Session{})
	talk(t, l, "hello", "hi")
	full(t, db, true)
	written := make(chan struct{})
	l.OnSave(func(err error) {
		if err == nil {
			close(written)
		}
	})
	if l.Put(says(3, llm.RoleUser, strings.Repeat("large ", 20000))) == nil {
		t.Fatal("it was not full")
	}
	full(t, db, false)
	<-written
	if _, nodes, err := db.Read(l.Session().ID); err != nil || len(nodes) != 3 {
		t.Errorf("%d on disk, %v", len(nodes), err)
	}
}

// Only one process writes a session. Who finds it open is told by whom, and does not delete it for good.
func TestHeld(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{})
	id := l.Session().ID
	talk(t, l, "hello")
	var held *LockedError
	if _, err := db.Resume(id); !errors.As(err, &held) || held.By != "this parley" {
		t.Fatalf("in the same process: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd, out := child(t, "hold", db.path, id)
	line(t, out)
	want := fmt.Sprintf("another parley (process %d)", cmd.Process.Pid)
	if _, err := db.Resume(id); !errors.As(err, &held) || held.By != want {
		t.Fatalf("in another process: %v", err)
	}
	if list, err := db.List(Query{}); err != nil || list[0].LockedBy != want {
		t.Errorf("got %+v, %v", list, err)
	}
	if err := db.Remove(id); !errors.As(err, &held) || held.By != want {
		t.Errorf("removing it: %v", err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	l, err := db.Resume(id)
	if err != nil {
		t.Fatalf("after its end: %v", err)
	}
	talk(t, l, "I am back")
}

func TestStale(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	me := holder.Current()
	if me.Boot == "" {
		t.Skip("processes cannot be told apart on this system")
	}
	with := func(change func(*lease)) lease {
		l := lease{Process: me, heartbeat: now}
		change(&l)
		return l
	}
	for name, tt := range map[string]struct {
		lease lease
		want  bool
	}{
		"alive":                       {with(func(l *lease) {}), false},
		"alive, clock moved":          {with(func(l *lease) { l.heartbeat = now.Add(-time.Hour) }), false},
		"another process, same id":    {with(func(l *lease) { l.Start = "1" }), true},
		"no such process":             {with(func(l *lease) { l.PID = 1 << 30 }), true},
		"before the machine started":  {with(func(l *lease) { l.Boot = "b" }), true},
		"another machine":             {with(func(l *lease) { l.Host, l.Boot = "h", "b" }), false},
		"another machine, long ago":   {with(func(l *lease) { l.Host, l.heartbeat = "h", now.Add(-time.Minute-1) }), true},
		"another machine, clock back": {with(func(l *lease) { l.Host, l.heartbeat = "h", now.Add(time.Hour) }), true},
		"another container":           {with(func(l *lease) { l.Host, l.PID = "h pid:[1]", 1<<30 }), false},
	} {
		if got := tt.lease.isStale(me, now); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

// A session that another process took over while this one stood still is left to
// it; everything said here goes on as a fork.
func TestLost(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{Title: "one"})
	old := l.Session().ID
	talk(t, l, "hello", "hi")
	other := reopen(t, db.path)
	if err := other.write(func(w *writer) error { return w.Exec(`DELETE FROM leases`) }); err != nil {
		t.Fatal(err)
	}
	theirs, err := other.Resume(old)
	if err != nil {
		t.Fatal(err)
	}
	talk(t, theirs, "from the other window")

	var told error
	l.OnSave(func(err error) { told = err })
	var lost *LeaseLostError
	if err := l.Put(says(3, llm.RoleUser, "from this one")); !errors.As(err, &lost) || lost.Session != old {
		t.Fatalf("got %v", err)
	}
	if told != error(lost) || l.Session().ID != lost.Fork || l.Session().Origin != "fork "+old {
		t.Errorf("told %v, goes on as %+v", told, l.Session())
	}
	talk(t, l, "and on")
	for id, want := range map[string][]string{
		old:       {"hello", "hi", "from the other window"},
		lost.Fork: {"hello", "hi", "from this one", "and on"},
	} {
		_, nodes, err := db.Read(id)
		var got []string
		for _, n := range nodes {
			got = append(got, n.Text())
		}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %q, %v, want %q", id, got, err, want)
		}
	}
	spent, err := dailyUsage(db, time.Time{}, time.Time{}, false)
	if err != nil || len(spent) != 1 || spent[0].Answers != 2 { // "hi" once, "and on"
		t.Errorf("spent %+v, %v", spent, err)
	}
}

// A lease that somebody had in between, who wrote nothing, is taken back.
func TestTakenBack(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{})
	talk(t, l, "hello")
	if err := db.write(func(w *writer) error { return w.Exec(`DELETE FROM leases`) }); err != nil {
		t.Fatal(err)
	}
	talk(t, l, "hi")
}

// Deleting a session that is open loses nothing of it.
func TestDeletedWhileOpen(t *testing.T) {
	for name, drop := range map[string]func(*DB, string) error{"trash": (*DB).Trash, "remove": (*DB).Remove} {
		db := fresh(t)
		l := db.Create(Session{})
		id := l.Session().ID
		talk(t, l, "hello", "hi")
		if err := drop(db, id); err != nil {
			t.Fatal(err)
		}
		if list, err := db.List(Query{}); err != nil || len(list) != 0 {
			t.Errorf("%s: got %+v, %v", name, list, err)
		}
		talk(t, l, "still here")
		s, nodes, err := db.Read(id)
		if err != nil || len(nodes) != 3 || !s.Deleted.IsZero() {
			t.Errorf("%s: got %+v with %d messages, %v", name, s, len(nodes), err)
		}
		if spent, err := dailyUsage(db, time.Time{}, time.Time{}, false); err != nil || len(spent) != 1 || spent[0].Answers != 1 {
			t.Errorf("%s: spent %+v, %v", name, spent, err)
		}
	}
}

// TestIsUnused: an id that Create gave may be used again until something is stored under it, or paid for.
func TestIsUnused(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{})
	id := l.Session().ID
	later := newSessionID(db.now().Add(time.Hour))
	for _, tt := range []struct {
		id   string
		want bool
	}{{id, true}, {"", false}, {"none", false}, {id[:12], false}, {id + "0", false}, {id[:12] + "u", false}, {later, false}} {
		if got := db.IsUnused(tt.id); got != tt.want {
			t.Errorf("%q: %v", tt.id, got)
		}
	}
	talk(t, l, "hello", "hi")
	if db.IsUnused(id) {
		t.Error("stored, and unused")
	}
	if err := errors.Join(l.Close(), db.Remove(id)); err != nil {
		t.Fatal(err)
	}
	if db.IsUnused(id) {
		t.Error("paid for, and unused")
	}
}

// A change made in a list reaches the window that has the session open.
func TestRenamedWhileOpen(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{})
	talk(t, l, "hello")
	if err := db.Rename(l.Session().ID, "greetings"); err != nil {
		t.Fatal(err)
	}
	talk(t, l, "hi")
	if s := l.Session(); s.Title != "greetings" || !s.Named {
		t.Errorf("got %+v", s)
	}
	if err := l.Update(func(s *Session) { s.Title, s.Model = "mine", "a/b" }); err != nil {
		t.Fatal(err)
	}
	if s, _, err := db.Read(l.Session().ID); err != nil || s.Title != "mine" || s.Model != "a/b" {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestFork(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{Pinned: true})
	talk(t, l, "a", "b", "c", "d")
	branch := says(5, llm.RoleUser, "e")
	branch.Parent = 2
	if err := l.Put(branch); err != nil {
		t.Fatal(err)
	}
	for head, want := range map[int]string{0: "[a b e]", 4: "[a b c d]", 2: "[a b]"} {
		fork, _, err := db.ForkInto(db, l.Session().ID, head)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range fork.Nodes() {
			got = append(got, n.Text())
		}
		s := fork.Session()
		if fmt.Sprint(got) != want || s.Head != len(got) || s.Messages != len(got) || s.Pinned || s.Origin != "fork "+l.Session().ID {
			t.Errorf("%d: got %q in %+v", head, got, s)
		}
		if err := fork.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := db.ForkInto(db, l.Session().ID, 9); err == nil {
		t.Error("forked at a message that is not there")
	}
	if list, err := db.List(Query{}); err != nil || len(list) != 1 {
		t.Errorf("forks without a Put left %+v, %v", list, err)
	}
	fork, _, err := db.ForkInto(db, l.Session().ID, 2)
	if err != nil {
		t.Fatal(err)
	}
	talk(t, fork, "x")
	if _, nodes, err := db.Read(fork.Session().ID); err != nil || len(nodes) != 3 {
		t.Errorf("got %d, %v", len(nodes), err)
	}
	if spent, err := dailyUsage(db, time.Time{}, time.Time{}, false); err != nil || len(spent) != 1 || spent[0].Answers != 2 {
		t.Errorf("a copy was paid for: %+v, %v", spent, err)
	}
}

// Many goroutines may use one Log.
func TestConcurrent(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{})
	talk(t, l, "root")
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			for i := range 10 {
				n := says(2+g*10+i, llm.RoleUser, "x")
				n.Parent = 1
				if err := errors.Join(l.Put(n), l.SetHead(1), l.Update(func(s *Session) { s.Effort = llm.EffortLow })); err != nil {
					t.Error(err)
				}
				_, _ = l.Pending()
				_, _ = l.Nodes(), l.Session()
			}
		})
	}
	wait.Wait()
	if _, nodes, err := db.Read(l.Session().ID); err != nil || len(nodes) != 41 {
		t.Errorf("got %d, %v", len(nodes), err)
	}
}

// Order is by what was done, not by what the clock said meanwhile.
func TestClock(t *testing.T) {
	db := fresh(t)
	clock := time.Unix(1_800_000_000, 0)
	db.now = func() time.Time { return clock }
	var want []string
	for _, back := range []time.Duration{0, 24 * time.Hour, 57 * 365 * 24 * time.Hour} {
		clock = clock.Add(-back)
		l := db.Create(Session{})
		talk(t, l, "a", "b", "c")
		want = append([]string{l.Session().ID}, want...)
	}
	list, err := db.List(Query{})
	var got []string
	for _, s := range list {
		got = append(got, s.ID)
		if _, nodes, err := db.Read(s.ID); err != nil || len(nodes) != 3 || nodes[2].Text() != "c" {
			t.Errorf("%s: %v, %v", s.ID, nodes, err)
		}
	}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestImpossible(t *testing.T) {
	l := fresh(t).Create(Session{})
	for _, n := range []Node{{Seq: 0}, {Seq: -1}, {Seq: 1, Parent: 1}, {Seq: 2, Parent: 3}, {Seq: 1, Parent: -1}} {
		if l.Put(n) == nil {
			t.Errorf("kept %+v", n)
		}
	}
	if l.SetHead(1) == nil {
		t.Error("switched to a message that is not there")
	}
	if err := l.Close(); err != nil || l.Put(says(1, llm.RoleUser, "x")) == nil {
		t.Error("wrote after Close", err)
	}
}

// TestCloseWaitsForTheLock: what could not be written because another process kept the file locked
// has its last chance when the session is closed, which waits for the lock as the first write did.
func TestCloseWaitsForTheLock(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	l := db.Create(Session{})
	talk(t, l, "hello")
	other := reopen(t, db.path)
	if err := other.writer.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if err := db.writer.script(fmt.Sprintf("PRAGMA busy_timeout = %d", shortBusyTimeout)); err != nil {
		t.Fatal(err)
	}
	db.shortWait = true // as after a wait in vain
	if l.Put(says(2, llm.RoleAssistant, "hi")) == nil {
		t.Fatal("it was not locked")
	}
	released := make(chan error, 1)
	time.AfterFunc(10*shortBusyTimeout*time.Millisecond, func() { released <- other.writer.Exec("COMMIT") })
	if err := l.Close(); err != nil {
		t.Errorf("closed with %v", err)
	}
	if err := <-released; err != nil {
		t.Error(err)
	}
	if _, nodes, err := db.Read(l.Session().ID); err != nil || len(nodes) != 2 {
		t.Errorf("%d messages on disk, %v", len(nodes), err)
	}
}

// TestClosedLogHasNoLease: what is done to a session that was closed changes nothing, and takes no
// lease that nobody gives up.
func TestClosedLogHasNoLease(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{})
	talk(t, l, "hello", "hi")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l.Annotate(Annotation{N: 1, Kind: "x", Data: []byte("1")})
	if l.SetHead(1) == nil || l.Put(says(3, llm.RoleUser, "x")) == nil || l.Spend(PurposeTitle, "a/b", llm.Usage{}) == nil ||
		l.Update(func(s *Session) { s.Title = "x" }) == nil || l.Flush() != nil {
		t.Error("something was done")
	}
	again, err := db.Resume(l.Session().ID)
	if err != nil {
		t.Fatal(err)
	}
	if s := again.Session(); s.Head != 2 || s.Title != "hello" {
		t.Errorf("it is %+v", s)
	}
}
