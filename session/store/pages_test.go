package store

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"parley/providers/llm"
)

// paged returns a store with a session of n messages that is read in pages, opened.
func paged(t *testing.T, n int) (db *DB, l *Log) {
	t.Helper()
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i] = says(i+1, llm.RoleUser, fmt.Sprint("message ", i+1))
		if i%2 == 1 {
			nodes[i].Role, nodes[i].Model, nodes[i].Usage = llm.RoleAssistant, "a/b", &llm.Usage{Input: 1, Output: 2}
		}
	}
	return resumed(t, nodes)
}

// resumed returns a store with a session of nodes, which are read in pages, opened.
func resumed(tb testing.TB, nodes []Node) (db *DB, l *Log) {
	tb.Helper()
	db = fresh(tb)
	id, err := db.Import(Session{}, nodes)
	if err == nil {
		l, err = db.Resume(id)
	}
	if err != nil || l.Older() != len(nodes) {
		tb.Fatalf("not opened with %d messages in pages: %v", len(nodes), err)
	}
	return db, l
}

// texts returns what a session holds.
func texts(t *testing.T, db *DB, id string) (s Session, texts []string) {
	t.Helper()
	s, nodes, err := db.Read(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		texts = append(texts, n.Text())
	}
	return s, texts
}

// Pages hold the stored messages, and messages after them are stored as in other sessions.
func TestPages(t *testing.T) {
	const n = minPaged + 5
	db, l := paged(t, n)
	page, err := l.Read(minPaged-24, minPaged-14)
	if err != nil || len(page) != 11 || page[0].Seq != minPaged-24 || page[10].Text() != fmt.Sprint("message ", minPaged-14) {
		t.Fatalf("%d messages from %+v, %v", len(page), page[0], err)
	}
	answer := says(n+1, llm.RoleAssistant, "half")
	answer.Partial = true
	for _, text := range []string{"half of", "half of it"} {
		answer.Parts = []llm.Part{{Kind: llm.Text, Text: text}}
		if answer.Usage = (&llm.Usage{Input: 10, Output: 1}); text == "half of it" {
			answer.Partial, answer.Usage = false, &llm.Usage{Input: 10, Output: 3}
		}
		if err := l.Put(answer); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.SetHead(300); err != nil || l.SetHead(n+2) == nil || l.SetHead(-1) == nil {
		t.Errorf("going back: %v", err)
	}
	if got := l.Session(); got.Messages != n+1 || got.Usage.Input != n/2+10 || got.Usage.Output != n/2*2+3 || got.Head != 300 {
		t.Errorf("the session is %+v", got)
	}
	if len(l.nodes) != 1 || l.Older() != n {
		t.Errorf("%d messages are held, %d in pages", len(l.nodes), l.Older())
	}
	// A message of a page is written anew.
	changed := says(200, llm.RoleAssistant, "changed")
	changed.Usage = &llm.Usage{Input: 100}
	if err := l.Put(changed); err != nil {
		t.Fatal(err)
	}
	if got := l.Session(); got.Messages != n+1 || got.Usage.Input != n/2+10+99 {
		t.Errorf("the session is %+v", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s, all := texts(t, db, l.Session().ID)
	if len(all) != n+1 || all[0] != "message 1" || all[199] != "changed" || all[n] != "half of it" || s.Messages != n+1 || s.Head != 300 {
		t.Errorf("on disk are %d messages of %+v", len(all), s)
	}
}

// A session that another process took over goes on as a fork that has all of it.
func TestPagesOfAFork(t *testing.T) {
	db, l := paged(t, minPaged)
	old := l.Session().ID
	other := reopen(t, db.path)
	if err := other.write(func(w *writer) error { return w.Exec(`DELETE FROM leases`) }); err != nil {
		t.Fatal(err)
	}
	theirs, err := other.Resume(old)
	if err != nil {
		t.Fatal(err)
	}
	if err := theirs.Put(says(minPaged+1, llm.RoleUser, "from the other window")); err != nil {
		t.Fatal(err)
	}
	var lost *LeaseLostError
	if err := l.Put(says(minPaged+1, llm.RoleUser, "from this one")); !errors.As(err, &lost) {
		t.Fatalf("got %v", err)
	}
	for id, want := range map[string]string{old: "from the other window", lost.Fork: "from this one"} {
		if s, all := texts(t, db, id); len(all) != minPaged+1 || all[minPaged] != want || all[0] != "message 1" || s.Messages != minPaged+1 {
			t.Errorf("%s has %d messages, the last %q", id, len(all), all[len(all)-1])
		}
	}
}

// A session that is open is not deleted for good.
func TestPagesAreNotRemoved(t *testing.T) {
	db, l := paged(t, minPaged)
	id := l.Session().ID
	var locked *LockedError
	if err := db.Remove(id); !errors.As(err, &locked) {
		t.Fatalf("removing it: %v", err)
	}
	if err := db.Trash(id); err != nil {
		t.Fatal(err)
	}
	if err := l.Put(says(minPaged+1, llm.RoleUser, "still here")); err != nil {
		t.Fatal(err)
	}
	if s, all := texts(t, db, id); len(all) != minPaged+1 || !s.Deleted.IsZero() {
		t.Errorf("%d messages of %+v", len(all), s)
	}
	if err := errors.Join(l.Close(), db.Remove(id)); err != nil {
		t.Errorf("removing it once it is closed: %v", err)
	}
}

// Of a damaged page comes what can be read, with an error; a session whose messages are not
// numbered without a gap is read at once.
func TestDamagedPages(t *testing.T) {
	db, l := paged(t, minPaged)
	id := l.Session().ID
	if err := db.write(func(w *writer) error {
		return w.Exec(`UPDATE nodes SET parts = '[{', parent = 400 WHERE seq = 7`)
	}); err != nil {
		t.Fatal(err)
	}
	page, err := l.Read(1, 10)
	var damaged *DamagedError
	if !errors.As(err, &damaged) || damaged.Rows != 2 || len(page) != 10 || page[6].Parent != 6 || page[7].Text() != "message 8" {
		t.Errorf("%+v, %v", page, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.write(func(w *writer) error { return w.Exec(`DELETE FROM nodes WHERE seq = 9`) }); err != nil {
		t.Fatal(err)
	}
	l, err = db.Resume(id)
	if !errors.As(err, &damaged) || l.Older() != 0 || len(l.Nodes()) != minPaged-1 {
		t.Errorf("%d in pages, %d messages, %v", l.Older(), len(l.Nodes()), err)
	}
}

// The usage of requests beside the messages stays part of a session's: in pages, with all
// messages in memory, and once it is opened again.
func TestSideUsageOfPages(t *testing.T) {
	const n = minPaged + 4
	db, l := paged(t, n)
	want := l.Session().Usage.Input + 100
	check := func(when string) {
		t.Helper()
		stored, _, err := db.Read(l.Session().ID)
		if in, on := l.Session().Usage, stored.Usage; err != nil || in.Input != want || on.Input != want {
			t.Errorf("%s: %d in memory and %d on disk, want %d, %v", when, in.Input, on.Input, want, err)
		}
	}
	if err := l.Spend(PurposeTitle, "a/b", llm.Usage{Input: 100, Priced: true}); err != nil {
		t.Fatal(err)
	}
	check("spent")
	answer := says(2, llm.RoleAssistant, "again")
	answer.Usage = &llm.Usage{Input: 1, Output: 2}
	if err := l.Put(answer); err != nil { // which reads all
		t.Fatal(err)
	}
	check("with all in memory")
	var err error
	if err = l.Close(); err == nil {
		l, err = db.Resume(l.Session().ID)
	}
	if err != nil || l.Older() == 0 {
		t.Fatal("not read in pages", err)
	}
	answer.Usage.Input, want = 2, want+1
	if err := l.Put(answer); err != nil {
		t.Fatal(err)
	}
	check("opened again")
}

// A message whose number is none stands where it was.
func TestPageWithDamagedNumber(t *testing.T) {
	db, l := paged(t, minPaged)
	if err := db.write(func(w *writer) error { return w.Exec(`UPDATE nodes SET seq = seq + 0.5 WHERE seq = 300`) }); err != nil {
		t.Fatal(err)
	}
	nodes, err := l.Read(257, minPaged)
	var damaged *DamagedError
	if !errors.As(err, &damaged) || len(nodes) != minPaged-256 {
		t.Fatalf("%d messages, %v", len(nodes), err)
	}
	for i, n := range nodes {
		if want := fmt.Sprint("message ", 257+i); n.Seq != 257+i || n.Parent != 256+i || n.Text() != want {
			t.Errorf("%s is read as message %d behind %d: %q", want, n.Seq, n.Parent, n.Text())
		}
	}
}

// Messages that are read hold little more memory than what they say, of whatever kind that is.
func TestPagesHoldWhatTheySay(t *testing.T) {
	const n, size = 2 * minPaged, 8 << 10
	lines := func(end string) string { return strings.Repeat("some line of code "+end, size/20) }
	result := func(text string) llm.Message {
		return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "c", Name: "edit", Text: text}}}
	}
	for name, node := range map[string]Node{
		"lines":         {Message: result(lines("\n"))},
		"short lines":   {Message: result(lines("\n")[:2<<10])},
		"CRLF":          {Message: result(lines("\r\n"))},
		"escapes":       {Message: result(lines("\x1b[0m\u2028"))},
		"short escapes": {Message: result(lines("\x1b\v\U0001F600")[:1<<10])},
		"diff":          {Message: result("edited"), Results: map[string]Outcome{"c": {Diff: lines("\n")}}},
		"state":         {Message: llm.Message{Role: llm.RoleAssistant, Origin: "o", Parts: []llm.Part{{Kind: llm.Thinking, State: []byte(`"` + lines("") + `"`)}}}},
	} {
		t.Run(name, func(t *testing.T) {
			nodes, content := make([]Node, n), 0
			for i := range nodes {
				nodes[i] = node
				nodes[i].Seq, nodes[i].Parent = i+1, i
				content += len(node.Parts[0].Text) + len(node.Parts[0].State) + len(node.Results["c"].Diff)
			}
			_, l := resumed(t, nodes)
			held := func() int {
				var m runtime.MemStats
				runtime.GC()
				runtime.GC()
				runtime.ReadMemStats(&m)
				return int(m.HeapAlloc)
			}
			before := held()
			read, err := l.Read(1, n)
			if err != nil {
				t.Fatal(err)
			}
			const each = 1500 // bytes of a message beside its text
			if got := held() - before; got > content*3/2+n*each {
				t.Errorf("%.1f MB hold %.1f MB", float64(got)/1e6, float64(content)/1e6)
			}
			runtime.KeepAlive(read)
		})
	}
}

// BenchmarkRead reads messages of several sizes.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{1 << 10, 4 << 10, 16 << 10, 60 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			nodes := make([]Node, 4*minPaged)
			for i := range nodes {
				nodes[i] = says(i+1, llm.RoleUser, strings.Repeat("some line of code\n", size/18))
			}
			_, l := resumed(b, nodes)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Read(1, len(nodes)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
