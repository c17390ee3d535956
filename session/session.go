// Package session owns a conversation and its turn loop. A turn takes what the
// user said and goes round until the model has nothing more to call:
//
//	prompt ──► request ──► stream ──► response ──► calls ──► policy ──► run ──► results ─┐
//	              ▲                                                                      │
//	              └──────────────────────────────────────────────────────────────────────┘
//
// Everything that happens is an Event of one sequence that all front ends
// consume. Whatever interrupts a turn (a cancel, a cut stream, a consumer that
// leaves, a panicking tool), the conversation stays one that every provider
// accepts: each call has its result, and a response that broke off holds no
// calls and no private data. Models are handed in; this package knows none.
//
// A Session is made of parts that each own their state, and methods for it; the rules about several
// of them are those of the session and of the turn. What the user asks of the conversation as a
// whole are methods of the session; parts with a task of their own are reached by name:
//
//	conversation     the tree of messages, in memory and on disk; its mutex guards the session
//	request          what the next request asks for: model, effort, system prompt, schema, history mode
//	calls            the tool calls of the moment, to be stopped
//	tokens           estimates of what messages and tools take of the model's window
//	fallback         models to go on with after a fault, and which are not asked for a while
//	helpers          the models that give the conversation its title and write its summaries
//
//	Queue          prompts that wait for the running turn
//	Spending       usage so far, the limits on it, and what is reserved of them
//	Branch()       CurrentBranch  edits, regenerated answers, other branches, summaries undone
//	Personas()     Personas       the system prompt and the tools that each branch continues with
//	OwnSettings()  OwnSettings    what the user set for the conversation, over the configuration
//	Directories()  Directories    where tools reach beside the workspace
//
// A turn is one run of the loop, and a callBatch the calls of one of its responses, until each has
// its result. A turn has parts as well, which end with it:
//
//	givenPrompt    the message as the user wrote it, who has it back where it is not sent
//	turnQuestions  asks the user what it cannot decide
//	turnBudget     holds its requests to the limits on spending
//	compaction     summarizes the conversation where it has grown too long
//	turnWindow     has its requests fit into the context windows of models
//	turnModels     decides which model answers: the chosen one, or one of the fallbackChain
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
	"parley/session/settings"
	"parley/session/store"
	"parley/tools/act"
)

// defaultMaxSteps is how many requests a turn may make by default.
const defaultMaxSteps = 200

// Options configures a session. The zero value is valid, but has no model.
type Options struct {
	Model          llm.Endpoint
	Effort         llm.Effort
	System         string // system prompt; keep it the same throughout, providers cache it
	Settings       llm.Settings
	Tools          act.Set                                   // nil: none are offered
	Policy         act.Policy                                // decides which calls may run; nil: each call asks
	MaxSteps       int                                       // requests in a turn; 0 or less: defaultMaxSteps
	Limits         []Limit                                   // spending limits
	ConfirmCost    float64                                   // US dollars: the user is asked before a request with a higher estimated cost; 0: never
	Attended       bool                                      // a user can be asked while a turn runs; see Question
	MaxWait        time.Duration                             // longest wait for the reset of a provider's limit without asking; 0: none
	Fallback       func(FallbackNeed) []string               // the models to fall back to, in order; nil: none
	Alternatives   func(FallbackNeed) []string               // models to offer if a conversation does not fit; nil: none
	Cooldowns      *Cooldowns                                // cooldowns of failed models, shared by all sessions of a program; nil: this session's own
	OpenModel      func(name string) (llm.Endpoint, error)   // for fallbacks, titles and summaries; nil: there are none
	AnswerSchema   *llm.Schema                               // schema of the last response of a turn; nil: free text
	Schemas        Schemas                                   // nil: answers and calls are not repaired or checked
	Hooks          act.Hooks                                 // programs that run on events; nil: none
	Files          func(conversation, root string) act.Files // backs up files before tools change them; nil, or returns nil: no backups
	Log            *store.Log                                // stores the conversation, and may have earlier messages of it; nil: not stored
	AfterTurn      func()                                    // called after each turn; it must not wait. nil: nothing is
	Now            func() time.Time                          // nil: the clock
	EstimateTokens func(text string) int                     // nil: a quarter of the bytes

	// PrepareMedia makes media from tools acceptable for every provider. The model gets a
	// note about changes; media that it rejects is not sent. Nil: media is sent unchanged.
	PrepareMedia mediaPreparer
	Config
}

