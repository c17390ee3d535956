package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools"
	"parley/tools/act"
)

// A talker does at random what a user can do with a conversation.
type talker struct {
	t     *testing.T
	r     *rand.Rand
	s     *Session
	fake  *llmtest.Fake
	acted []int // what was done
}

// check holds a request to what every provider insists on.
func (k *talker) check(req llm.Request) {
	k.t.Helper()
	n := len(req.Messages)
	if err := valid(req.Messages); err != nil || n == 0 || req.Messages[0].Role != llm.RoleUser || req.Messages[n-1].Role == llm.RoleAssistant {
		k.t.Fatalf("after %v: %v: %q", k.acted, err, spoken(req.Messages))
	}
}

// model returns one of a few models, whose requests are checked.
func (k *talker) model() llm.Endpoint {
	i := k.r.IntN(4)
	e := llm.Endpoint{Name: fmt.Sprint("m/", i), Origin: fmt.Sprint("origin ", i%2), Strategy: "native", Known: i == 2, Context: []int{0, 400, 5000}[k.r.IntN(3)]}
	e.Model = watched{k.fake, k.check}
	return e
}

// turn sends parts, and cancels, steers, queues, allows and denies meanwhile.
func (k *talker) turn(parts ...llm.Part) {
	ctx, cancel := context.WithCancel(k.t.Context())
	defer cancel()
	stop, n := k.r.IntN(40), 0
	for e := range k.s.Turn(ctx, parts...) {
		if n++; n == stop {
			cancel()
		}
		if k.s.Queue.Len() < 3 && k.r.IntN(15) == 0 {
			k.s.Queue.Steer(say("no, so"))
		}
		if k.s.Queue.Len() < 3 && k.r.IntN(30) == 0 {
			k.s.Queue.Add(say("and then"))
		}
		if ask, ok := e.(ApprovalRequest); ok {
			ask.Reply(act.Approval{Verdict: []act.Verdict{act.Allow, act.Deny}[k.r.IntN(2)]})
		}
	}
	if k.r.IntN(2) == 0 {
		k.s.Queue.TakeAll()
	}
}

func (k *talker) act() {
	s, r, seq := k.s, k.r, 0
	if all := s.Nodes(); len(all) > 0 {
		seq = all[r.IntN(len(all))].Seq
	}
	what := r.IntN(16)
	k.acted = append(k.acted, what)
	switch what { // an error says that it cannot be done now
	case 0:
		s.SetModel(k.model())
	case 1:
		k.turn()
	case 2:
		_ = s.Branch.Edit(seq)
	case 3:
		_ = s.Branch.Switch(seq)
	case 4:
		_ = s.Branch.Regenerate(seq)
	case 5:
		_ = s.Branch.Rewrite(seq, []string{"", " ", "better"}[r.IntN(3)])
	case 6:
		for range s.Compact(k.t.Context()) {
		}
	case 7:
		_ = s.Branch.EditSummary("in short")
	case 8:
		_ = s.Branch.UndoSummary()
	case 9:
		s.Next.SetHistoryMode([]HistoryMode{HistoryFull, HistoryDynamic, HistoryStateless}[r.IntN(3)])
	case 10:
		s.Branch.DropEmptyAnswer()
	case 11:
		k.turn(say("look"), llm.Part{Kind: llm.Media, MIME: "image/png", Data: []byte{1}})
	case 12:
		ctx, cancel := context.WithCancel(k.t.Context())
		defer cancel()
		stop, n := r.IntN(60), 0
		for range s.Compare(ctx, []llm.Endpoint{k.model(), k.model()}, nil, say("which?")) {
			if n++; n == stop {
				cancel()
			}
		}
	default:
		k.turn(say("hi"))
	}
}

// newTalker returns a talker, and the options of its session.
func newTalker(t *testing.T, seed uint64, set *tools.Set) (*talker, Options) {
	r := rand.New(rand.NewPCG(seed, 99))
	var turns []llmtest.Turn
	for range 400 {
		turns = append(turns, []llmtest.Turn{randomTurn(r), randomTurn(r), oddTurn(r), llmtest.Say(strings.Repeat("a long answer ", r.IntN(100)))}[r.IntN(4)])
	}
	k := &talker{t: t, r: r, fake: llmtest.New(turns...)}
	return k, Options{Model: k.model(), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), MaxSteps: 4, Config: Config{CompactAt: []float64{0, 0.5}[r.IntN(2)]}}
}

// Whatever a user did, and in every history mode, requests are valid, and the next one ends with
// the prompt: in 40 conversations, or 8,000 with PARLEY_LONG=1.
func TestRequestsAreValid(t *testing.T) {
	seeds := uint64(40)
	if llmtest.Long {
		seeds = 8000
	}
	set, _ := workspace(t)
	for seed := range seeds {
		k, o := newTalker(t, seed, set)
		k.s = New(o)
		for range 30 {
			k.act()
			_, req := k.s.Next.Request(say("and now"))
			k.check(req)
			if last := req.Messages[len(req.Messages)-1].Text(); !strings.HasSuffix(last, "and now") {
				t.Fatalf("seed %d, after %v: the next request ends with %q", seed, k.acted, last)
			}
		}
	}
}

// A conversation is opened again as it was left, whatever a user did: in 12 conversations, or 2,000 with
// PARLEY_LONG=1.
func TestReopenedAsItWas(t *testing.T) {
	seeds := uint64(12)
	if llmtest.Long {
		seeds = 2000
	}
	set, _ := workspace(t)
	for seed := range seeds {
		k, o := newTalker(t, seed, set)
		lib := MemoryStore()
		o.Log = lib.Create(Info{})
		k.s = New(o)
		state := func() string {
			_, req := k.s.Next.Request()
			data, err := json.Marshal([]any{texts(k.s), branches(k.s), req.Messages, k.s.Unanswered(), k.s.Next.HistoryMode(), k.s.Next.ContextTokens(), k.s.Annotations(k.s.Path())})
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		for range 12 {
			k.act()
			k.s.Queue.TakeAll()
			LeaveEdit(k.s)   // it ends with the session
			if k.s.Empty() { // then nothing may be stored
				continue
			}
			before := state()
			o.Model = k.s.Model()
			k.s = reopen(t, lib, k.s, o)
			if after := state(); after != before {
				t.Fatalf("seed %d, after %v: opened again as\n%s\nit was\n%s", seed, k.acted, after, before)
			}
		}
		if err := errors.Join(k.s.Close(), lib.Close()); err != nil {
			t.Error(err)
		}
	}
}
