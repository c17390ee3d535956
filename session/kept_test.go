package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"
	"weak"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/session/storetest"
	"parley/tools"
	"parley/tools/act"
)

// anew returns what a request to model holds of a branch, made from its messages alone.
func anew(path []Node, model llm.Endpoint, parts ...llm.Part) []llm.Message {
	var said []llm.Message
	for _, n := range path {
		if n.Summary {
			said = nil
		}
		if len(n.Parts) > 0 {
			said = append(said, n.Message)
		}
	}
	if len(parts) > 0 {
		said = append(said, llm.Message{Role: llm.RoleUser, Parts: parts})
	}
	said, _ = model.Portable(said)
	return said
}

// oddTurn answers with what is handed over in other places: media, calls of the provider's own
// tools, sources, nothing.
func oddTurn(r *rand.Rand) llmtest.Turn {
	image := llm.Part{Kind: llm.Media, Name: "fox.png", MIME: "image/png", Data: []byte{byte(r.IntN(3))}}
	signed := image
	signed.State = json.RawMessage(`"s"`)
	parts := []llm.Part{
		{Kind: llm.Text, Text: fmt.Sprint("text ", r.IntN(9))}, {Kind: llm.Thinking, Text: "hm", State: json.RawMessage(`"t"`)}, image, signed,
		{Kind: llm.Source, Name: "a page", URL: "https://example.org/"}, {Kind: llm.Text, Text: "broken \xff"}, {Kind: llm.Opaque, State: json.RawMessage(`{}`)},
	}
	var events []llm.Event
	for i := range r.IntN(4) {
		events = append(events, llm.Delta{Block: fmt.Sprint(i), Part: parts[r.IntN(len(parts))]})
	}
	return llmtest.Script(append(events, llm.Finish{Reason: llm.Stop})...)
}

// A watched model checks each request that it is sent.
type watched struct {
	llm.Model
	check func(llm.Request)
}

func (w watched) Stream(ctx context.Context, req llm.Request) llm.Stream {
	w.check(req)
	return w.Model.Stream(ctx, req)
}

// A cached history changes no request: each is, byte for byte, the one that is made
// anew of the branch, whatever happened before: in 24 conversations, or 200 with PARLEY_LONG=1.
func TestKeptHistory(t *testing.T) {
	set, _ := workspace(t)
	compared, longest := 0, 0
	seeds := uint64(24)
	if llmtest.Long {
		seeds = 200
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 3))
		var s *Session
		same := func(what string, got, want []llm.Message) {
			t.Helper()
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			if compared++; string(a) != string(b) || !reflect.DeepEqual(append([]llm.Message{}, got...), append([]llm.Message{}, want...)) {
				t.Fatalf("%d: %s: sent\n%s\nwant\n%s", seed, what, a, b)
			}
			longest = max(longest, len(got))
		}
		model := func(i int) llm.Endpoint {
			var turns []llmtest.Turn
			for range 30 {
				if turns = append(turns, randomTurn(r)); r.IntN(2) == 0 {
					turns[len(turns)-1] = oddTurn(r)
				}
			}
			e := llm.Endpoint{Name: fmt.Sprint("m/", i), Origin: fmt.Sprint("origin ", i%3), Strategy: "native", Known: i == 3, Context: 1 << 20}
			e.Model = watched{llmtest.New(turns...), func(req llm.Request) {
				same("a turn", req.Messages, anew(s.Path(), e))
			}}
			return e
		}
		first := model(0)
		first.Model = llmtest.New(randomTurn(r), oddTurn(r), randomTurn(r), oddTurn(r), randomTurn(r), oddTurn(r))
		s = New(Options{Model: first, Tools: set, Policy: tools.NewPolicy(act.ModeAsk)})
		answer := func(events func(func(Event) bool), stopAt int, stop func()) {
			n := 0
			for e := range events {
				if n++; n == stopAt {
					stop()
				}
				if ask, ok := e.(ApprovalRequest); ok {
					ask.Reply(act.Approval{Verdict: []act.Verdict{act.Allow, act.Deny}[r.IntN(2)]})
				}
			}
		}
		run := func(parts ...llm.Part) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			answer(s.Turn(ctx, parts...), r.IntN(60), cancel)
		}
		some := func() int {
			if all := s.Nodes(); len(all) > 0 {
				return all[r.IntN(len(all))].Seq
			}
			return 0
		}
		for range 40 {
			switch r.IntN(12) {
			case 0, 1, 2, 3:
				run(say("hi"))
			case 4:
				run(say("look"), llm.Part{Kind: llm.Media, MIME: "image/png", Data: []byte{1}, Made: "generated"})
			case 5:
				s.SetModel(model(r.IntN(4)))
			case 6:
				run() // again
			case 7:
				_ = s.Branch.Edit(some())
			case 8:
				_ = s.Branch.Switch(some())
			case 9:
				if s.Branch.Regenerate(some()) == nil {
					run()
				}
			case 10:
				_ = s.Branch.Rewrite(some(), "what I say")
			case 11:
				switch r.IntN(4) {
				case 0:
					summarizer := s.Model()
					summarizer.Model = llmtest.New(llmtest.Say("what was said"))
					back := s.Model()
					s.SetModel(summarizer)
					answer(s.Compact(t.Context()), -1, nil)
					s.SetModel(back)
				case 1:
					_ = s.Branch.UndoSummary()
				case 2:
					_ = s.Branch.EditSummary("otherwise")
				case 3:
					s.Next.SetSystem(fmt.Sprint("Be ", r.IntN(9)))
				}
			}
			e, req := s.Next.Request()
			same("the next", req.Messages, anew(s.Path(), e))
			e, req = s.Next.Request(say("and now"))
			same("a prompt", req.Messages, anew(s.Path(), e, say("and now")))
			if len(req.Messages) > 0 { // the request is its receiver's
				req.Messages[0] = llm.UserText("changed")
			}
		}
	}
	if compared < 4000*int(seeds)/60 || longest < 20 {
		t.Errorf("%d requests were compared, the longest of %d messages", compared, longest)
	}
}

