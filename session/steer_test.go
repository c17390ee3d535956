package session_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools"
	"parley/tools/act"
)

// spoken returns who says what in messages: results of tools as "result".
func spoken(messages []llm.Message) (said []string) {
	for _, m := range messages {
		switch {
		case m.Role == llm.RoleTool:
			said = append(said, "result")
		case len(m.Calls()) > 0:
			said = append(said, "call")
		default:
			said = append(said, string(m.Role)+": "+m.Text())
		}
	}
	return said
}

// A prompt that is sent while tools run goes along with their results; one that is queued, or sent while the
// last answer comes, follows that.
func TestSteer(t *testing.T) {
	set, _ := workspace(t)
	var requests [][]string
	var s *Session
	turn := func(do func(), then llmtest.Turn) llmtest.Turn {
		return func(ctx context.Context, req llm.Request, out *llm.Out) error {
			requests = append(requests, spoken(req.Messages))
			do()
			return then(ctx, req, out)
		}
	}
	list := func(id string) llmtest.Turn { return llmtest.Call(call(id, "list", "{}")) }
	fake := llmtest.New(
		turn(func() {
			s.Queue.Add(say("then commit"))
			s.Queue.Steer(say("tests first"))
			s.Queue.Steer(say("and quietly"))
		}, list("1")),
		turn(func() {}, list("2")),
		turn(func() { s.Queue.Steer(say("thanks")) }, llmtest.Say("done")),
		turn(func() {}, llmtest.Say("at your service")),
		turn(func() {}, llmtest.Say("committed")))
	s = New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeYolo)})
	var steered []string
	for e := range s.Turn(t.Context(), say("mend it")) {
		if p, ok := e.(Prompt); ok && p.Steers {
			steered = append(steered, p.Message.Text())
		}
	}
	if want := []string{"tests first", "and quietly"}; !slices.Equal(steered, want) {
		t.Errorf("%q went along with results, want %q", steered, want)
	}
	all := []string{"user: mend it", "call", "result", "user: tests first\n\nand quietly", "call", "result",
		"assistant: done", "user: thanks", "assistant: at your service", "user: then commit"}
	for i, n := range []int{1, 4, 6, 8, 10} {
		if !slices.Equal(requests[i], all[:n]) {
			t.Errorf("request %d has %q, want %q", i+1, requests[i], all[:n])
		}
	}
}

// A message that steers begins no turn: what a request leaves out of the history is counted
// from the prompt before it.
func TestSteeringBeginsNoTurn(t *testing.T) {
	set, _ := workspace(t)
	var s *Session
	var got []string
	fake := llmtest.New(llmtest.Say("before"),
		func(ctx context.Context, req llm.Request, out *llm.Out) error {
			s.Queue.Steer(say("the other one"))
			return llmtest.Call(call("1", "list", "{}"))(ctx, req, out)
		},
		func(ctx context.Context, req llm.Request, out *llm.Out) error {
			got = spoken(req.Messages)
			return llmtest.Say("done")(ctx, req, out)
		}, llmtest.Say("again"))
	s = New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeYolo)})
	s.Next.SetHistoryMode(HistoryStateless)
	for range s.Turn(t.Context(), say("one")) {
	}
	for range s.Turn(t.Context(), say("two")) {
	}
	if want := []string{"user: two", "call", "result", "user: the other one"}; !slices.Equal(got, want) {
		t.Errorf("the request has %q, want %q", got, want)
	}
	if err := s.Branch.Regenerate(s.Head()); err != nil || s.PathBack(s.Head(), 1)[0].Text() != "two" {
		t.Errorf("the answer is given anew from %q, %v", s.PathBack(s.Head(), 1)[0].Text(), err)
	}
}

// Waiting prompts can be taken back one by one, and those that steer come first.
func TestQueueOrder(t *testing.T) {
	s := New(Options{})
	s.Queue.Add(say("a"))
	s.Queue.Steer(say("b"))
	s.Queue.Add(say("c"))
	s.Queue.Steer(say("d"))
	waiting, steer := s.Queue.All()
	if got := spoken(waiting); steer != 2 || !slices.Equal(got, []string{"user: b", "user: d", "user: a", "user: c"}) {
		t.Errorf("%q wait, %d of them steer", got, steer)
	}
	if _, ok := s.Queue.TakeAt(0, "a"); ok {
		t.Error("a message was taken back that stands elsewhere")
	}
	if m, ok := s.Queue.TakeAt(0, "b"); !ok || m.Text() != "b" {
		t.Errorf("took back %q, %v", m.Text(), ok)
	}
	if _, steer := s.Queue.All(); steer != 1 {
		t.Errorf("%d steer, want 1", steer)
	}
	if all := s.Queue.TakeAll(); len(all) != 3 || s.Queue.Len() != 0 {
		t.Errorf("%d messages were taken back, %d are left", len(all), s.Queue.Len())
	}
}

