package session_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/session/settings"
	"parley/session/store"
	"parley/tools"
	"parley/tools/act"
)

// reservations counts those in the store at path.
func reservations(t *testing.T, path string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(`SELECT count(*) FROM reservations`).Scan(&n); err != nil {
		t.Error(err)
	}
	return n
}

// Room is kept while a request is under way, and not while the user is asked or a tool runs.
func TestRoomIsKeptForRequestsAlone(t *testing.T) {
	path := filepath.Join(llmtest.Folder(t), "p.db")
	lib, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	var during []int
	counts := func(turn llmtest.Turn) llmtest.Turn {
		return func(ctx context.Context, r llm.Request, out *llm.Out) error {
			during = append(during, reservations(t, path))
			return turn(ctx, r, out)
		}
	}
	model := endpoint("a/a", llmtest.New(counts(asksDear()), counts(spends())))
	model.Cost = func(llm.Usage) (float64, bool) { return 2, true }
	set, _ := workspace(t)
	s := New(Options{Model: model, Attended: true, ConfirmCost: 1, Tools: set, Log: lib.Create(Info{}), Limits: []Limit{{Period: settings.PerDay, Cost: 100}},
		Policy: tools.NewPolicy(act.ModeAsk)})
	defer s.Close()
	asked, ran := 0, 0
	for e := range s.Turn(t.Context(), say("hi")) {
		if _, ok := e.(llm.Delta); ok { // of a request
			continue
		}
		switch e := e.(type) {
		case Question:
			asked++
			if n := reservations(t, path); n != 0 {
				t.Errorf("%d held while the user is asked", n)
			}
			e.Reply(0)
		case Call, Result:
			ran++
			if n := reservations(t, path); n != 0 {
				t.Errorf("%d held at %T", n, e)
			}
		case ApprovalRequest:
			if n := reservations(t, path); n != 0 {
				t.Errorf("%d held while the user is asked about a call", n)
			}
			e.Reply(act.Approval{Verdict: act.Allow})
		case Done:
			if e.Err != nil {
				t.Error(e.Err)
			}
		}
	}
	if asked != 1 || ran != 2 || !slices.Equal(during, []int{1, 1}) {
		t.Errorf("asked %d times, %d calls and results, %v held during requests", asked, ran, during)
	}
}

// While models are compared, each has a room until its own answer is there.
func TestRoomOfACandidateEndsWithItsAnswer(t *testing.T) {
	path := filepath.Join(llmtest.Folder(t), "p.db")
	lib, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	first := make(chan bool)
	slow := endpoint("b/b", llmtest.New(func(ctx context.Context, r llm.Request, out *llm.Out) error {
		<-first
		return spends()(ctx, r, out)
	}))
	s := New(Options{Model: endpoint("own/own", llmtest.New()), Log: lib.Create(Info{}), Limits: []Limit{{Period: settings.PerDay, Cost: 100}}})
	defer s.Close()
	var held []int
	for e := range s.Compare(t.Context(), []llm.Endpoint{endpoint("a/a", llmtest.New(spends())), slow}, nil, say("which?")) {
		if c, ok := e.(CandidateEvent); ok && c.Done {
			if held = append(held, reservations(t, path)); c.N == 0 {
				close(first)
			}
		}
	}
	if !slices.Equal(held, []int{1, 0}) {
		t.Errorf("held %v", held)
	}
}

// A reservation that cannot be ended is told of once, and ended with a later one.
func TestReservationsThatDoNotEnd(t *testing.T) {
	path := filepath.Join(llmtest.Folder(t), "p.db")
	s := budgeted(t, path, false, 4, Limit{Period: settings.PerDay, Cost: 100})
	do := func(query string) {
		db, err := sql.Open("sqlite", path)
		if err == nil {
			_, err = db.Exec(query)
		}
		if err != nil {
			t.Fatal(err)
		}
		db.Close()
	}
	play(t.Context(), s, nil, say("hi"))
	do(`CREATE TRIGGER stuck BEFORE DELETE ON reservations BEGIN SELECT RAISE(ABORT, 'stuck'); END`)
	told := append(notices(play(t.Context(), s, nil, say("hi"))), notices(play(t.Context(), s, nil, say("hi")))...)
	if len(told) != 1 || !strings.Contains(told[0], "stuck") {
		t.Errorf("told %q", told)
	}
	do(`DROP TRIGGER stuck`)
	play(t.Context(), s, nil, say("hi"))
	if n := reservations(t, path); n != 0 {
		t.Errorf("%d are left", n)
	}
}