// A mediaPreparer makes media acceptable for every provider, and describes the
// changes.
type mediaPreparer = func(llm.Part) (out llm.Part, changed string, err error)

// Config holds the [session] section of the configuration.
type Config struct {
	History    string  `toml:"history"` // "full", "dynamic" or "stateless"
	CompactAt  float64 `toml:"compact"` // share of the model's window at which the conversation is summarized automatically, 0 to 1; 0: never
	TitleModel string  `toml:"title"`   // model that titles conversations; "": the title is the first words

	SummaryModel string `toml:"summary_model"` // model that writes summaries; "": the current model
	SmallModel   string `toml:"small_model"`   // model that looks around for the current one; "": the current model

	FallbackOnFilter bool `toml:"fallback_on_filter"` // fall back to another model after a content filter as well
}

// DefaultConfig returns the settings used if the configuration has none.
func DefaultConfig() Config { return Config{History: "full"} }

// Validate returns an error for an invalid value.
func (c Config) Validate() error {
	if !slices.Contains([]string{"", "full", "dynamic", "stateless"}, c.History) {
		return fmt.Errorf("session.history = %q: use full, dynamic or stateless", c.History)
	}
	if !(c.CompactAt >= 0 && c.CompactAt < 1) {
		return fmt.Errorf("session.compact = %v: use a share of the context window such as 0.8, or 0 for never", c.CompactAt)
	}
	return nil
}

// historyMode returns History as a HistoryMode.
func (c Config) historyMode() HistoryMode {
	if c.History == "full" {
		return HistoryFull // like ""
	}
	return HistoryMode(c.History)
}

// Errors that end a turn early, besides those of the model and the context.
var (
	ErrSteps  = errors.New("the turn reached its limit of requests")
	ErrBudget = settings.ErrBudget
)

// A Session is one conversation. Its methods may be called from any goroutine,
// also while a turn runs; only one turn runs at a time.
type Session struct {
	conversation
	request  requestSettings
	Queue    promptQueue // prompts that wait for the running turn
	Spending spending    // usage so far, the limits on it, and what is reserved of them

	personas    Personas
	ownSettings OwnSettings
	directories Directories
	branch      CurrentBranch

	tokens   tokenCounter
	fallback fallbackChain
	helpers  helperModels
	tools    act.Set // nil: none are offered
	policy   act.Policy
	hooks    sessionHooks
	calls    runningCalls
	asides   runningAsides
	files    act.Files // backs up files that calls change; nil: no backups

	prepareMedia mediaPreparer
	Schemas      Schemas // nil: nothing is repaired or checked

	maxSteps  int     // requests in a turn
	compactAt float64 // share of the model's window at which a turn summarizes the conversation; 0: never
	attended  bool    // a user can be asked

	turn      sync.Mutex // held while a turn runs
	afterTurn func()     // nil: nothing is called
}