// A brief model answers in a word, and looks at nothing.
type brief struct{}

func (brief) Stream(context.Context, llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		_ = yield(llm.Delta{Block: "1", Part: say("word")}, nil) && yield(llm.Usage{Input: 7, Output: 3}, nil) && yield(llm.Finish{Reason: llm.Stop}, nil)
	}
}

// longSession returns a session of n messages.
func longSession(tb testing.TB, n int) *Session {
	tb.Helper()
	model := endpoint("mock/m", brief{})
	model.Origin, model.Context = storetest.Origin, 1<<30
	s := New(Options{Log: storetest.Long(tb, n), Model: model})
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// oneTurn asks, and is answered.
func oneTurn(s *Session) {
	for range s.Turn(context.Background(), say("go on")) {
	}
}

func BenchmarkFurtherTurn(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := longSession(b, n)
			oneTurn(s) // which makes what is kept
			b.ReportAllocs()
			for b.Loop() {
				oneTurn(s)
			}
		})
	}
}

// A further turn makes no more of a long conversation than of a short one: beside the list of
// messages itself nothing grows.
func TestFurtherTurnIsFlat(t *testing.T) {
	const few, many, rounds = 40, 2000, 20
	cost := func(n int) (count, size uint64) {
		s := longSession(t, n)
		for range rounds / 4 {
			oneTurn(s)
		}
		for range rounds { // the least: others allocate as well
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			oneTurn(s)
			runtime.ReadMemStats(&after)
			if c, b := after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc; count == 0 || c < count {
				count, size = c, b
			}
		}
		return count, size
	}
	smallCount, small := cost(few)
	largeCount, large := cost(many)
	perMessage := float64(large-min(small, large)) / (many - few)
	if largeCount > smallCount+smallCount/10+20 || perMessage > 3*float64(reflect.TypeFor[llm.Message]().Size()) {
		t.Errorf("a turn costs %d allocations behind %d messages and %d behind %d; %.0f bytes more for each message", smallCount, few, largeCount, many, perMessage)
	}
}

// A request is garbage once it is answered: a day of turns does not keep the history anew
// with each of them.
func TestAnsweredRequestsAreFreed(t *testing.T) {
	s := longSession(t, 40)
	var sent []weak.Pointer[llm.Message]
	model := s.Model()
	model.Model = watched{brief{}, func(req llm.Request) { sent = append(sent, weak.Make(&req.Messages[0])) }}
	s.SetModel(model)
	for range 20 {
		oneTurn(s)
	}
	runtime.GC()
	held := 0
	for _, request := range sent {
		if request.Value() != nil {
			held++
		}
	}
	if len(sent) != 20 || held > 1 {
		t.Errorf("%d of %d requests are held", held, len(sent))
	}
	runtime.KeepAlive(s)
}
