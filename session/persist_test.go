package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/session/store"
	"parley/session/storetest/copies"
	"parley/tools"
	"parley/tools/act"
)

// newTestStore returns a store in a directory of its own.
func newTestStore(t *testing.T) (*Store, string) {
	t.Helper()
	path := filepath.Join(llmtest.Folder(t), "parley", "parley.db")
	return copies.Open(t, path), path
}

// reopen closes a session and goes on with what was kept of it.
func reopen(t *testing.T, lib *Store, s *Session, o Options) *Session {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := lib.Resume(s.ID())
	if err != nil {
		t.Fatal(err)
	}
	o.Log = log
	return New(o)
}

func TestResume(t *testing.T) {
	set, _ := workspace(t)
	lib, _ := newTestStore(t)
	state := []byte(`{"signature":"b\u00e9",  "n":1.0}`)
	fake := llmtest.New(
		llmtest.Script(
			llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "hm", State: state}},
			llm.Delta{Block: "c", Part: llm.Part{Kind: llm.Call, ID: "1", Name: "read", Input: `{"path":"a.txt"}`}},
			llm.Usage{Input: 10, Output: 5, Cost: 0.25, Priced: true}, llm.Finish{Reason: llm.Calls}),
		llmtest.Say("done"), llmtest.Say("more"))
	o := Options{Model: endpoint("a/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Effort: llm.EffortHigh, Log: lib.Create(Info{Dir: "/work"})}
	s := New(o)
	play(t.Context(), s, nil, llm.Part{Kind: llm.Media, Name: "p.png", MIME: "image/png", Data: []byte{1, 2, 3}}, say("read a.txt, please"))
	before, total := s.History(), func() llm.Usage { u, _ := s.Spending.Usage(); return u }
	used := total()

	s = reopen(t, lib, s, o)
	if got := s.History(); !reflect.DeepEqual(got, before) {
		t.Errorf("reopened with\n%+v\nwant\n%+v", got, before)
	}
	if got := total(); got != used {
		t.Errorf("used %+v, want %+v", got, used)
	}
	play(t.Context(), s, nil, say("go on"))
	requests := fake.Requests()
	last := requests[len(requests)-1].Messages
	if got := last[1].Parts[0].State; string(got) != string(state) {
		t.Errorf("the model gets back %s, want %s", got, state)
	}
	if len(last) != 5 {
		t.Errorf("the next request holds %d messages, want 5", len(last))
	}
	rows, err := lib.List(Query{})
	if err != nil || len(rows) != 1 {
		t.Fatalf("listed %+v, %v", rows, err)
	}
	if r := rows[0]; r.Title != "read a.txt, please" || r.Model != "a/a" || r.Effort != llm.EffortHigh || r.Usage.Cost != 0.25 {
		t.Errorf("listed as %+v", r)
	}
}

func TestBranchesAreKept(t *testing.T) {
	lib, _ := newTestStore(t)
	fake := llmtest.New(llmtest.Say("1"), llmtest.Say("2"), llmtest.Say("3"))
	o := Options{Model: endpoint("a/a", fake), Log: lib.Create(Info{})}
	s := New(o)
	play(t.Context(), s, nil, say("one"))
	if err := s.Branch.Edit(1); err != nil {
		t.Fatal(err)
	}
	play(t.Context(), s, nil, say("other"))
	tree := branches(s)
	s = reopen(t, lib, s, o)
	if got := branches(s); !slices.Equal(got, tree) {
		t.Errorf("reopened with %q, want %q", got, tree)
	}
	if err := s.Branch.Switch(1); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, lib, s, o)
	if got := texts(s); !slices.Equal(got, []string{"one", "1"}) {
		t.Errorf("the branch is %q: switching is kept too", got)
	}
}

// An edit that sends nothing changes nothing, also if parley ends before.
func TestUnsentEditIsUndone(t *testing.T) {
	for _, seq := range []int{1, 3} {
		lib, _ := newTestStore(t)
		fake := llmtest.New(llmtest.Say("1"), llmtest.Say("2"))
		o := Options{Model: endpoint("a/a", fake), Log: lib.Create(Info{})}
		s := New(o)
		play(t.Context(), s, nil, say("one"))
		play(t.Context(), s, nil, say("two"))
		if err := s.Branch.Edit(seq); err != nil {
			t.Fatal(err)
		}
		s = reopen(t, lib, s, o)
		if got := texts(s); !slices.Equal(got, []string{"one", "1", "two", "2"}) {
			t.Errorf("message %d: the conversation is %q", seq, got)
		}
	}
}