// New returns a session: a new conversation, or that of o.Log.
func New(o Options) *Session {
	if o.Policy == nil {
		o.Policy = act.AskAlways{}
	}
	if o.MaxSteps <= 0 {
		o.MaxSteps = defaultMaxSteps
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Cooldowns == nil {
		o.Cooldowns = &Cooldowns{}
	}
	if o.EstimateTokens == nil {
		o.EstimateTokens = func(text string) int { return len(text) / 4 }
	}
	s := &Session{
		conversation: conversation{id: rand.Text(), log: o.Log, now: o.Now},
		request: requestSettings{
			model: o.Model, effort: o.Effort, system: o.System, answerSchema: o.AnswerSchema, mode: o.Config.historyMode(), settings: o.Settings,
		},
		Spending: spending{confirmCost: o.ConfirmCost}, prepareMedia: o.PrepareMedia, Schemas: o.Schemas, hooks: sessionHooks{Hooks: o.Hooks},
		maxSteps: o.MaxSteps, compactAt: o.CompactAt, attended: o.Attended,
		fallback: fallbackChain{models: o.Fallback, alternatives: o.Alternatives, open: o.OpenModel, onFilter: o.FallbackOnFilter, maxWait: o.MaxWait, cooldowns: o.Cooldowns},
		helpers:  helperModels{title: o.TitleModel, summary: o.SummaryModel, small: o.SmallModel, open: o.OpenModel},
		tools:    o.Tools, policy: o.Policy, afterTurn: o.AfterTurn,
	}
	s.asides.ctx, s.asides.end = context.WithCancel(context.Background())
	s.Spending.conversation = &s.conversation
	s.tokens = tokenCounter{tree: &s.tree, estimate: o.EstimateTokens, messages: map[int]int{}}
	s.personas.session, s.branch.session = s, s
	s.ownSettings = OwnSettings{session: s, configured: o.Settings}
	for _, l := range o.Limits {
		s.Spending.SetLimit(l)
	}
	if s.log != nil {
		s.Spending.total = s.restore()
		if s.tree.count > 0 { // a new conversation uses the configured one
			s.request.mode = s.log.Session().History
		}
		s.Spending.last = s.tree.lastUsage()
		s.helpers.titled = s.tree.answered()
		s.ownSettings.restore()
	}
	if o.Files != nil && s.tools != nil && s.log != nil {
		s.files = o.Files(s.id, s.tools.Root())
	}
	s.directories = Directories{&s.conversation, o.Tools, s.files}
	return s
}

// Policy returns the policy that decides which tool calls may run; never nil.
func (s *Session) Policy() act.Policy { return s.policy }

// Turn sends parts as a prompt and yields events until the model has answered. Without
// parts it retries: it answers the last prompt or tool results; an interrupted response
// stays on a branch of its own.
//
// Canceling ctx ends the turn soon, with its cause in Done. A consumer that
// stops ranging cancels the turn as well. Only one turn runs at a time; a second
// one ends at once with an error.
func (s *Session) Turn(ctx context.Context, parts ...llm.Part) iter.Seq[Event] {
	return s.loop(ctx, func(t *turn) error { return t.run(parts) })
}

// loop returns the events of f, run as the session's only turn.
func (s *Session) loop(ctx context.Context, f func(*turn) error) iter.Seq[Event] {
	return func(yield func(Event) bool) { runLoop(ctx, s, f, yield) } // in a line: the compiler copies it into each caller of Turn
}

func runLoop(ctx context.Context, s *Session, f func(*turn) error, yield func(Event) bool) {
	ctx, cancel := context.WithCancelCause(context.WithValue(act.WithJobOwner(ctx, s.id), sessionKey{}, s))
	defer cancel(nil)
	show := stopAfterBreak(yield, cancel)
	t := &turn{conversation: &s.conversation, session: s, ctx: ctx, start: s.now()}
	t.given.turn, t.questions.turn, t.budget.turn, t.compaction.turn, t.window.turn, t.models.turn = t, t, t, t, t, t
	t.emit = func(e Event) {
		if kind, _ := kindOf(e); kind != "" {
			t.annotate(e, t.partial.visibleParts())
		}
		show(e)
		if _, ok := e.(Result); ok {
			t.reportSandbox()
		}
	}
	if !s.turn.TryLock() {
		show(Done{Err: errors.New("a turn is running already")})
		return
	}
	func() {
		defer s.keepAsides()
		defer s.turn.Unlock()
		defer func() { // also after a panic
			t.budget.endReservations()
			t.mu.Lock()
			s.hooks.endChecks(ctx)
			t.turnSeq, s.request.turnTools, s.request.omitsOldest, s.fallback.standIn, s.branch.edited = 0, nil, false, llm.Endpoint{}, edit{}
			t.mu.Unlock()
		}()
		if s.tools != nil {
			t.offered = locked(&s.mu, s.offeredTools)
		}
		t.callable = t.offered
		set(&s.mu, &s.request.turnTools, t.callable)
		t.budget.begin()
		if t.done.Err = f(t); t.done.Err == errForked {
			t.done.Err, t.done.Fork = nil, t.Head()
		}
		t.reportSandbox()
		if llm.Canceled(t.done.Err) {
			t.done.Err = t.cause(t.done.Err)
		}
		t.done.Unsent = t.questions.unsent && t.ctx.Err() == nil && t.given.giveBack()
		t.done.AnswerComplete = !s.Unanswered()
		t.budget.noticeReached()
		s.saveInfo()
		if !t.done.Unsent { // calls are stopped only in messages that are still part of the conversation
			t.annotate(t.done, 0)
		}
		if s.log != nil {
			_ = s.log.Flush() // as in persist
		}
	}()
	t.done.Duration = s.now().Sub(t.start)
	if t.done.Err != nil {
		t.done.Reason = ""
	}
	if s.afterTurn != nil {
		s.afterTurn()
	}
	show(t.done) // unlocked: the consumer may start the next turn
}

// TakeSandbox returns sandbox notices that no event has reported yet.
func (s *Session) TakeSandbox() (e Sandbox, ok bool) {
	if s.tools == nil {
		return e, false
	}
	e.Text = s.tools.TakeSandboxNotices()
	return e, e.Text != ""
}

// notice emits a notice.
func (t *turn) notice(format string, args ...any) {
	t.emit(llm.Notice{Text: fmt.Sprintf(format, args...)})
}

func (t *turn) reportSandbox() {
	if e, ok := t.session.TakeSandbox(); ok {
		t.emit(e)
	}
}

var errConsumerLeft = fmt.Errorf("the consumer left: %w", context.Canceled)

// stopAfterBreak wraps yield so that it may be called after the consumer stopped ranging.
func stopAfterBreak(yield func(Event) bool, cancel context.CancelCauseFunc) func(Event) {
	left := false
	return func(e Event) {
		if !left && !yield(e) {
			left = true
			cancel(errConsumerLeft)
		}
	}
}

func (s *Session) saveInfo() {
	if s.log == nil {
		return
	}
	info, title := s.log.Session(), ""
	s.mu.Lock()
	model, effort := s.storedModel()
	mode := s.request.mode
	if info.Title == "" && !info.Named { // a title may need the beginning of the conversation
		title = s.tree.title()
	}
	s.mu.Unlock()
	if title != "" || info.Model != model || info.Effort != effort || info.History != mode {
		s.log.Describe(func(i *store.Session) {
			i.Model, i.Effort, i.History = model, effort, mode
			if i.Title == "" {
				i.Title = title
			}
		})
	}
}

// Close ends the session and its lease on the stored conversation. It returns an error if
// something could not be stored.
func (s *Session) Close() error {
	s.mu.Lock()
	s.asides.end()
	s.mu.Unlock()
	s.asides.running.Wait()
	s.branch.leaveEdit()
	s.hooks.end(s.id)
	if s.files != nil {
		s.files.Close()
	}
	if s.log == nil {
		return nil
	}
	s.branch.StoreGivenBack()
	if !s.Empty() {
		s.saveInfo()
	}
	return errors.Join(s.Spending.endReservations(), s.log.Close())
}

// errStopped is the cause when the user stops a call.
var errStopped = errors.New("stopped by the user")

// runningCalls holds the running tool calls, the last one last. The zero value has none.
type runningCalls struct {
	lock sync.Mutex
	list []runningCall
}

type runningCall struct {
	call   *pendingCall
	cancel context.CancelCauseFunc
}

// StopCall stops the running tool call id, or the last one if id is "". It reports whether there was one, and how many
// others are running. The turn continues: the model gets the output so far and the note that the user stopped the call.
func (s *Session) StopCall(id string) (stopped bool, others int) {
	r := &s.calls
	r.lock.Lock()
	defer r.lock.Unlock()
	for i, c := range slices.Backward(r.list) {
		if id == "" || c.call.part.ID == id {
			c.cancel(errStopped)
			r.list = slices.Delete(r.list, i, i+1)
			return true, len(r.list)
		}
	}
	return false, len(r.list)
}

// start adds a call that is about to run, before anybody is told.
func (r *runningCalls) start(ctx context.Context, call *pendingCall) {
	r.lock.Lock()
	defer r.lock.Unlock()
	c := runningCall{call: call}
	call.ctx, c.cancel = context.WithCancelCause(ctx)
	r.list = append(r.list, c)
}

// end removes a call that has ended, and reports whether it was stopped.
func (r *runningCalls) end(call *pendingCall) (stopped bool) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if i := slices.IndexFunc(r.list, func(c runningCall) bool { return c.call == call }); i >= 0 {
		r.list[i].cancel(nil)
		r.list = slices.Delete(r.list, i, i+1)
	}
	return errors.Is(context.Cause(call.ctx), errStopped)
}