// The cost of a title is reserved while it is asked for, and it is not asked for above a limit.
func TestRoomOfATitle(t *testing.T) {
	path := filepath.Join(llmtest.Folder(t), "p.db")
	lib, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	limit := Limit{Period: settings.PerDay, Cost: 2}
	for _, full := range []bool{false, true} {
		var during []int
		s := New(Options{Model: endpoint("m/0", llmtest.New(silent("hello"))), Log: lib.Create(Info{}), Limits: []Limit{limit}, Config: Config{TitleModel: "m/t"},
			OpenModel: func(string) (llm.Endpoint, error) {
				return endpoint("m/t", llmtest.New(func(ctx context.Context, r llm.Request, out *llm.Out) error {
					during = append(during, reservations(t, path))
					return spends()(ctx, r, out)
				})), nil
			}})
		play(t.Context(), s, nil, say("hi"))
		other, err := Reservation{}, error(nil)
		if full { // by another process, at this moment
			if other, err = Reserve(lib.Ledger(), time.Now(), []Limit{limit}, "m/m", llm.Usage{Cost: 2}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Beside.WriteTitle(t.Context()); err != nil {
			t.Error(err)
		}
		if want := []int{1}; !full && !slices.Equal(during, want) || full && during != nil {
			t.Errorf("full %v: held %v", full, during)
		}
		if err := errors.Join(other.Settle(), s.Close()); err != nil {
			t.Error(err)
		}
	}
	if n := reservations(t, path); n != 0 {
		t.Errorf("%d are left", n)
	}
}

// A limit that is raised is told again once that is reached; one that ended the turn, or was
// asked about, is not told besides.
func TestReachedLimitsAreToldOnce(t *testing.T) {
	s := budgeted(t, filepath.Join(llmtest.Folder(t), "p.db"), true, 10, Limit{Period: settings.PerSession, Cost: 1})
	var told [][]string
	for _, action := range []Action{RaiseLimit, RaiseLimit, StopTurn} {
		events, _ := replies(t, s, []Action{action}, say("hi"))
		told = append(told, notices(events))
	}
	want := [][]string{{"session limit of $1.00 reached: $1.00 used"}, {"session limit of $2.00 reached: $2.00 used"}, nil}
	if !slices.EqualFunc(told, want, slices.Equal[[]string]) {
		t.Errorf("told %q", told)
	}
}

// The estimated cost of a request counts tokens known to be in the provider's cache at the
// price of that, and leaves out what the history mode leaves out.
func TestEstimateOfWhatIsCachedOrLeftOut(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	cached := llmtest.Script(llm.Delta{Block: "1", Part: say("yes")}, llm.Usage{Input: 10_000, CacheWrite: 9_000, Output: 40, Priced: true}, llm.Finish{Reason: llm.Stop})
	for name, tt := range map[string]struct {
		change func(*Session)
		later  time.Duration
		want   float64 // US dollars: a dollar for 1000 tokens, a tenth of it for those that are cached
	}{
		"warm":             {nil, time.Minute, 1.94 + 0.9},
		"expired":          {nil, time.Hour, 10.94},
		"another prompt":   {func(s *Session) { s.Next.SetSystem("else") }, time.Minute, 10.94},
		"nothing is kept":  {func(s *Session) { s.Next.SetHistoryMode(HistoryStateless) }, time.Minute, 0.9},
		"of another model": {func(s *Session) { m := s.Model(); m.Name = "a/other"; s.SetModel(m) }, time.Minute, 10.94},
	} {
		t.Run(name, func(t *testing.T) {
			model := endpoint("a/a", llmtest.New(cached, cached))
			model.Cost = func(u llm.Usage) (float64, bool) {
				return (float64(u.Input-u.CacheRead) + float64(u.CacheRead)/10) / 1000, true
			}
			clock := now
			s := New(Options{Model: model, Attended: true, ConfirmCost: 0.1, Now: func() time.Time { return clock }})
			replies(t, s, nil, say("")) // too little to ask about
			if tt.change != nil {
				tt.change(s)
			}
			clock = clock.Add(tt.later)
			_, asked := replies(t, s, []Action{StopTurn}, say(strings.Repeat("long ", 720))) // 900 tokens
			if len(asked) != 1 {
				t.Fatalf("asked %d times", len(asked))
			}
			if got := asked[0].About.(Expense).Cost; got < tt.want-0.05 || got > tt.want+0.05 {
				t.Errorf("estimated %.3f, want %.3f", got, tt.want)
			}
		})
	}
}