// TestInterrupted reads the store as the next start would after a kill at that
// moment.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	set, _ := workspace(t)
	begun := func(e Event) bool { _, ok := e.(Progress); return ok }
	tests := []struct {
		name string
		turn llmtest.Turn
		when func(Event) bool // the moment
		wait time.Duration    // after it
		want []string         // what is there after a restart
	}{
		{"before anything came: the prompt is there", llmtest.Hang(), func(e Event) bool { _, ok := e.(Step); return ok }, 0, []string{"user: hi"}},
		{"in mid-answer: what came is there a second later", llmtest.Hang("half an ", "answer"), func(e Event) bool {
			d, ok := e.(llm.Delta)
			return ok && d.Text == "answer"
		}, 1100 * time.Millisecond, []string{"user: hi", "assistant: half an answer (cut)"}},
		{"before a call ran: the call has an answer", llmtest.Call(call("1", "shell", `{"command":"true"}`)), func(e Event) bool { _, ok := e.(ApprovalRequest); return ok }, 0,
			[]string{"user: hi", "assistant: [shell]", "tool: Interrupted: the program ended before this was finished. It changed nothing."}},
		{"while the only call runs: it may have done anything", llmtest.Call(call("1", "shell", `{"command":"echo begun; sleep 60"}`)), begun, 0,
			[]string{"user: hi", "assistant: [shell]", "tool: Interrupted: the program ended while this ran. What it did until then is not known."}},
		{"while the first call of two runs: the second did nothing",
			llmtest.Call(call("1", "shell", `{"command":"echo begun; sleep 60"}`), call("2", "shell", `{"command":"true"}`)), begun, 0,
			[]string{"user: hi", "assistant: [shell][shell]", "tool: Interrupted: the program ended while this ran. What it did until then is not known." +
				"|Interrupted: the program ended before this was finished. It changed nothing."}},
		{"between two calls: the first one's result is there",
			llmtest.Call(call("1", "list", `{}`), call("2", "shell", `{"command":"true"}`)), func(e Event) bool { a, ok := e.(ApprovalRequest); return ok && a.Call.ID == "2" }, 0,
			[]string{"user: hi", "assistant: [list][shell]", "tool: a.txt|Interrupted: the program ended before this was finished. It changed nothing."}},
		{"between the second call and the third: each has one result",
			llmtest.Call(call("1", "list", `{}`), call("2", "list", `{}`), call("3", "shell", `{"command":"true"}`)), func(e Event) bool { a, ok := e.(ApprovalRequest); return ok && a.Call.ID == "3" }, 0,
			[]string{"user: hi", "assistant: [list][list][shell]", "tool: a.txt|a.txt|Interrupted: the program ended before this was finished. It changed nothing."}},
	}
	for _, tt := range tests {
		run := func(t *testing.T) {
			lib, path := newTestStore(t)
			log := lib.Create(Info{})
			s := New(Options{Model: endpoint("a/a", llmtest.New(tt.turn)), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: log})
			if strings.HasPrefix(tt.name, "while") {
				s.Policy().SetMode(act.ModeYolo)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for e := range s.Turn(ctx, say("hi")) {
				if !tt.when(e) {
					continue
				}
				time.Sleep(tt.wait)
				again := copied(t, path)
				id := s.ID()
				kept, _, err := again.ForkInto(again, id, 0) // the process that has the lease is alive
				if err != nil {
					t.Fatal(err)
				}
				fake := llmtest.New(llmtest.Say("ok"))
				next := New(Options{Model: endpoint("a/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: kept})
				if got := said(next.History()); !slices.Equal(got, tt.want) {
					t.Errorf("there is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
				}
				for _, n := range next.Path() {
					for _, p := range n.Parts {
						began, r := strings.Contains(p.Text, "ended while this ran"), n.Results[p.ID]
						if strings.HasPrefix(p.Text, "Interrupted: ") && (r.Started != began || r.Stopped == began) {
							t.Errorf("%q has %+v", p.Text, r)
						}
					}
				}
				play(t.Context(), next, nil, say("go on"))
				if err := valid(fake.Requests()[0].Messages); err != nil {
					t.Errorf("the next request %v", err)
				}
				cancel()
			}
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.wait > 0 {
				synctest.Test(t, run)
				return
			}
			run(t)
		})
	}
}

// A conversation that lost messages is one that can be gone on with: they are on
// no branch, and what is new is in nobody's place.
func TestGaps(t *testing.T) {
	lib, _ := newTestStore(t)
	log := lib.Create(Info{})
	for _, n := range []Node{
		{Seq: 2, Message: llm.UserText("two")},
		{Seq: 5, Parent: 2, Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{say("five")}}},
	} {
		if err := log.Put(n); err != nil {
			t.Fatal(err)
		}
	}
	fake := llmtest.New(llmtest.Say("seven"))
	s := New(Options{Model: endpoint("a/a", fake), Log: log})
	play(t.Context(), s, nil, say("six"))
	s = reopen(t, lib, s, Options{Model: endpoint("a/a", fake)})
	if got := texts(s); !slices.Equal(got, []string{"two", "five", "six", "seven"}) {
		t.Errorf("the branch is %q", got)
	}
	if got := s.Branches(); len(got) != 1 || got[0].Tip != 7 {
		t.Errorf("branches %+v", got)
	}
	if n, err := s.At(4); err == nil {
		t.Errorf("there is a message %+v", n)
	}
	if got := s.Nodes(); len(got) != 4 {
		t.Errorf("%d messages: %+v", len(got), got)
	}
}

// copied opens a copy of the files as they lie on disk now.
func copied(t *testing.T, path string) *Store {
	t.Helper()
	dir := t.TempDir()
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "parley.db"+suffix), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lib, err := store.Open(filepath.Join(dir, "parley.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lib.Close() })
	return lib
}

func said(history []llm.Message) []string {
	var out []string
	for _, m := range history {
		line := string(m.Role) + ": " + m.Text()
		for i, p := range m.Parts {
			switch p.Kind {
			case llm.Call:
				line += "[" + p.Name + "]"
			case llm.Result:
				text, _, _ := strings.Cut(p.Text, "\n")
				if i > 0 {
					line += "|"
				}
				line += strings.Fields(text + " ?")[0]
				if p.Failed {
					line = strings.TrimSuffix(line, strings.Fields(text + " ?")[0]) + text
				}
			}
		}
		if m.Interrupted {
			line += " (cut)"
		}
		out = append(out, line)
	}
	return out
}

func TestOneWriter(t *testing.T) {
	lib, path := newTestStore(t)
	o := Options{Model: endpoint("a/a", llmtest.New(llmtest.Say("1"))), Log: lib.Create(Info{})}
	s := New(o)
	play(t.Context(), s, nil, say("one"))
	other, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var held *LockedError
	if _, err := other.Resume(s.ID()); !errors.As(err, &held) {
		t.Errorf("a second opener got %v, want that it is held", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := other.Resume(s.ID())
	if err != nil {
		t.Fatalf("after it was closed: %v", err)
	}
	log.Close()
}

func TestNothingKept(t *testing.T) {
	lib, _ := newTestStore(t)
	s := New(Options{Model: endpoint("a/a", llmtest.New()), Log: lib.Create(Info{})})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if rows, err := lib.List(Query{}); err != nil || len(rows) != 0 {
		t.Errorf("a conversation in which nothing was said is listed: %+v, %v", rows, err)
	}
}

func TestName(t *testing.T) {
	lib, _ := newTestStore(t)
	small := llmtest.New(llmtest.Say("\"A short", " title.\""))
	o := Options{
		Model: endpoint("a/a", llmtest.New(llmtest.Say("1"))), Log: lib.Create(Info{}), Config: Config{TitleModel: "b/small"},
		OpenModel: func(string) (llm.Endpoint, error) { return endpoint("b/small", small), nil },
	}
	s := New(o)
	play(t.Context(), s, nil, say("what is one and one"))
	for range 2 { // asked once
		if err := s.Beside.WriteTitle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := lib.List(Query{})
	if err != nil || len(rows) != 1 || rows[0].Title != "A short title" {
		t.Errorf("listed %+v, %v", rows, err)
	}
	if n := len(small.Requests()); n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
}

// TestLedger: each request that a conversation makes is in the ledger once, under what it was
// for, also if nothing of it was kept.
func TestLedger(t *testing.T) {
	lib, _ := newTestStore(t)
	small := llmtest.New(llmtest.Say("A short title"))
	long := strings.Repeat("one and one is two, they say; ", 40)
	fake := llmtest.New(llmtest.Say(long), llmtest.Say("2"), llmtest.Say("sum"), llmtest.Say("more"), llmtest.Say(" "))
	other := llmtest.New(llmtest.Say("3"))
	s := New(Options{
		Model: endpoint("a/a", fake), Log: lib.Create(Info{Dir: "/work"}), Config: Config{TitleModel: "c/small"},
		OpenModel: func(string) (llm.Endpoint, error) { return endpoint("c/small", small), nil },
	})
	play(t.Context(), s, nil, say("what is one and one"))
	if err := s.Beside.WriteTitle(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range s.Compare(t.Context(), []llm.Endpoint{s.Model(), endpoint("b/b", other)}, nil, say("which?")) {
	}
	for range s.Compact(t.Context()) {
	}
	play(t.Context(), s, nil, say("go on"))
	for range s.Compact(t.Context()) { // it says nothing, which is paid for as well
	}
	sums, err := lib.Ledger().Sums(time.Time{}, time.Time{}, "purpose", "model", "folder")
	var got []string
	for _, sum := range sums {
		got = append(got, fmt.Sprint(sum.Purpose, " ", sum.Model, " ", sum.Folder, " ", sum.Requests))
	}
	want := []string{"answer a/a /work 2", "compare a/a /work 1", "compare b/b /work 1", "summary a/a /work 2", "title c/small /work 1"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	total, _ := s.Spending.Usage()
	if sum, err := lib.Ledger().Spent(time.Time{}, time.Time{}, ""); err != nil || sum.Usage.Output != total.Output || sum.Usage.Input != total.Input {
		t.Errorf("the ledger has %+v, %v, the session %+v", sum.Usage, err, total)
	}
}

// TestConfiguredHistory: what the configuration says holds for a new conversation; one that was
// stored goes on as it was, whatever the configuration says by then.
func TestConfiguredHistory(t *testing.T) {
	lib, _ := newTestStore(t)
	fake := llmtest.New(llmtest.Say("1"), llmtest.Say("2"))
	o := Options{Model: endpoint("a/a", fake), Log: lib.Create(Info{}), Config: Config{History: "stateless"}}
	s := New(o)
	if got := s.Next.HistoryMode(); got != HistoryStateless {
		t.Errorf("a new conversation has history %q, want that of the configuration", got)
	}
	play(t.Context(), s, nil, say("one"))
	s = reopen(t, lib, s, Options{Model: o.Model, Config: DefaultConfig()})
	if got := s.Next.HistoryMode(); got != HistoryStateless {
		t.Errorf("opened again it has history %q", got)
	}
	s.Next.SetHistoryMode(HistoryFull)
	s = reopen(t, lib, s, o)
	defer s.Close()
	if got := s.Next.HistoryMode(); got != HistoryFull {
		t.Errorf("the user chose the whole history, and opened again it is %q", got)
	}
}

// TestCanceledRetryIsStored: an interrupted answer that is asked for again is not part of the
// conversation any more, even if nothing came of that before parley ended.
func TestCanceledRetryIsStored(t *testing.T) {
	lib, _ := newTestStore(t)
	o := Options{Model: endpoint("a/a", llmtest.New(llmtest.Cut("half"), llmtest.Hang())), Log: lib.Create(Info{})}
	s := New(o)
	play(t.Context(), s, nil, say("one"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for e := range s.Turn(ctx) {
		if _, ok := e.(Step); ok {
			cancel()
		}
	}
	want := texts(s)
	s = reopen(t, lib, s, o)
	defer s.Close()
	if got := texts(s); !slices.Equal(got, want) || !slices.Equal(got, []string{"one"}) {
		t.Errorf("opened again the conversation is %q, it was %q", got, want)
	}
}
