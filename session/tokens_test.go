package session_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools"
	"parley/tools/act"
)

// perMillion prices each token of a prompt at dollars by a million.
func perMillion(dollars float64) func(llm.Usage) (float64, bool) {
	return func(u llm.Usage) (float64, bool) { return float64(u.Input) * dollars / 1e6, true }
}

// TestFit says what would happen to a conversation with another model: how much of its
// window that takes, what it is not told, and which cache is lost at what price.
func TestFit(t *testing.T) {
	image := llm.Part{Kind: llm.Media, Name: "a.png", MIME: "image/png", Data: []byte("\x89PNG")}
	pdf := llm.Part{Kind: llm.Media, Name: "a.pdf", MIME: "application/pdf", Data: []byte("%PDF")}
	notes := llm.Part{Kind: llm.Media, Name: "a.txt", MIME: "text/plain", Data: []byte("words")}
	own := endpoint("own/m", llmtest.New(llmtest.Script(
		llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "hm"}}, llm.Delta{Block: "a", Part: say("an answer")},
		llm.Usage{Input: 90_000, CacheRead: 80_000, CacheWrite: 4_000, Output: 2_000, Thinking: 500}, llm.Finish{Reason: llm.Stop})))
	own.Context, own.Known, own.Vision, own.Files = 200_000, true, true, []string{"application/pdf"}
	set, _ := workspace(t)
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := New(Options{Model: own, Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Now: func() time.Time { return now }})
	if got := s.Next.EstimateFit(own); !reflect.DeepEqual(got, ModelFit{}) {
		t.Errorf("an empty conversation: %+v", got)
	}
	play(t.Context(), s, nil, image, pdf, notes, image, say("what is this?"))

	bare := endpoint("far/bare", nil)
	bare.Known, bare.Context, bare.Strategy, bare.Cost = true, 61_000, "prompt", perMillion(3)
	unknown := endpoint("far/unknown", nil)
	sees := endpoint("far/sees", nil)
	sees.Known, sees.Vision, sees.Context, sees.Strategy, sees.Files = true, true, 183_000, "none", []string{"application/", "application/pdf"}
	sees.Cost = func(llm.Usage) (float64, bool) { return 0, false }
	moved := own
	moved.Name, moved.Cost = "gateway/m", perMillion(1) // the same wire and model somewhere else
	tests := []struct {
		model llm.Endpoint
		want  ModelFit
	}{
		{own, ModelFit{Tokens: 92_000, Window: 200_000, Strategy: "native"}},
		{bare, ModelFit{
			Tokens: 91_500, Window: 61_000, Images: 2, Files: map[string]int{"application/pdf": 1}, Thinking: 1, Strategy: "prompt",
			CacheLost: 84_000,
		}},
		{unknown, ModelFit{Tokens: 91_500, Files: map[string]int{"application/pdf": 1}, Thinking: 1, Strategy: "native", CacheLost: 84_000}},
		{sees, ModelFit{Tokens: 91_500, Window: 183_000, Thinking: 1, Strategy: "none", CacheLost: 84_000}},
		{moved, ModelFit{Tokens: 92_000, Window: 200_000, Strategy: "native", CacheLost: 84_000}},
	}
	for _, test := range tests {
		got := s.Next.EstimateFit(test.model)
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", test.model.Name, got, test.want)
		}
	}
	s.Next.SetHistoryMode(HistoryDynamic)
	if got := s.Next.EstimateFit(bare); !got.Omitted || got.Share() > 1 {
		t.Errorf("with the oldest turns left out: %+v", got)
	}
	s.Next.SetHistoryMode(HistoryStateless)
	if got := s.Next.EstimateFit(bare); got.Tokens > 10_000 || got.Images > 0 {
		t.Errorf("without what was said: %+v", got)
	}
}