// A message that is taken back to be edited goes back to its place, whatever was added or sent meanwhile.
func TestRequeue(t *testing.T) {
	for name, tt := range map[string]struct {
		edit      int // of the steering b and d, and a and c
		meanwhile func(s *Session)
		want      string
		steer     int
	}{
		"one that steers":         {0, func(*Session) {}, "B d a c", 2},
		"the last that steers":    {1, func(s *Session) { s.Queue.Steer(say("e")); s.Queue.Add(say("f")) }, "b D e a c f", 3},
		"the first that waits":    {2, func(s *Session) { s.Queue.Steer(say("e")) }, "b d e A c", 3},
		"the last":                {3, func(s *Session) { s.Queue.Add(say("f")) }, "b d a C f", 2},
		"those ahead were sent":   {3, func(s *Session) { s.Queue.Take(); s.Queue.Take() }, "a C", 0},
		"some behind it were":     {0, func(s *Session) { s.Queue.Take() }, "B a c", 1},
		"one ahead was dropped":   {2, func(s *Session) { s.Queue.TakeAt(0, "b") }, "d A c", 1},
		"all were taken back":     {1, func(s *Session) { s.Queue.TakeAll() }, "D", 1},
		"another one was edited":  {0, func(s *Session) { s.Queue.Edit(2, "c") }, "d a C", 1},
		"it was sent, and is new": {3, func(s *Session) { s.Queue.Requeue(say("c")) }, "b d C a c", 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{})
			s.Queue.Steer(say("b"))
			s.Queue.Steer(say("d"))
			s.Queue.Add(say("a"))
			s.Queue.Add(say("c"))
			waiting, _ := s.Queue.All()
			text := waiting[tt.edit].Text()
			if _, ok := s.Queue.Edit(tt.edit, text); !ok {
				t.Fatal("not taken")
			}
			tt.meanwhile(s)
			if name == "another one was edited" {
				text = "c"
			}
			if _, ok := s.Queue.Requeue(say(strings.ToUpper(text))); !ok {
				s.Queue.Steer(say(strings.ToUpper(text)))
			}
			waiting, steer := s.Queue.All()
			got := strings.ReplaceAll(strings.Join(spoken(waiting), " "), "user: ", "")
			if got != tt.want || steer != tt.steer {
				t.Errorf("%s wait, %d of them steer; want %s, %d", got, steer, tt.want, tt.steer)
			}
		})
	}
}

