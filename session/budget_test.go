package session_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/session/settings"
	"parley/session/store"
	"parley/session/storetest/copies"
	"parley/tools"
	"parley/tools/act"
)

// spends answers with text that costs a dollar and takes 100 tokens.
func spends() llmtest.Turn {
	return llmtest.Script(llm.Delta{Block: "1", Part: say("yes")}, llm.Usage{Input: 60, Output: 40, Cost: 1, Priced: true}, llm.Finish{Reason: llm.Stop})
}

// asksDear calls a tool, for a dollar.
func asksDear() llmtest.Turn {
	return llmtest.Script(llm.Delta{Block: "c", Part: llm.Part{Kind: llm.Call, ID: "1", Name: "read", Input: `{"path":"a.txt"}`}},
		llm.Usage{Input: 60, Output: 40, Cost: 1, Priced: true}, llm.Finish{Reason: llm.Calls})
}

// budgeted returns a session on the store in dir whose model spends a dollar each time.
func budgeted(t *testing.T, path string, attended bool, turns int, limits ...Limit) *Session {
	t.Helper()
	lib := copies.Open(t, path)
	var script []llmtest.Turn
	for range turns {
		script = append(script, spends())
	}
	s := New(Options{Model: endpoint("a/a", llmtest.New(script...)), Attended: attended, Limits: limits, Log: lib.Create(Info{})})
	t.Cleanup(func() { s.Close() })
	return s
}

// A limit of each period, in money and in tokens, is told at 80 % and, once, when it is
// reached, and ends what would be spent above it.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		limit   Limit
		answers int // before it is reached, of ten prompts
		notices int
	}{
		{Limit{Period: settings.PerSession, Cost: 5}, 5, 2},
		{Limit{Period: settings.PerSession, Tokens: 450}, 5, 2},
		{Limit{Period: settings.PerSession, Cost: 2.5, Tokens: 450}, 3, 2}, // what is reached first
		{Limit{Period: settings.PerSession, Cost: 5, Tokens: 101}, 2, 2},
		{Limit{Period: settings.PerDay, Cost: 2.5}, 3, 2},
		{Limit{Period: settings.PerDay, Tokens: 101}, 2, 2},
		{Limit{Period: settings.PerMonth, Cost: 10}, 10, 2},
		{Limit{Period: settings.PerMonth, Provider: "a", Cost: 1}, 1, 1},
		{Limit{Period: settings.PerMonth, Provider: "b", Cost: 1}, 10, 0},
		{Limit{Period: settings.PerTurn, Cost: 1}, 10, 10},
		{Limit{Period: settings.PerTurn, Cost: 2}, 10, 0},
		{Limit{}, 10, 0},
	} {
		t.Run(tt.limit.String(), func(t *testing.T) {
			s := budgeted(t, filepath.Join(llmtest.Folder(t), "p.db"), false, 10, tt.limit)
			answers, notices := 0, 0
			for range 10 {
				events := play(t.Context(), s, nil, say("hi"))
				notices += len(eventsOf[llm.Notice](events))
				var reached *settings.BudgetError
				if err := doneOf(t, events).Err; err == nil {
					answers++
				} else if !errors.Is(err, ErrBudget) || !errors.As(err, &reached) || !strings.Contains(err.Error(), tt.limit.String()) {
					t.Fatal(err)
				}
			}
			if answers != tt.answers || notices != tt.notices {
				t.Errorf("%d answers, told %d times", answers, notices)
			}
		})
	}
}

// A turn's limit ends the turn between two requests, and the results of its calls stay.
func TestTurnLimit(t *testing.T) {
	set, _ := workspace(t)
	s := New(Options{Model: endpoint("a/a", llmtest.New(asksDear(), asksDear(), spends())), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Limits: []Limit{{Period: settings.PerTurn, Cost: 2}}})
	events := play(t.Context(), s, allow, say("hi"))
	if err := doneOf(t, events).Err; !errors.Is(err, ErrBudget) || len(eventsOf[Result](events)) != 2 {
		t.Errorf("%v after %d results", err, len(eventsOf[Result](events)))
	}
}

