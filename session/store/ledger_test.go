package store

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/llmtest"
)

// ledgerRows returns sums as text: what they are of, requests, unpriced, input, cost.
func ledgerRows(t testing.TB, db *DB, keys ...string) []string {
	t.Helper()
	sums, err := db.Ledger().Sums(time.Time{}, time.Time{}, keys...)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, s := range sums {
		var row []string
		for _, key := range keys {
			row = append(row, s.Key(key))
		}
		rows = append(rows, fmt.Sprintf("%s: %d %d %d %g", strings.Join(row, " "), s.Requests, s.Unpriced, s.Usage.Input, s.Usage.Cost))
	}
	return rows
}

// TestLedger enters everything that is paid for, each request once, and keeps it when the
// conversation is removed.
func TestLedger(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{ID: "one", Dir: "/w"})
	put := func(seq int, u *llm.Usage, change func(*Node)) {
		t.Helper()
		n := says(seq, llm.RoleAssistant, "x")
		n.Model, n.Usage = "a/x", u
		change(&n)
		if err := l.Put(n); err != nil {
			t.Fatal(err)
		}
	}
	same := func(*Node) {}
	paid := &llm.Usage{Input: 10, Output: 1, Cost: 0.5, Priced: true}
	if err := l.Put(says(1, llm.RoleUser, "hi")); err != nil {
		t.Fatal(err)
	}
	put(2, nil, func(n *Node) { n.Partial = true })
	put(2, paid, same)
	put(3, paid, func(n *Node) { n.Purpose, n.Missed = PurposeCompare, CacheMiss{Tokens: 7, Cause: "switch"} })
	put(4, paid, func(n *Node) { n.Origin, n.Model = llm.OriginImages, "b/draws" })
	put(5, &llm.Usage{Input: 3}, same)
	summary := says(6, llm.RoleUser, "so far")
	summary.Summary, summary.Usage = true, paid // which Spend has entered
	if err := errors.Join(l.Spend(PurposeSummary, "a/x", *paid), l.Put(summary), l.Spend(PurposeTitle, "c/small", llm.Usage{Input: 1, Priced: true})); err != nil {
		t.Fatal(err)
	}
	embed := LedgerEntry{Folder: "/e", Model: "d/e", Purpose: PurposeEmbed, Usage: llm.Usage{Input: 20, Cost: 0.25, Priced: true}}
	if err := db.Ledger().Add(embed, embed); err != nil {
		t.Fatal(err)
	}
	nodes := l.Nodes()
	if nodes[2].Missed.Tokens != 7 || nodes[2].Purpose != PurposeCompare {
		t.Errorf("kept as %+v", nodes[2])
	}
	if err := errors.Join(l.Close(), db.Remove("one")); err != nil {
		t.Fatal(err)
	}
	for by, want := range map[string][]string{
		"purpose":        {"answer: 2 1 13 0.5", "compare: 1 0 10 0.5", "embed: 2 0 40 0.5", "image: 1 0 10 0.5", "summary: 1 0 10 0.5", "title: 1 0 1 0"},
		"provider":       {"a: 4 1 33 1.5", "b: 1 0 10 0.5", "c: 1 0 1 0", "d: 2 0 40 0.5"},
		"folder":         {"/e: 2 0 40 0.5", "/w: 6 1 44 2"},
		"session":        {": 2 0 40 0.5", "one: 6 1 44 2"},
		"folder,purpose": {"/e embed: 2 0 40 0.5", "/w answer: 2 1 13 0.5", "/w compare: 1 0 10 0.5", "/w image: 1 0 10 0.5", "/w summary: 1 0 10 0.5", "/w title: 1 0 1 0"},
	} {
		if got := ledgerRows(t, db, strings.Split(by, ",")...); !slices.Equal(got, want) {
			t.Errorf("by %s: got %q, want %q", by, got, want)
		}
	}
	if sum, err := db.Ledger().Spent(time.Time{}, time.Time{}, "a"); err != nil || sum.Missed != 7 || sum.Requests != 4 || sum.Unpriced != 1 || sum.Usage.Cost != 1.5 {
		t.Errorf("spent %+v, %v", sum, err)
	}
	if _, err := db.Ledger().Sums(time.Time{}, time.Time{}, "1; DROP TABLE ledger"); err == nil {
		t.Error("summed up by SQL")
	}
}