// TestFitKnowsWhenCachesExpire holds that a switch loses a cache for as long as the provider
// of the model that answered keeps it, an hour if nobody knows, also once the conversation
// was closed and the model is another.
func TestFitKnowsWhenCachesExpire(t *testing.T) {
	for _, tt := range []struct {
		lifetime, idle time.Duration
		lost           int // tokens
	}{
		{5 * time.Minute, 4 * time.Minute, 84_000},
		{5 * time.Minute, 6 * time.Minute, 0},
		{24 * time.Hour, 2 * time.Hour, 84_000},
		{0, 59 * time.Minute, 84_000},
		{0, 61 * time.Minute, 0},
	} {
		t.Run(fmt.Sprint(tt.lifetime, " after ", tt.idle), func(t *testing.T) {
			lib, _ := newTestStore(t)
			now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
			own := endpoint("own/m", llmtest.New(llmtest.Script(
				llm.Delta{Block: "a", Part: say("an answer")}, llm.Usage{Input: 90_000, CacheRead: 80_000, CacheWrite: 4_000, Output: 2_000}, llm.Finish{Reason: llm.Stop})))
			own.Cache.Lifetime = tt.lifetime
			o := Options{Model: own, Log: lib.Create(Info{}), Now: func() time.Time { return now }}
			s := New(o)
			play(t.Context(), s, nil, say("what is this?"))
			now = now.Add(tt.idle)
			other := endpoint("far/m", nil)
			if got := s.Next.EstimateFit(other).CacheLost; got != tt.lost {
				t.Errorf("%d tokens are lost, want %d", got, tt.lost)
			}
			o.Model = endpoint("third/m", nil)
			s = reopen(t, lib, s, o)
			if got := s.Next.EstimateFit(other).CacheLost; got != tt.lost {
				t.Errorf("once it was closed %d tokens are lost, want %d", got, tt.lost)
			}
		})
	}
}

// TestFitAgrees holds what is counted as a conversation grows, goes back and changes
// branches, against what a switch to the model would change, and against a session that
// counts all of it at once: in 8 conversations, or 40 with PARLEY_LONG=1.
func TestFitAgrees(t *testing.T) {
	seeds := uint64(8)
	if llmtest.Long {
		seeds = 40
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 1))
		lib, _ := newTestStore(t)
		models := []llm.Endpoint{endpoint("a/m", nil), endpoint("b/m", nil), endpoint("c/m", nil)}
		models[1].Known, models[2].Known, models[2].Vision = true, true, true
		o := Options{Log: lib.Create(Info{Dir: "/work"}), Model: models[0]}
		s := New(o)
		for range 12 {
			model := models[rng.IntN(len(models))]
			model.Model = llmtest.New(randomAnswer(rng))
			s.SetModel(model)
			switch nodes := s.Nodes(); {
			case rng.IntN(4) == 0 && len(nodes) > 0:
				if err := s.Branch.Switch(nodes[rng.IntN(len(nodes))].Seq); err != nil {
					t.Fatal(err)
				}
			case rng.IntN(4) == 0 && len(nodes) > 0:
				_ = s.Branch.Edit(nodes[rng.IntN(len(nodes))].Seq)
			case rng.IntN(6) == 0 && len(nodes) > 0:
				for range s.Compact(t.Context()) {
				}
			default:
				parts := []llm.Part{say(strings.Repeat("words ", rng.IntN(50)) + "?")}
				for range rng.IntN(3) {
					parts = append(parts, llm.Part{Kind: llm.Media, Name: "a.png", MIME: "image/png", Data: []byte("\x89PNG")})
				}
				play(t.Context(), s, allow, parts...)
			}
			was := s.Model()
			for _, model := range models {
				fit, changes := s.Next.EstimateFit(model), map[string]int{}
				for _, c := range s.SetModel(model).Changes {
					changes[c.What] = c.Count
				}
				s.SetModel(was)
				images, thinking := changes["images not sent: this model takes none"], changes["earlier models' thinking not sent"]
				if fit.Images != images || fit.Thinking != thinking {
					t.Fatalf("seed %d, %s: counted %d images and %d of thinking, a switch changes %v", seed, model.Name, fit.Images, fit.Thinking, changes)
				}
			}
		}
		o.Model = s.Model()
		LeaveEdit(s) // it ends with the session
		grown := []ModelFit{s.Next.EstimateFit(models[0]), s.Next.EstimateFit(models[1]), s.Next.EstimateFit(models[2])}
		s = reopen(t, lib, s, o)
		if at := s.Next.ContextTokens(); at > 0 && grown[0].Tokens == 0 {
			t.Errorf("seed %d: %d tokens, and none in %+v", seed, at, grown[0])
		}
		for i, model := range models {
			if got := s.Next.EstimateFit(model); !reflect.DeepEqual(got, grown[i]) {
				t.Errorf("seed %d, %s:\ncounted as it grew %+v\nall at once         %+v", seed, model.Name, grown[i], got)
			}
		}
	}
}

