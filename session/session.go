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
//	fallback         models to go on with after a fault, and which are not asked for a while
//
//	Next             the next request: effort, system prompt, tools, and estimates of its size
//	Queue            prompts that wait for the running turn
//	Spending         usage so far, the limits on it, and what is reserved of them
//	Beside           requests outside the conversation: asides, titles, helpers of tools
//	Calls            the tool calls of the moment, to be stopped
//	Check            decides whether a turn may end
//	Branch           edits, regenerated answers, other branches, summaries undone
//	Personas         the system prompt and the tools that each branch continues with
//	OwnSettings      what the user set for the conversation, over the configuration
//	Directories      where tools reach beside the workspace
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
	fallback fallbackChain
	hooks    sessionHooks
	tools    act.Set // nil: none are offered
	policy   act.Policy
	files    act.Files // backs up files that calls change; nil: no backups

	Next        nextRequest
	Queue       promptQueue
	Spending    spending
	Beside      sideRequests
	Calls       runningCalls
	Check       turnCheck
	Branch      currentBranch
	Personas    personas
	OwnSettings ownSettings
	Directories directories

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
		Next: nextRequest{
			model: o.Model, effort: o.Effort, system: o.System, answerSchema: o.AnswerSchema, mode: o.Config.historyMode(), settings: o.Settings, tools: o.Tools,
		},
		prepareMedia: o.PrepareMedia, Schemas: o.Schemas, hooks: sessionHooks{Hooks: o.Hooks},
		maxSteps: o.MaxSteps, compactAt: o.CompactAt, attended: o.Attended,
		fallback: fallbackChain{models: o.Fallback, alternatives: o.Alternatives, open: o.OpenModel, onFilter: o.FallbackOnFilter, maxWait: o.MaxWait, cooldowns: o.Cooldowns},
		tools:    o.Tools, policy: o.Policy, afterTurn: o.AfterTurn,
	}
	s.Next.conversation, s.Next.tokens = &s.conversation, tokenCounter{tree: &s.tree, estimate: o.EstimateTokens, messages: map[int]int{}}
	s.Spending.conversation, s.Spending.confirmCost = &s.conversation, o.ConfirmCost
	s.Beside = sideRequests{session: s, open: o.OpenModel, title: o.TitleModel, summary: o.SummaryModel, small: o.SmallModel}
	s.Beside.ctx, s.Beside.end = context.WithCancel(context.Background())
	s.Branch.session, s.Personas.session = s, s
	s.OwnSettings = ownSettings{s, o.Settings}
	for _, l := range o.Limits {
		s.Spending.SetLimit(l)
	}
	if s.log != nil {
		s.Spending.total = s.restore()
		if s.tree.count > 0 { // a new conversation uses the configured one
			s.Next.mode = s.log.Session().History
		}
		s.Spending.last = s.tree.lastUsage()
		s.Beside.titled = s.tree.answered()
		s.OwnSettings.restore()
	}
	if o.Files != nil && s.tools != nil && s.log != nil {
		s.files = o.Files(s.id, s.tools.Root())
	}
	s.Directories = directories{&s.conversation, o.Tools, s.files}
	return s
}

// Policy returns the policy that decides which tool calls may run; never nil.
func (s *Session) Policy() act.Policy { return s.policy }

// TakeSandbox returns sandbox notices that no event has reported yet.
func (s *Session) TakeSandbox() (e Sandbox, ok bool) {
	if s.tools == nil {
		return e, false
	}
	e.Text = s.tools.TakeSandboxNotices()
	return e, e.Text != ""
}

func (s *Session) saveInfo() {
	if s.log == nil {
		return
	}
	info, title := s.log.Session(), ""
	s.mu.Lock()
	model, effort := s.Next.stored()
	mode := s.Next.mode
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
	s.Beside.end()
	s.mu.Unlock()
	s.Beside.running.Wait()
	s.Branch.leaveEdit()
	s.hooks.end(s.id)
	if s.files != nil {
		s.files.Close()
	}
	if s.log == nil {
		return nil
	}
	s.Branch.StoreGivenBack()
	if !s.Empty() {
		s.saveInfo()
	}
	return errors.Join(s.Spending.endReservations(), s.log.Close())
}
