// Package session owns a conversation and its turn loop. A turn takes what the
// person said and goes round until the model has nothing more to call:
//
//	prompt ──► request ──► stream ──► answer ──► calls ──► policy ──► run ──► results ─┐
//	              ▲                                                                    │
//	              └────────────────────────────────────────────────────────────────────┘
//
// Everything that happens is an Event of one sequence that both front ends
// consume. Whatever interrupts a turn (a cancel, a cut stream, a consumer that
// leaves, a panicking tool), the conversation stays one that every provider
// accepts: each call has its result, and an answer that broke off holds no
// calls and no private data. Models are handed in; this package knows none.
package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"parley/providers/llm"
	"parley/session/store"
	"parley/tools"
)

// DefaultMaxSteps is how many requests a turn may take when Options does not say.
const DefaultMaxSteps = 200

// Options is what a session is made of.
type Options struct {
	Model          llm.Endpoint
	Effort         llm.Effort
	System         string // system prompt; keep it the same throughout, providers cache it
	Settings       llm.Settings
	Tools          *tools.Set    // nil: none are offered
	Policy         *tools.Policy // nil: everything that asks is asked
	MaxSteps       int           // requests in a turn; 0 is DefaultSteps
	MaxCost        float64       // US dollars in this session; 0 is no limit
	Fallback       []string      // models to go on with, in order, when one is out of order
	OpenModel      func(name string) (llm.Endpoint, error)
	AnswerSchema   *llm.Schema           // what the answer of a turn has to look like; nil: free text
	Log            *store.Log            // keeps the conversation, and may hold what was said before; nil: nothing is kept
	Now            func() time.Time      // nil: the clock
	EstimateTokens func(text string) int // about how many tokens text has; nil: bytes by four
	Config
}

// Errors that end a turn early, beside those of the model and the context.
var (
	ErrSteps  = errors.New("the turn reached its limit of requests")
	ErrBudget = errors.New("the session reached its spending limit")
)

// A Session is one conversation. Its methods may be called from any goroutine,
// also while a turn runs; only one turn runs at a time.
type Session struct {
	id             string
	openModel      func(string) (llm.Endpoint, error)
	tools          *tools.Set
	policy         *tools.Policy
	settings       llm.Settings
	maxSteps       int
	maxCost        float64
	fallback       []string
	log            *store.Log
	now            func() time.Time
	estimateTokens func(string) int
	compactAt      float64
	titleModel     string // model that names the conversation
	named          bool   // it was asked to

	turn         sync.Mutex // held while a turn runs
	mu           sync.Mutex // guards what follows
	system       string
	tree         Tree
	model        llm.Endpoint
	effort       llm.Effort
	queue        []llm.Message
	total        llm.Usage
	last         llm.Usage
	answerSchema *llm.Schema
	mode         History
	turnTools    *tools.Set                       // the tools as the running turn knows them; nil: none runs
	known        int                              // how many tools extra counts
	runningCalls map[*job]context.CancelCauseFunc // those that run
	turnSeq      int                              // Seq of the message the running turn began with; 0: none runs
	sizes        map[int]int                      // estimated tokens of messages, by Seq
	extra        [2]int                           // and of what goes with them, without and with tools; 0: not known yet

	hasUnpriced, warnedUnpriced bool // an answer's price is unknown; the person was told
}

// New starts a conversation, or goes on with the one that o.Log holds.
func New(o Options) *Session {
	switch {
	case o.Policy == nil:
		o.Policy = tools.NewPolicy(tools.ModeAsk)
	case o.Tools != nil:
		o.Tools.SetPolicy(o.Policy)
	}
	if o.MaxSteps <= 0 {
		o.MaxSteps = DefaultMaxSteps
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.EstimateTokens == nil {
		o.EstimateTokens = func(text string) int { return len(text) / 4 }
	}
	s := &Session{
		id: rand.Text(), openModel: o.OpenModel, tools: o.Tools, policy: o.Policy, system: o.System, settings: o.Settings,
		maxSteps: o.MaxSteps, maxCost: o.MaxCost, fallback: slices.Clone(o.Fallback), model: o.Model, effort: o.Effort, answerSchema: o.AnswerSchema,
		log: o.Log, now: o.Now, estimateTokens: o.EstimateTokens, compactAt: o.CompactAt, mode: o.Config.historyMode(), titleModel: o.TitleModel, sizes: map[int]int{},
	}
	s.restore()
	return s
}

// ID names the conversation.
func (s *Session) ID() string {
	if s.log != nil {
		return s.log.Session().ID // it changes if another process took the conversation over
	}
	return s.id
}

// Policy decides about this session's tools.
func (s *Session) Policy() *tools.Policy { return s.policy }

// Model returns the model that the next request goes to.
func (s *Session) Model() llm.Endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model
}