// The usage of one turn does not count for the next, also if that compares, draws or summarizes.
func TestTurnLimitBeginsAnew(t *testing.T) {
	three := llmtest.Script(llm.Delta{Block: "1", Part: say("yes")}, llm.Usage{Input: 60, Output: 40, Cost: 3, Priced: true}, llm.Finish{Reason: llm.Stop})
	images := endpoint("a/i", llmtest.New(spends()))
	images.Origin = llm.OriginImages
	for name, next := range map[string]func(*Session) iter.Seq[Event]{
		"compare": func(s *Session) iter.Seq[Event] {
			return s.Compare(t.Context(), []llm.Endpoint{endpoint("a/b", llmtest.New(spends())), endpoint("a/c", llmtest.New(spends()))}, nil, say("which?"))
		},
		"draw":      func(s *Session) iter.Seq[Event] { return s.GenerateImage(t.Context(), images, true, say("a cat")) },
		"summarize": func(s *Session) iter.Seq[Event] { return s.Compact(t.Context()) },
	} {
		s := New(Options{Model: endpoint("a/a", llmtest.New(three, spends())), Limits: []Limit{{Period: settings.PerTurn, Cost: 3}}})
		if err := doneOf(t, play(t.Context(), s, nil, long(400))).Err; err != nil {
			t.Fatal(err)
		}
		if err := doneOf(t, slices.Collect(next(s))).Err; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// At 100 % a user is asked, and what they add holds.
func TestLimitIsRaised(t *testing.T) {
	for _, tt := range []struct {
		limit Limit
		want  Limit // raised once
		turns int
	}{
		{Limit{Period: settings.PerDay, Cost: 3}, Limit{Period: settings.PerDay, Cost: 4}, 4},
		{Limit{Period: settings.PerSession, Tokens: 200}, Limit{Period: settings.PerSession, Tokens: 300}, 3},
	} {
		s := budgeted(t, filepath.Join(llmtest.Folder(t), "p.db"), true, 10, tt.limit)
		asked := 0
		for range tt.turns {
			events, questions := replies(t, s, []Action{RaiseLimit}, say("hi"))
			if err := doneOf(t, events).Err; err != nil {
				t.Fatal(err)
			}
			for asked += len(questions); len(questions) > 0; questions = nil {
				if o := questions[0].About.(Overspend); o.Limit.Period != tt.limit.Period {
					t.Errorf("asked about %v", o)
				}
				if got := s.Spending.Limits(); asked == 1 && (len(got) != 1 || got[0] != tt.want) {
					t.Errorf("%v, want %v", got, tt.want)
				}
			}
		}
		if _, questions := replies(t, s, []Action{StopTurn}, say("hi")); asked == 0 || len(questions) != 1 {
			t.Errorf("asked %d times", asked)
		}
	}
}

// Eight programs that spend from one day's limit at once spend above it at most what each had
// under way.
func TestLimitHoldsAcrossSessions(t *testing.T) {
	const all, limit = 8, 10
	path := filepath.Join(llmtest.Folder(t), "p.db")
	var sessions []*Session
	for range all {
		sessions = append(sessions, budgeted(t, path, false, limit, Limit{Period: settings.PerDay, Cost: limit}))
	}
	var group sync.WaitGroup
	for _, s := range sessions {
		group.Go(func() {
			for range limit {
				for e := range s.Turn(t.Context(), say("hi")) {
					if d, ok := e.(Done); ok && d.Err != nil && !errors.Is(d.Err, ErrBudget) {
						t.Error(d.Err)
					}
				}
			}
		})
	}
	group.Wait()
	used, err := sessions[0].Spending.Used(Limit{Period: settings.PerDay})
	if err != nil || used.Cost < limit || used.Cost > limit+all {
		t.Errorf("%v spent of %d, %v", used.Cost, limit, err)
	}
}

// One request that may cost much is asked about before it is sent, once in a turn; where
// nobody can be asked it is told.
func TestExpense(t *testing.T) {
	for _, attended := range []bool{true, false} {
		set, _ := workspace(t)
		model := endpoint("a/a", llmtest.New(asksDear(), spends(), spends()))
		model.Cost = func(u llm.Usage) (float64, bool) { return float64(u.Input), true }
		s := New(Options{Model: model, Attended: attended, ConfirmCost: 4000, Tools: set, Policy: tools.NewPolicy(act.ModeAsk)})
		if events, asked := replies(t, s, []Action{StopTurn}, long(10)); len(asked)+len(eventsOf[llm.Notice](events)) != 0 {
			t.Errorf("asked %+v about little", asked)
		}
		events, asked := replies(t, s, []Action{SendAnyway}, long(4000))
		if told := len(eventsOf[llm.Notice](events)); attended != (len(asked) == 1) || attended == (told == 1) || doneOf(t, events).Err != nil {
			t.Errorf("attended %v: asked %d times, told %d times", attended, len(asked), told)
		}
	}
}

// So is an image, which has a price of its own.
func TestExpenseOfAnImage(t *testing.T) {
	for confirm, questions := range map[float64]int{0: 0, 1: 1, 2: 0} {
		painter := llmtest.New(drawn("fox.png"))
		model := endpoint("i/draw", painter)
		model.Origin = llm.OriginImages
		model.Cost = func(llm.Usage) (float64, bool) { return 2, true }
		s := New(Options{Model: endpoint("m/m", llmtest.New()), Attended: true, ConfirmCost: confirm})
		asked := 0
		for e := range s.GenerateImage(t.Context(), model, false, say("a fox")) {
			if q, ok := e.(Question); ok {
				asked++
				if q.About != (Expense{Model: "i/draw", Cost: 2}) {
					t.Errorf("asked about %+v", q.About)
				}
				q.Reply(len(q.Choices) - 1)
			}
		}
		if asked != questions || len(painter.Requests()) != 1-questions {
			t.Errorf("confirm %v: asked %d times, sent %d", confirm, asked, len(painter.Requests()))
		}
	}
}

// Days and months begin at midnight of the clock.
func TestPeriodsBegin(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 30, 0, 0, time.Local)
	lib, _ := newTestStore(t)
	spend := func(at time.Time) {
		if err := lib.Ledger().Add(LedgerEntry{At: at, Model: "a/a", Purpose: store.PurposeAnswer, Usage: llm.Usage{Cost: 1, Priced: true}}); err != nil {
			t.Fatal(err)
		}
	}
	spend(now.Add(-time.Hour))
	spend(now)
	spend(now.Add(24 * time.Hour))
	s := New(Options{Model: endpoint("a/a", llmtest.New()), Log: lib.Create(Info{}), Now: func() time.Time { return now.Add(24 * time.Hour) }})
	for period, want := range map[settings.Period]float64{settings.PerDay: 1, settings.PerMonth: 2} {
		if used, err := s.Spending.Used(Limit{Period: period}); err != nil || used.Cost != want {
			t.Error(fmt.Sprint(period, ": ", used.Cost, err))
		}
	}
}

// A limit of one provider is about the models that are asked there, whatever asks them: models
// that are compared, a judge, one that draws, one that writes summaries, one for titles.
func TestProviderLimitsOfEveryRequest(t *testing.T) {
	limit := Limit{Period: settings.PerDay, Provider: "b", Cost: 1}
	begin := func(t *testing.T, o Options) (*Session, *llmtest.Fake) {
		lib, _ := newTestStore(t)
		if err := lib.Ledger().Add(LedgerEntry{Model: "b/b", Purpose: store.PurposeAnswer, Usage: llm.Usage{Cost: 1, Priced: true}}); err != nil {
			t.Fatal(err)
		}
		limited := llmtest.New(spends(), spends())
		o.Model, o.Log, o.Limits = endpoint("a/a", llmtest.New(spends(), spends(), spends(), spends())), lib.Create(Info{}), []Limit{limit}
		o.OpenModel = func(string) (llm.Endpoint, error) { return endpoint("b/b", limited), nil }
		s := New(o)
		t.Cleanup(func() { s.Close() })
		return s, limited
	}
	reached := func(t *testing.T, err error, limited *llmtest.Fake) {
		t.Helper()
		var e *settings.BudgetError
		if !errors.As(err, &e) || e.Limit != limit {
			t.Errorf("ended with %v", err)
		}
		if n := len(limited.Requests()); n != 0 {
			t.Errorf("%d requests above the limit", n)
		}
	}
	t.Run("compare", func(t *testing.T) {
		s, limited := begin(t, Options{})
		models := []llm.Endpoint{endpoint("c/c", llmtest.New(spends())), endpoint("b/b", limited)}
		reached(t, doneOf(t, slices.Collect(s.Compare(t.Context(), models, nil, say("which?")))).Err, limited)
	})
	t.Run("judge", func(t *testing.T) {
		s, limited := begin(t, Options{})
		judge := endpoint("b/b", limited)
		models := []llm.Endpoint{endpoint("c/1", llmtest.New(spends())), endpoint("c/2", llmtest.New(spends()))}
		events := slices.Collect(s.Compare(t.Context(), models, &judge, say("which?")))
		if n := notices(events); doneOf(t, events).Err != nil || len(n) != 1 || !strings.HasPrefix(n[0], "not judged: "+limit.String()) || len(limited.Requests()) > 0 {
			t.Errorf("told %q after %d requests", n, len(limited.Requests()))
		}
	})
	t.Run("draw", func(t *testing.T) {
		s, limited := begin(t, Options{})
		reached(t, doneOf(t, slices.Collect(s.GenerateImage(t.Context(), endpoint("b/b", limited), false, say("a fox")))).Err, limited)
	})
	t.Run("summary", func(t *testing.T) {
		s, limited := begin(t, Options{Config: Config{SummaryModel: "b/b"}})
		play(t.Context(), s, nil, say("one"))
		events := slices.Collect(s.Compact(t.Context()))
		if n := notices(events); len(limited.Requests()) > 0 || len(n) != 1 || !strings.Contains(n[0], limit.String()) {
			t.Errorf("told %q after %d requests", n, len(limited.Requests()))
		}
	})
	t.Run("title", func(t *testing.T) {
		s, limited := begin(t, Options{Config: Config{TitleModel: "b/b"}})
		play(t.Context(), s, nil, say("one"))
		if err := s.Beside.WriteTitle(t.Context()); err != nil || len(limited.Requests()) > 0 {
			t.Errorf("%v after %d requests", err, len(limited.Requests()))
		}
	})
	t.Run("another provider", func(t *testing.T) {
		s, _ := begin(t, Options{})
		s.SetModel(endpoint("b/b", llmtest.New()))
		if err := doneOf(t, slices.Collect(s.GenerateImage(t.Context(), endpoint("c/c", llmtest.New(spends())), false, say("a fox")))).Err; err != nil {
			t.Error(err)
		}
	})
}

// Room is reserved at each provider that is asked, and what a comparison itself reserves is no
// reason to stop it.
func TestComparisonReservesAtEachProvider(t *testing.T) {
	lib, _ := newTestStore(t)
	caps := []Limit{{Period: settings.PerDay, Cost: 100}, {Period: settings.PerDay, Provider: "b", Cost: 100}}
	var models []llm.Endpoint
	var held []error
	for _, name := range []string{"a/1", "b/1", "b/2"} {
		m := endpoint(name, llmtest.New(func(ctx context.Context, r llm.Request, out *llm.Out) error {
			return spends()(ctx, r, out)
		}))
		m.Cost = func(u llm.Usage) (float64, bool) { return min(60, float64(u.Output)), true } // of its input nothing
		models = append(models, m)
	}
	s := New(Options{Model: endpoint("own/own", llmtest.New()), Log: lib.Create(Info{}), Limits: caps})
	defer s.Close()
	for e := range s.Compare(t.Context(), models, nil, say("which?")) {
		if c, ok := e.(CandidateEvent); ok && held == nil {
			if _, first := c.Event.(Step); first {
				_, err := Reserve(lib.Ledger(), time.Now(), caps[1:], "b/3", llm.Usage{})
				held = append(held, err)
			}
		}
		if d, ok := e.(Done); ok && d.Err != nil {
			t.Error(d.Err)
		}
	}
	if len(held) != 1 || !errors.Is(held[0], ErrBudget) {
		t.Errorf("while they are asked, b has room: %v", held)
	}
	if _, err := Reserve(lib.Ledger(), time.Now(), caps[1:], "b/3", llm.Usage{}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A summary in several pieces stops between two of them once a limit is reached.
func TestSummaryStopsAtALimit(t *testing.T) {
	fake := llmtest.New(spends(), spends(), spends(), spends(), spends(), spends(), spends())
	model := endpoint("a/a", fake)
	model.Context = 400
	s := New(Options{Model: model, Config: Config{History: "stateless"}, EstimateTokens: func(text string) int { return len(text) / 40 }})
	for range 3 {
		play(t.Context(), s, nil, long(6000))
	}
	s.Spending.SetLimit(Limit{Period: settings.PerSession, Cost: 4})
	events := slices.Collect(s.Compact(t.Context()))
	if err := doneOf(t, events).Err; !errors.Is(err, ErrBudget) || len(fake.Requests()) != 4 {
		t.Errorf("%v after %d requests, 3 of them answers", err, len(fake.Requests()))
	}
}

// TestSideUsageIsKept: what titles, judges and summaries that failed cost belongs to the conversation
// after it was opened again too, and a summary that stands in it counts once.
func TestSideUsageIsKept(t *testing.T) {
	paid := func(text string) llmtest.Turn {
		return llmtest.Script(llm.Delta{Block: "a", Part: say(text)}, llm.Usage{Input: 10, Output: 1, Cost: 0.5, Priced: true}, llm.Finish{Reason: llm.Stop})
	}
	lib, _ := newTestStore(t)
	model := endpoint("m/x", llmtest.New(paid("one"), paid(""), paid("the summary"), paid("two")))
	judge := endpoint("j/judge", llmtest.New(paid(`{"winner":"A","reason":"ok"}`)))
	models := []llm.Endpoint{endpoint("m/0", llmtest.New(paid("a"))), endpoint("m/1", llmtest.New(paid("b")))}
	o := Options{Model: model, Log: lib.Create(Info{})}
	s := New(o)
	play(t.Context(), s, nil, long(2000))
	if d := doneOf(t, slices.Collect(s.Compact(t.Context()))); d.Err == nil {
		t.Fatal("the empty summary was taken")
	}
	if d := doneOf(t, slices.Collect(s.Compact(t.Context()))); d.Err != nil {
		t.Fatal(d.Err)
	}
	for range s.Compare(t.Context(), models, &judge, say("which?")) {
	}
	for run := range 3 {
		if u, _ := s.Spending.Usage(); u.Cost != 3 || u.Input != 60 || !u.Priced {
			t.Errorf("run %d: used %+v, want $3 of 6 requests", run, u)
		}
		s = reopen(t, lib, s, o)
		s.Spending.SetLimit(Limit{Period: settings.PerSession, Cost: 3})
	}
	if d := doneOf(t, play(t.Context(), s, nil, say("more"))); !errors.Is(d.Err, ErrBudget) {
		t.Errorf("the limit is forgotten: %v", d.Err)
	}
	sum, err := lib.Ledger().Sums(time.Time{}, time.Time{})
	if err != nil || len(sum) != 1 || sum[0].Usage.Cost != 3 {
		t.Errorf("the ledger has %+v, %v", sum, err)
	}
}

// That nothing can be reserved is told once in a session, and keeps nobody from asking.
func TestReservationsThatFailAreTold(t *testing.T) {
	path := filepath.Join(llmtest.Folder(t), "p.db")
	s := budgeted(t, path, false, 3, Limit{Period: settings.PerDay, Cost: 100})
	play(t.Context(), s, nil, say("hi"))
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.Exec(`DROP TABLE reservations`)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var told []string
	for range 2 {
		events := play(t.Context(), s, nil, say("hi"))
		told = append(told, notices(events)...)
		if err := doneOf(t, events).Err; err != nil {
			t.Error(err)
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "limits of a day and a month") {
		t.Errorf("told %q", told)
	}
}

// notices returns the texts of the notices among events.
func notices(events []Event) (texts []string) {
	for _, n := range eventsOf[llm.Notice](events) {
		texts = append(texts, n.Text)
	}
	return texts
}

// An answer that broke off is paid for: it counts at the price of its model.
func TestCutAnswerIsPriced(t *testing.T) {
	model := endpoint("a/a", llmtest.New(llmtest.Fail(&llm.Error{Fault: llm.Network}, llm.Delta{Block: "1", Part: long(100)})))
	model.Cost = func(u llm.Usage) (float64, bool) { return float64(u.Output) / 100, true }
	s := New(Options{Model: model})
	play(t.Context(), s, nil, say("hi"))
	if total, _ := s.Spending.Usage(); total.Cost != 1 || !total.Priced {
		t.Errorf("%+v", total)
	}
}

// A raise leaves room, however much was spent above the limit.
func TestRaiseLeavesRoom(t *testing.T) {
	s := budgeted(t, filepath.Join(llmtest.Folder(t), "p.db"), true, 10, Limit{Period: settings.PerSession, Cost: 100})
	for range 3 {
		replies(t, s, nil, say("hi"))
	}
	s.Spending.SetLimit(Limit{Period: settings.PerSession, Cost: 0.5})
	if _, asked := replies(t, s, []Action{RaiseLimit}, say("hi")); len(asked) != 1 || s.Spending.Limits()[0].Cost != 4 {
		t.Errorf("asked %d times, %v", len(asked), s.Spending.Limits())
	}
}

// The notice at 80 % comes with the answer that reaches it: there may be no other request.
func TestNoticeComesWithTheAnswer(t *testing.T) {
	s := budgeted(t, filepath.Join(llmtest.Folder(t), "p.db"), false, 4, Limit{Period: settings.PerSession, Cost: 5})
	for n := 1; n <= 4; n++ {
		var want []string
		if n == 4 {
			want = []string{"80% of the session limit of $5.00 used"}
		}
		var got []string
		for _, n := range eventsOf[llm.Notice](play(t.Context(), s, nil, say("hi"))) {
			got = append(got, n.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("prompt %d: notices %q, want %q", n, got, want)
		}
	}
}

// That a limit is about to be reached, and that it is, is told once for each day, and for each
// prompt where it is about one.
func TestNoticesOfLimits(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)
	lib, _ := newTestStore(t)
	set, _ := workspace(t)
	var script []llmtest.Turn
	for range 4 {
		script = append(script, asksDear(), spends())
	}
	s := New(Options{Model: endpoint("a/a", llmtest.New(script...)), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: lib.Create(Info{}), Now: func() time.Time { return now },
		Limits: []Limit{{Period: settings.PerTurn, Cost: 1.2}, {Period: settings.PerDay, Cost: 3.7}}})
	var told []int
	for _, day := range []int{0, 0, 1, 0} {
		now = now.AddDate(0, 0, day)
		told = append(told, len(eventsOf[llm.Notice](play(t.Context(), s, allow, say("hi")))))
	}
	if fmt.Sprint(told) != "[2 4 2 4]" {
		t.Errorf("told %v times", told)
	}
}

// A request whose input alone would exceed a limit is not sent; one that may stay below it is.
func TestInputAboveALimit(t *testing.T) {
	dollarEach := func(u llm.Usage) (float64, bool) { return float64(u.Input-u.CacheRead) + float64(u.CacheRead)/10, true }
	picture := llm.Part{Kind: llm.Media, MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}
	for name, tt := range map[string]struct {
		limit  Limit
		cost   func(llm.Usage) (float64, bool)
		prompt []llm.Part
		sent   bool
	}{
		"above":                {Limit{Period: settings.PerSession, Cost: 500}, dollarEach, []llm.Part{long(1000)}, false},
		"above that of a turn": {Limit{Period: settings.PerTurn, Cost: 500}, dollarEach, []llm.Part{long(1000)}, false},
		"above that of a day":  {Limit{Period: settings.PerDay, Cost: 500}, dollarEach, []llm.Part{long(1000)}, false},
		"of another provider":  {Limit{Period: settings.PerDay, Provider: "b", Cost: 500}, dollarEach, []llm.Part{long(1000)}, true},
		"below":                {Limit{Period: settings.PerSession, Cost: 1100}, dollarEach, []llm.Part{long(1000)}, true},
		"about":                {Limit{Period: settings.PerSession, Cost: 900}, dollarEach, []llm.Part{long(1000)}, true},
		"an image":             {Limit{Period: settings.PerSession, Cost: 500}, dollarEach, []llm.Part{say("what?"), picture}, true},
		"tokens alone":         {Limit{Period: settings.PerSession, Tokens: 500}, dollarEach, []llm.Part{long(1000)}, true},
		"no price":             {Limit{Period: settings.PerSession, Cost: 500}, nil, []llm.Part{long(1000)}, true},
		"unknown price":        {Limit{Period: settings.PerSession, Cost: 500}, func(llm.Usage) (float64, bool) { return 9999, false }, []llm.Part{long(1000)}, true},
		"a price for output":   {Limit{Period: settings.PerSession, Cost: 500}, func(u llm.Usage) (float64, bool) { return float64(u.Output), true }, []llm.Part{long(1000)}, true},
	} {
		lib, _ := newTestStore(t)
		fake := llmtest.New(spends())
		model := endpoint("a/a", fake)
		model.Cost = tt.cost
		s := New(Options{Model: model, Limits: []Limit{tt.limit}, Log: lib.Create(Info{})})
		err := doneOf(t, play(t.Context(), s, nil, tt.prompt...)).Err
		if sent := len(fake.Requests()) > 0; sent != tt.sent || sent != (err == nil) || !sent && !errors.Is(err, ErrBudget) {
			t.Errorf("%s: sent %v, %v", name, sent, err)
		}
		if err != nil && !strings.Contains(err.Error(), "limit of $500.00: $0.00 used, and its input costs at least $7") {
			t.Errorf("%s: %v", name, err)
		}
		s.Close()
	}
}

// The same goes for a request after tool results, which stay, and one that an MCP server wants. If the user is
// asked, a raise leaves room for it.
func TestLaterInputAboveALimit(t *testing.T) {
	priced := func(turns ...llmtest.Turn) (llm.Endpoint, *llmtest.Fake) {
		fake := llmtest.New(turns...)
		model := endpoint("a/a", fake)
		model.Cost = func(u llm.Usage) (float64, bool) { return float64(u.Input) / 100, true }
		return model, fake
	}
	set, dir := workspace(t)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(strings.Repeat("alpha\n", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	limit := Limit{Period: settings.PerSession, Cost: 24}
	model, fake := priced(asksDear(), spends())
	s := New(Options{Model: model, Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Limits: []Limit{limit}})
	events := play(t.Context(), s, allow, say("hi"))
	if err := doneOf(t, events).Err; !errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), "$1.00 used") || len(eventsOf[Result](events)) != 1 || len(fake.Requests()) != 1 {
		t.Errorf("%v after %d results and %d requests", err, len(eventsOf[Result](events)), len(fake.Requests()))
	}

	model, fake = priced(asksDear(), spends())
	s = New(Options{Model: model, Tools: set, Limits: []Limit{limit}, Attended: true, Policy: tools.NewPolicy(act.ModeYolo)})
	events, asked := replies(t, s, []Action{RaiseLimit}, say("hi"))
	if err := doneOf(t, events).Err; err != nil || len(asked) != 1 || len(fake.Requests()) != 2 {
		t.Fatalf("%v, asked %d times for %d requests", err, len(asked), len(fake.Requests()))
	}
	if about := asked[0].About.(Overspend); about.Next <= 0 || s.Spending.Limits()[0].Cost != about.Used.Cost+about.Next+1 {
		t.Errorf("asked about %+v, raised to %v", about, s.Spending.Limits())
	}

	lib, _ := newTestStore(t)
	model, fake = priced(spends())
	s = New(Options{Model: model, Limits: []Limit{limit}, Log: lib.Create(Info{})})
	defer s.Close()
	if _, _, err := s.Beside.Sample(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText(long(4000).Text)}}); !errors.Is(err, ErrBudget) || len(fake.Requests()) > 0 {
		t.Errorf("a sample: %v after %d requests", err, len(fake.Requests()))
	}
}