// A conversation has its title once there is an answer: also if the user said more meanwhile, or
// the first turn failed; one that had an answer before is not asked about.
func TestTitleAfterMore(t *testing.T) {
	var s *Session
	meanwhile := func(do func(), then llmtest.Turn) llmtest.Turn {
		return func(ctx context.Context, req llm.Request, out *llm.Out) error {
			do()
			return then(ctx, req, out)
		}
	}
	more := func(text string) func() { return func() { s.Queue.Steer(say(text)) } }
	list := llmtest.Call(call("1", "list", "{}"))
	tests := []struct {
		name    string
		prompts []string // a turn each
		says    []llmtest.Turn
		asked   string // "": never
	}{
		{"steered", []string{"mend it"}, []llmtest.Turn{meanwhile(more("tests first"), list), llmtest.Say("done")}, "mend it\n\ndone\n\n"},
		{"said during the last answer", []string{"mend it"}, []llmtest.Turn{meanwhile(more("thanks"), llmtest.Say("done")), llmtest.Say("welcome")}, "mend it\n\ndone\n\n"},
		{"queued", []string{"mend it"}, []llmtest.Turn{meanwhile(func() { s.Queue.Add(say("go on")) }, llmtest.Say("done")), llmtest.Say("went")}, "mend it\n\ndone\n\n"},
		{"after a turn that failed", []string{"mend it", "now"}, []llmtest.Turn{llmtest.Fail(&llm.Error{Fault: llm.InvalidRequest}), llmtest.Say("done")}, "mend it\n\ndone\n\n"},
		{"no answer", []string{"mend it"}, []llmtest.Turn{llmtest.Fail(&llm.Error{Fault: llm.InvalidRequest})}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			lib, _ := newTestStore(t)
			set, _ := workspace(t)
			small := llmtest.New(llmtest.Say("A title"))
			o := Options{
				Model: endpoint("a/a", llmtest.New(test.says...)), Log: lib.Create(Info{}), Config: Config{TitleModel: "b/small"}, Tools: set, Policy: tools.NewPolicy(act.ModeYolo),
				OpenModel: func(string) (llm.Endpoint, error) { return endpoint("b/small", small), nil },
			}
			s = New(o)
			for _, prompt := range test.prompts {
				play(t.Context(), s, nil, say(prompt))
				for range 2 {
					if err := s.Beside.WriteTitle(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			asked := ""
			for _, req := range small.Requests() {
				asked += req.Messages[0].Text()
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if test.asked != "" {
				log, err := lib.Resume(o.Log.Session().ID)
				if err != nil {
					t.Fatal(err)
				}
				o.Log, o.Model = log, endpoint("a/a", llmtest.New(llmtest.Say("again")))
				s = New(o)
				defer s.Close()
				play(t.Context(), s, nil, say("again"))
				if err := s.Beside.WriteTitle(t.Context()); err != nil || len(small.Requests()) != 1 {
					t.Errorf("gone on with: asked %d times, %v", len(small.Requests()), err)
				}
			}
			if asked != test.asked {
				t.Errorf("asked about %q, want %q", asked, test.asked)
			}
		})
	}
}

// A waiting prompt that is moved to another conversation keeps waiting, and steers if it did.
func TestMoveQueued(t *testing.T) {
	from, to := New(Options{}), New(Options{})
	from.Queue.Add(say("c"))
	from.Queue.Steer(say("a"))
	from.Queue.Steer(say("b"))
	from.Queue.MoveTo(to)
	if m, ok := to.Queue.Take(); !ok || m.Text() != "a" {
		t.Errorf("got %q, %v first", m.Text(), ok)
	}
	waiting, steer := to.Queue.All()
	if got := spoken(waiting); !slices.Equal(got, []string{"user: b", "user: c"}) || steer != 1 || from.Queue.Len() != 0 {
		t.Errorf("got %q, %d of them steer, %d were left", got, steer, from.Queue.Len())
	}
	to.Queue.TakeAll()
	if m, ok := to.Queue.Take(); ok {
		t.Errorf("got %q of nothing", m.Text())
	}
}

// TestMoveQueuedMeanwhile: of messages that are queued while all are moved to another conversation,
// none is lost or doubled.
func TestMoveQueuedMeanwhile(t *testing.T) {
	from, to := New(Options{}), New(Options{})
	const each = 20_000
	var queueing sync.WaitGroup
	for range 2 {
		queueing.Go(func() {
			for range each {
				from.Queue.Add(say("x"))
			}
		})
	}
	done := make(chan struct{})
	go func() { queueing.Wait(); close(done) }()
	for moving := true; moving; {
		select {
		case <-done:
			moving = false
		default:
		}
		from.Queue.MoveTo(to)
	}
	if got := to.Queue.Len() + from.Queue.Len(); got != 2*each {
		t.Errorf("%d messages wait, want %d", got, 2*each)
	}
}

// A title is made of the beginnings of words: nothing that was attached or piped is sent for it.
func TestTitleOfWords(t *testing.T) {
	named := func(name, text string) llm.Part { return llm.Part{Kind: llm.Text, Name: name, Text: text} }
	for name, tt := range map[string]struct {
		prompt []llm.Part
		answer string
		asked  string
	}{
		"words":          {[]llm.Part{say("mend it")}, "done", "mend it\n\ndone\n\n"},
		"an attachment":  {[]llm.Part{named("a.go", "<file>secret</file>"), say("mend it")}, "done", "mend it\n\ndone\n\n"},
		"piped":          {[]llm.Part{say("mend it\n\n<stdin>\nsecret\n</stdin>")}, "done", "mend it\n\ndone\n\n"},
		"a hook's":       {[]llm.Part{say("mend it"), named(HookPartName, "secret")}, "done", "mend it\n\ndone\n\n"},
		"nothing else":   {[]llm.Part{named("a.go", "secret")}, "done", "\n\ndone\n\n"},
		"long":           {[]llm.Part{say(strings.Repeat("é", 600) + "secret")}, "done", strings.Repeat("é", 512) + "\n\ndone\n\n"},
		"a long answer":  {[]llm.Part{say("mend it")}, strings.Repeat("é", 600) + "secret", "mend it\n\n" + strings.Repeat("é", 512) + "\n\n"},
		"half a letter":  {[]llm.Part{say("x" + strings.Repeat("é", 600))}, "done", "x" + strings.Repeat("é", 511) + "\n\ndone\n\n"},
		"two long parts": {[]llm.Part{say(strings.Repeat("a", 1000)), say(strings.Repeat("b", 100))}, "done", strings.Repeat("a", 1000) + "\n\n" + strings.Repeat("b", 22) + "\n\ndone\n\n"},
	} {
		lib, _ := newTestStore(t)
		small := llmtest.New(llmtest.Say("A title"))
		s := New(Options{
			Model: endpoint("a/a", llmtest.New(llmtest.Say(tt.answer))), Log: lib.Create(Info{}), Config: Config{TitleModel: "b/small"},
			OpenModel: func(string) (llm.Endpoint, error) { return endpoint("b/small", small), nil },
		})
		play(t.Context(), s, nil, tt.prompt...)
		if err := s.Beside.WriteTitle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := small.Requests()[0].Messages[0].Text(); got != tt.asked {
			t.Errorf("%s: asked about %q, want %q", name, got, tt.asked)
		}
		if n := len(small.Requests()[0].Messages[0].Parts); n != 1 {
			t.Errorf("%s: %d parts", name, n)
		}
		s.Close()
	}
}