// SetModel makes the next request go to model, also in the middle of a turn, and
// says what of the conversation has to be adapted for it. Nothing is lost:
// going back restores what the first model said, byte for byte.
func (s *Session) SetModel(model llm.Endpoint) ModelSwitched {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.model.Name
	s.model = model
	_, changes := model.Portable(s.tree.messages())
	return ModelSwitched{From: from, To: model.Name, Changes: changes}
}

// Effort returns what the next request asks for.
func (s *Session) Effort() llm.Effort {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.effort
}

// SetEffort changes what later requests ask for.
func (s *Session) SetEffort(e llm.Effort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.effort = e
}

// System is the system prompt of the next request.
func (s *Session) System() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.system
}

// SetSystem changes it. What a provider has in its cache is then of no use.
func (s *Session) SetSystem(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.system, s.extra = text, [2]int{}
}

// Queue keeps a message of the user's until the running turn has nothing more
// to do; the turn then goes on with it.
func (s *Session) Queue(parts ...llm.Part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, llm.Message{Role: llm.RoleUser, Parts: parts})
}

// QueueLen is how many messages are queued.
func (s *Session) QueueLen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// Queued returns the messages that wait, the next one first.
func (s *Session) Queued() []llm.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.queue)
}

// UnqueueAt takes the nth message that waits back, if it still says text.
func (s *Session) UnqueueAt(n int, text string) (llm.Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 0 || n >= len(s.queue) || s.queue[n].Text() != text {
		return llm.Message{}, false
	}
	m := s.queue[n]
	s.queue = slices.Delete(s.queue, n, n+1)
	return m, true
}

// Unqueue takes every waiting message back.
func (s *Session) Unqueue() []llm.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := s.queue
	s.queue = nil
	return queue
}

// History returns the messages of the current branch.
func (s *Session) History() []llm.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tree.messages()
}

// Usage is what the session used so far; Last what its last answer used, whose
// Input and Output together are what fills the model's window.
func (s *Session) Usage() (total, last llm.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total, s.last
}

// Turn sends parts and yields what happens until the model is done. Without
// parts it goes on from where the conversation stands, which is how a turn that
// failed is tried again: what a broken answer left behind becomes a branch.
//
// Canceling ctx ends the turn soon, with its cause in Done. A consumer that
// stops ranging cancels the turn as well. Only one turn runs at a time; a second
// one ends at once with an error.
func (s *Session) Turn(ctx context.Context, parts ...llm.Part) iter.Seq[Event] {
	return s.loop(ctx, func(t *turn) error { return t.run(parts) })
}

// loop runs f as the session's only turn.
func (s *Session) loop(ctx context.Context, f func(*turn) error) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		show := stopAfterBreak(yield, cancel)
		t := &turn{Session: s, ctx: ctx, start: s.now()}
		t.emit = func(e Event) {
			if kind, _ := kindOf(e); kind != "" {
				t.annotate(e, t.partial.visibleParts())
			}
			show(e)
		}
		if !s.turn.TryLock() {
			show(Done{Err: errors.New("a turn is running already")})
			return
		}
		func() {
			defer s.turn.Unlock()
			if s.tools != nil {
				t.tools = s.tools.Snapshot()
			}
			s.mu.Lock()
			s.turnTools = t.tools
			s.mu.Unlock()
			t.done.Err = f(t)
			t.annotate(t.done, 0)
			t.saveInfo()
			t.mu.Lock()
			t.turnSeq, t.turnTools = 0, nil
			t.mu.Unlock()
		}()
		t.done.Duration = s.now().Sub(t.start)
		if t.done.Err != nil {
			t.done.Reason = ""
		}
		show(t.done) // unlocked: who hears it may start the next turn
	}
}

// errConsumerLeft is the cause of a cancel by a consumer that stopped ranging.
var errConsumerLeft = fmt.Errorf("nobody listens: %w", context.Canceled)

// stopAfterBreak wraps yield so that it may still be called after the consumer left.
func stopAfterBreak(yield func(Event) bool, cancel context.CancelCauseFunc) func(Event) {
	left := false
	return func(e Event) {
		if left {
			return
		}
		if !yield(e) {
			left = true
			cancel(errConsumerLeft)
		}
	}
}