// randomAnswer returns an answer with or without thinking, usage, and an end.
func randomAnswer(rng *rand.Rand) llmtest.Turn {
	var events []llm.Event
	if rng.IntN(2) == 0 {
		events = append(events, llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "hm", State: []byte(`"s"`)}})
	}
	events = append(events, llm.Delta{Block: "a", Part: say("an answer")})
	if rng.IntN(2) == 0 {
		events = append(events, llm.Usage{Input: 100 + rng.IntN(1000), CacheRead: rng.IntN(2) * 90, Output: 20, Thinking: rng.IntN(10)})
	}
	if rng.IntN(4) > 0 {
		events = append(events, llm.Finish{Reason: llm.Stop})
	}
	return llmtest.Script(events...)
}

// longLog returns a conversation of n messages; usage says whether a provider counted any
// of them.
func longLog(t testing.TB, n int, usage bool) *Log {
	t.Helper()
	lib := MemoryStore()
	t.Cleanup(func() { lib.Close() })
	log := lib.Create(Info{Dir: "/work"})
	for i := range n {
		node := Node{Seq: i + 1, Parent: i, Message: llm.UserText(strings.Repeat("some words of a message ", 40))}
		if i%2 == 1 {
			node.Role, node.Origin, node.Model = llm.RoleAssistant, "own", "own/m"
			if usage {
				node.Usage = &llm.Usage{Input: 100 * i, CacheRead: 90 * i, Output: 100}
			}
		}
		if err := log.Put(node); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

// A list of 300 models beside a conversation of 10,000 messages is not to be waited for: at
// most 30 ms. Opened is what the first look costs, at which all is counted.
func BenchmarkFit(b *testing.B) {
	var models []llm.Endpoint
	for i := range 300 {
		m := endpoint(fmt.Sprintf("far/m%d", i), nil)
		m.Known, m.Context, m.Cost = true, 100_000+i, perMillion(3)
		models = append(models, m)
	}
	for _, usage := range []bool{true, false} {
		log := longLog(b, 10_000, usage)
		o := Options{Model: endpoint("own/m", nil), Log: log, EstimateTokens: catalog.Estimate}
		s := New(o)
		b.Run(fmt.Sprintf("usage=%v", usage), func(b *testing.B) {
			for range b.N {
				for _, m := range models {
					s.Next.EstimateFit(m)
				}
			}
		})
		b.Run(fmt.Sprintf("usage=%v,opened", usage), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				s := New(o)
				b.StartTimer()
				for _, m := range models {
					s.Next.EstimateFit(m)
				}
			}
		})
	}
}

// A row of the picker costs the same however long the conversation is.
func TestFitKeepsCounts(t *testing.T) {
	estimated := 0
	fake := llmtest.New(llmtest.Say("one"), llmtest.Say("two"))
	s := New(Options{Model: endpoint("own/m", fake), EstimateTokens: func(text string) int { estimated++; return len(text) / 4 }})
	play(t.Context(), s, nil, say("first"))
	first := s.Next.EstimateFit(s.Model())
	before := estimated
	if again := s.Next.EstimateFit(endpoint("far/m", nil)); again.Tokens != first.Tokens || estimated != before {
		t.Errorf("looking again estimated %d texts", estimated-before)
	}
	play(t.Context(), s, nil, say("second"))
	before = estimated
	s.Next.EstimateFit(s.Model())
	if news := estimated - before; news > 4 { // a text and an input for each of two messages
		t.Errorf("two more messages took %d estimates", news)
	}
}

// The tokens of an attempt whose answer was discarded are paid for, and no part of the next
// request.
func TestDiscardedAttempts(t *testing.T) {
	s := New(Options{Model: endpoint("a/a", llmtest.New(llmtest.Script(
		llm.Delta{Block: "1", Part: say("yes")}, llm.Usage{Input: 210, Output: 30, CacheRead: 200, Discarded: 120}, llm.Finish{Reason: llm.Stop},
	)))})
	play(t.Context(), s, nil, say("hi"))
	total, _ := s.Spending.Usage()
	if got := s.Next.ContextTokens(); got != 120 || total.Input != 210 {
		t.Errorf("the next request takes %d tokens, and %d were paid for", got, total.Input)
	}
}