// A request that cannot be written is entered later, under the conversation as it is then.
func TestSpendLater(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{ID: "one"})
	if err := l.Spend(PurposeTitle, "a/x", llm.Usage{Input: 5, Priced: true}); err != nil {
		t.Fatal(err)
	}
	if got := ledgerRows(t, db, "session"); len(got) != 0 {
		t.Errorf("entered for a conversation that is not on disk: %q", got)
	}
	talk(t, l, "hi")
	talk(t, l, "ho", "hey") // once
	if got, want := ledgerRows(t, db, "session", "purpose"), []string{"one answer: 1 1 0 0", "one title: 1 0 5 0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLedgerAddsUp: whatever is entered and replaced, the sums by any key have the same total,
// and Spent of any time is that of its rows.
func TestLedgerAddsUp(t *testing.T) {
	db := fresh(t)
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	start := time.Date(2026, 10, 20, 0, 0, 0, 0, time.Local)
	moment := func() time.Time { return start.Add(time.Duration(r.Int64N(int64(20 * 24 * time.Hour)))) }
	var all []LedgerEntry
	for n := range 400 {
		e := LedgerEntry{At: moment(), Model: fmt.Sprintf("p%d/m%d", r.IntN(3), r.IntN(4)), Purpose: "answer", Folder: fmt.Sprint("/", r.IntN(5)), Session: "s",
			Usage: llm.Usage{Input: r.IntN(1000), CacheRead: r.IntN(9), CacheWrite: r.IntN(9), Output: r.IntN(99), Thinking: r.IntN(9),
				Cost: float64(r.IntN(1000)) / 1024, Priced: r.IntN(4) > 0}} // costs that add up exactly
		if e.Seq = r.IntN(80) * r.IntN(2); n == 7 {
			e.Usage.Cost, e.Usage.Input = math.NaN(), math.MaxInt
		}
		if err := db.Ledger().Add(e); err != nil {
			t.Fatal(err)
		}
		if n == 7 {
			e.Usage.Cost, e.Usage.Input, e.Usage.Priced = 0, 1<<40, false
		}
		if !e.Usage.Priced {
			e.Usage.Cost = 0
		}
		if i := slices.IndexFunc(all, func(o LedgerEntry) bool { return o.Seq == e.Seq && e.Seq > 0 }); i >= 0 {
			all[i] = e
			continue
		}
		all = append(all, e)
	}
	total := func(since, until time.Time, provider string) (sum UsageSum) {
		for _, e := range all {
			if !e.At.Before(since) && (until.IsZero() || e.At.Before(until)) && (provider == "" || ProviderOf(e.Model) == provider) {
				one := UsageSum{Requests: 1, Usage: e.Usage}
				if !e.Usage.Priced {
					one.Unpriced = 1
				}
				sum = sum.Add(one)
			}
		}
		sum.Usage.Priced = sum.Unpriced == 0
		return sum
	}
	want := total(time.Time{}, time.Time{}, "")
	for _, key := range UsageKeys {
		sums, err := db.Ledger().Sums(time.Time{}, time.Time{}, key)
		var got UsageSum
		for _, s := range sums {
			got = got.Add(s)
		}
		got.Day, got.Month, got.Session, got.Folder, got.Provider, got.Model, got.Purpose = "", "", "", "", "", "", ""
		if err != nil || got != want {
			t.Errorf("seed %d: by %s %+v, %v, want %+v", seed, key, got, err, want)
		}
	}
	midnight := func(at time.Time) time.Time {
		return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.Local)
	}
	for range 200 {
		since, until, provider := moment(), moment(), []string{"", "p0", "p1", "p9"}[r.IntN(4)]
		switch r.IntN(5) {
		case 0:
			since = time.Time{}
		case 1:
			since = midnight(since)
		case 2:
			until = since.Add(time.Hour)
		}
		switch r.IntN(4) {
		case 0:
			until = time.Time{}
		case 1:
			until = midnight(until)
		}
		if !until.IsZero() && until.Before(since) {
			since, until = until, since
		}
		if got, err := db.Ledger().Spent(since, until, provider); err != nil || got != total(since, until, provider) {
			t.Fatalf("seed %d: from %s until %s at %q: %+v, %v, want %+v", seed, since, until, provider, got, err, total(since, until, provider))
		}
	}
}

// olderSchema is the schema that had no ledger.
func olderSchema(t testing.TB) []string {
	t.Helper()
	i := slices.Index(schema, ledgerTables)
	if i < 0 {
		t.Fatal("there is no ledger")
	}
	return schema[:i]
}

// olderFile returns a file of before there was a ledger, and the store that writes it.
func olderFile(t testing.TB) (path string, db *DB) {
	t.Helper()
	path = filepath.Join(llmtest.Folder(t), "older.db")
	db, err := open(path, olderSchema(t), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return path, db
}

// TestLedgerOfOlderFile fills the ledger with what was known before: answers, also of
// conversations that were removed, what was beside them, and summaries, but no copies.
func TestLedgerOfOlderFile(t *testing.T) {
	path, old := olderFile(t)
	node := `INSERT INTO nodes (session, seq, parent, at, role, origin, model, indexed, rest, parts) VALUES `
	if err := old.write(func(w *writer) error {
		return w.script(`
			INSERT INTO sessions VALUES (1, 'one', '', 0, '/w', '', '', '', 0, '', 1, 1, 0, 2, '{}', '', NULL, 1);
			INSERT INTO sessions VALUES (2, 'copy', '', 0, '/w', '', '', '', 0, 'fork one', 1, 1, 0, 2, '{}', '', NULL, 1);
			INSERT INTO usage VALUES ('one', 2, '2026-11-20', 1795000000000000000, 'a/x', 10, 4, 2, 5, 1, 0.5, 1);
			INSERT INTO usage VALUES ('gone', 2, '2026-11-20', 1795000000000000000, 'a/x', 20, 0, 0, 5, 0, 0.25, 1);
			INSERT INTO usage VALUES ('embed', 1, '2026-11-21', 1795100000000000000, 'b/e', 30, 0, 0, 0, 0, 0, 0);
			INSERT INTO usage VALUES ('embed', 2, '2026-11-21', 1795100000000000000, 'b/e', 30, 0, 0, 0, 0, 0, 0);
			INSERT INTO usage VALUES ('video', 1, '2026-11-21', 1795100000000000000, 'c/v', 0, 0, 0, 0, 0, 2, 1);
			` + node + `(1, 3, 2, 1795000000000000000, 'user', '', 'a/x', 1, '{"summary":true,"usage":{"input":100,"output":9,"cost":0.125,"priced":true}}', '[]');
			` + node + `(1, 4, 3, 1795000000000000000, 'user', '', '', 1, '{"summary":true}', '[]'), (1, 5, 4, 1, 'user', '', '', 1, '{"summ', '[]'), (1, 6, 5, 1, 'user', '', '', 1, x'00', '[]');
			` + node + `(2, 3, 2, 1795000000000000000, 'user', '', 'a/x', 1, '{"summary":true,"usage":{"input":100,"output":9,"cost":0.125,"priced":true}}', '[]');`)
	}); err != nil {
		t.Fatal(err)
	}
	_ = old.Close()
	db := reopen(t, path)
	want := []string{"  embed: 2 2 60 0", "  video: 1 0 0 2", "gone  answer: 1 0 20 0.25", "one /w answer: 1 0 10 0.5", "one /w summary: 1 0 100 0.125"}
	if got := ledgerRows(t, db, "session", "folder", "purpose"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	sum, err := db.Ledger().Spent(time.Time{}, time.Time{}, "a")
	if err != nil || sum.Usage != (llm.Usage{Input: 130, CacheRead: 4, CacheWrite: 2, Output: 19, Thinking: 1, Cost: 0.875, Priced: true}) {
		t.Errorf("spent %+v, %v", sum, err)
	}
	if err := db.Videos().Save(Video{Num: 1, Job: works.Job{Provider: "c", Model: "v", ID: "job", Bill: &works.Bill{USD: 3, Priced: true}}}); err != nil {
		t.Fatal(err)
	}
	if sum, _ = db.Ledger().Spent(time.Time{}, time.Time{}, "c"); sum.Usage.Cost != 3 {
		t.Errorf("a job of before cost %+v", sum)
	}
}

// TestReserve lets requests begin until a cap is reached, those that are under way included.
func TestReserve(t *testing.T) {
	db := fresh(t)
	ledger := db.Ledger()
	enter := func(model string, cost float64) {
		t.Helper()
		if err := ledger.Add(LedgerEntry{Model: model, Usage: llm.Usage{Input: 100, Cost: cost, Priced: true}}); err != nil {
			t.Fatal(err)
		}
	}
	enter("a/x", 0.5)
	enter("b/x", 9)
	today, about := Cap{Since: time.Now().Add(-time.Hour), Provider: "a", Cost: 1}, llm.Usage{Input: 30, Output: 10, Cost: 0.25}
	one, err := ledger.Reserve("a/x", about, today)
	if err != nil {
		t.Fatal(err)
	}
	two, err := ledger.Reserve("a/x", about, today)
	if err != nil {
		t.Fatal(err)
	}
	var full *CapError
	if _, err := ledger.Reserve("a/y", about, today); !errors.As(err, &full) || full.Cap != today || full.Spent.Usage.Cost != 0.5 || full.Reserved.Cost != 0.5 || err.Error() != "$1.00 of $1.00 are spent" {
		t.Errorf("a third request: %v, %+v", err, full)
	}
	if r, err := ledger.Reserve("b/x", about, today); err != nil || r.Settle() != nil {
		t.Errorf("a cap of another provider: %v", err)
	}
	if _, err := ledger.Reserve("b/x", about, Cap{Tokens: 280}); !errors.As(err, &full) || err.Error() != "280 of 280 tokens are used" {
		t.Errorf("a cap of tokens: %v", err)
	}
	if err := errors.Join(one.Settle(LedgerEntry{Model: "a/x", Usage: llm.Usage{Cost: 0.125, Priced: true}}), two.Settle(), two.Settle(), Reservation{}.Settle()); err != nil {
		t.Fatal(err)
	}
	if sum, err := ledger.Spent(time.Time{}, time.Time{}, "a"); err != nil || sum.Usage.Cost != 0.625 || sum.Requests != 2 {
		t.Errorf("spent %+v, %v", sum, err)
	}
	if _, err := ledger.Reserve("a/x", about, today, Cap{Cost: 0.5, Since: time.Now().Add(time.Hour)}); err != nil {
		t.Errorf("after they were settled: %v", err)
	}
}

// The room of a process that is no more is free.
func TestReservationOfADeadProcess(t *testing.T) {
	path := fresh(t).path
	cmd, out := child(t, "take", path, "")
	if got := line(t, out); got != "taken" {
		t.Fatal(got)
	}
	db := reopen(t, path)
	limit := Cap{Cost: 1}
	if _, err := db.Ledger().Reserve("a/x", llm.Usage{Cost: 1}, limit); !errors.As(err, new(*CapError)) {
		t.Errorf("while it lives: %v", err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, err := db.Ledger().Reserve("a/x", llm.Usage{Cost: 1}, limit); err != nil {
		t.Errorf("after its end: %v", err)
	}
}

// childTake reserves all there is and waits to be killed.
func childTake(path, _ string) error {
	db, err := Open(path)
	if err != nil {
		return err
	}
	if _, err := db.Ledger().Reserve("a/x", llm.Usage{Cost: 1}, Cap{Cost: 1}); err != nil {
		return err
	}
	fmt.Println("taken")
	time.Sleep(time.Minute)
	return nil
}

// TestEightProcesses spend from the cap of one day at once, each as fast as it can. Their
// estimates are far too low, so that each may go above by a request, but by no more.
func TestEightProcesses(t *testing.T) {
	t.Parallel()
	const processes, limit, price = 8, 1.0, 0.0625
	path := fresh(t).path
	var ends []func() int
	for range processes {
		cmd, out := child(t, "spend", path, fmt.Sprint(limit, " ", price))
		ends = append(ends, func() int {
			n, err := strconv.Atoi(line(t, out))
			if err != nil || cmd.Wait() != nil {
				t.Error("a process failed", err)
			}
			return n
		})
	}
	requests := 0
	for _, end := range ends {
		requests += end()
	}
	db := reopen(t, path)
	sum, err := db.Ledger().Spent(time.Time{}, time.Time{}, "")
	if err != nil || sum.Requests != requests || sum.Usage.Cost < limit || sum.Usage.Cost > limit+processes*price {
		t.Errorf("%d requests: %+v, %v; the cap is %g", requests, sum, err, limit)
	}
	t.Logf("$%g of $%g in %d requests", sum.Usage.Cost, limit, requests)
}

// childSpend makes requests until the cap is reached, and says how many.
func childSpend(path, id string) error {
	var limit, price float64
	if _, err := fmt.Sscan(id, &limit, &price); err != nil {
		return err
	}
	db, err := Open(path)
	if err != nil {
		return err
	}
	now := time.Now()
	today := time.Date(now.Year(), now.Month(), now.Day()-1, 0, 0, 0, 0, time.Local) // midnight may pass meanwhile
	for n := 0; ; n++ {
		r, err := db.Ledger().Reserve("a/x", llm.Usage{Cost: price / 1000}, Cap{Since: today, Cost: limit})
		if errors.As(err, new(*CapError)) {
			fmt.Println(n)
			return db.Close()
		}
		if err == nil {
			err = r.Settle(LedgerEntry{Model: "a/x", Purpose: "answer", Usage: llm.Usage{Cost: price, Priced: true}})
		}
		if err != nil {
			return err
		}
	}
}

// fillLedger enters n requests of a year.
func fillLedger(b *testing.B, db *DB, n int, end time.Time) {
	b.Helper()
	entries := make([]LedgerEntry, n)
	for i := range entries {
		entries[i] = LedgerEntry{At: end.Add(-time.Duration(i) * (365 * 24 * time.Hour / time.Duration(n))), Session: fmt.Sprint("s", i/10), Seq: i%10 + 1,
			Folder: fmt.Sprint("/work/", i%30), Model: fmt.Sprintf("p%d/m%d", i%12, i%40), Purpose: "answer", Usage: llm.Usage{Input: i, Cost: 0.01, Priced: true}}
	}
	if err := db.Ledger().Add(entries...); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkSpent sums up a day and a month, of 100,000 requests.
func BenchmarkSpent(b *testing.B) {
	db := fresh(b)
	now := time.Now()
	fillLedger(b, db, 100_000, now)
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.Local)
	for name, since := range map[string]time.Time{"day": midnight, "month": midnight.AddDate(0, -1, 0), "24h": now.Add(-24 * time.Hour), "ever": {}} {
		for _, provider := range []string{"", "p3"} {
			b.Run(name+"/"+provider, func(b *testing.B) {
				percentiles(b, func(int) {
					if sum, err := db.Ledger().Spent(since, time.Time{}, provider); err != nil || sum.Requests == 0 {
						b.Fatal(sum, err)
					}
				})
			})
		}
	}
	b.Run("reserve", func(b *testing.B) {
		percentiles(b, func(int) {
			r, err := db.Ledger().Reserve("p3/m3", llm.Usage{Cost: 0.1}, Cap{Since: midnight, Cost: 1e9}, Cap{Since: midnight.AddDate(0, -1, 0), Provider: "p3", Cost: 1e9})
			if err != nil || r.Settle() != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("30 days by model", func(b *testing.B) {
		percentiles(b, func(int) {
			if _, err := db.Ledger().Sums(midnight.AddDate(0, -1, 0), time.Time{}, "day", "model"); err != nil {
				b.Fatal(err)
			}
		})
	})
}

// BenchmarkLedgerOfOlderFile brings a file of 10,000 conversations with ten answers each up to
// date; "copy" is what of that the copy takes which every update makes first.
func BenchmarkLedgerOfOlderFile(b *testing.B) {
	path, old := olderFile(b)
	parts := `[{"kind":"text","text":"` + strings.Repeat("word ", 120) + `"}]`
	err := old.write(func(w *writer) error {
		return w.script(`
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
			INSERT INTO sessions SELECT i, 's' || i, 'title', 0, '/w' || (i % 30), '', '', '', 0, '', 1, 1, 0, 20, '{}', '', NULL, i FROM n;
			WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199999)
			INSERT INTO nodes (session, seq, parent, at, role, origin, model, indexed, rest, parts)
			SELECT i / 20 + 1, i % 20 + 1, i % 20, 1760000000000000000 + i * 150000000000, iif(i % 2, 'assistant', 'user'), '', iif(i % 2, 'p' || (i % 12) || '/m', ''), 1,
				iif(i % 2, '{"usage":{"input":1234,"output":567,"cost":0.0123,"priced":true},"reason":"stop","took":123456789}', '{}'), '` + parts + `' FROM n;
			INSERT INTO usage SELECT 's' || session, seq, date(at / 1000000000, 'unixepoch'), at, model, 1234, 0, 0, 567, 0, 0.0123, 1 FROM nodes WHERE role = 'assistant';`)
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := old.Close(); err != nil {
		b.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d MB", len(file)>>20)
	for b.Loop() {
		b.StopTimer()
		again := filepath.Join(b.TempDir(), "parley.db")
		if err := os.WriteFile(again, file, 0o600); err != nil {
			b.Fatal(err)
		}
		db, err := open(again, olderSchema(b), time.Now)
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		if err := db.backup(len(olderSchema(b))); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "copy-ms")
		_ = db.Close()
		b.StartTimer()
		began = time.Now()
		if db, err = Open(again); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "update-ms")
		_ = db.Close()
	}
}
