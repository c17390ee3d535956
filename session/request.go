package session

import (
	_ "embed"
	"slices"

	"parley/providers/llm"
	"parley/session/store"
	"parley/tools"
)

// Instructions holds parley's own system prompt. It says nothing that changes from
// one request to the next (no clock, no working directory): providers cache it,
// and some bind what they sign to it.
//
//go:embed prompt.md
var Instructions string

// requestSettings holds what the next request asks for.
type requestSettings struct {
	model        llm.Endpoint
	effort       llm.Effort
	system       string
	answerSchema *llm.Schema // nil: free text
	mode         HistoryMode
	omitsOldest  bool         // in this turn, what does not fit is left out in spite of mode
	configured   llm.Settings // by the command line and the configuration
	own          Settings     // of the conversation
	settings     llm.Settings // both
	onlyTools    []string     // that are offered; nil: all
	persona      Persona      // that system and onlyTools come from
	systemOf     systemMaker  // nil: a persona does not follow when the branch changes
	replaced     *replaced    // by settings that hold for the running prompt alone; nil: nothing is
	forRun       runModel
}

// A replaced is what holds again after a prompt with settings of its own. Of what is nil, the user
// chose another meanwhile.
type replaced struct {
	model        *llm.Endpoint
	effort       *llm.Effort
	system       *string
	answerSchema *llm.Schema
	tools        *tools.Set
}

// A runModel is a model and an effort that hold for this run only, and those that the
// conversation stores instead. The zero value: none do.
type runModel struct {
	model, kept        string
	effort, keptEffort llm.Effort
}

// SetModelForRun makes the current model and effort of s hold for this run only: the conversation
// stores kept (provider/model) and effort for the next run instead. A model or an effort that is
// set later is stored as usual.
func SetModelForRun(s *Session, kept string, effort llm.Effort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forRun = runModel{s.model.Name, kept, s.effort, effort}
}

// storedModel returns the model and the effort to store with the conversation. The session is
// locked.
func (r *requestSettings) storedModel() (model string, effort llm.Effort) {
	model, effort = r.model.Name, r.effort
	if r.forRun == (runModel{}) {
		return model, effort
	}
	if model == r.forRun.model {
		model = r.forRun.kept
	}
	if effort == r.forRun.effort {
		effort = r.forRun.keptEffort
	}
	return model, effort
}

func get[T any](s *Session, field *T) T {
	return locked(&s.mu, func() T { return *field })
}

func set[T any](s *Session, field *T, value T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*field = value
}

// Model returns the model that the next request goes to.
func (s *Session) Model() llm.Endpoint { return get(s, &s.model) }

// SetModel makes the next request go to model, also in the middle of a turn, and
// returns what of the conversation has to be adapted for it. Nothing is lost:
// going back restores what the first model said, byte for byte.
func (s *Session) SetModel(model llm.Endpoint) ModelSwitched {
	s.mu.Lock()
	from := s.model.Name
	s.model, s.fallback.standIn, s.fallback.stoodIn = model, llm.Endpoint{}, ""
	if s.replaced != nil {
		from = s.replaced.chooseModel(from, model.Name)
	}
	s.mu.Unlock()
	return ModelSwitched{From: from, To: model.Name, Changes: changesFor(s, model)}
}

// RefreshModel replaces the model in use by known, the same model opened again, of which more is
// known, such as its context window. Where another model is in use by now, nothing happens.
func RefreshModel(s *Session, known llm.Endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.model.Name == known.Name {
		s.model = known
	}
	if r := s.replaced; r != nil && r.model != nil && r.model.Name == known.Name {
		r.model = &known
	}
}

// Effort returns the reasoning effort of the next request; "" is the provider's default.
func (s *Session) Effort() llm.Effort { return get(s, &s.effort) }

// SetEffort changes the reasoning effort of later requests.
func (s *Session) SetEffort(e llm.Effort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.effort = e; s.replaced != nil {
		s.replaced.effort = nil
	}
}

// System returns the system prompt of the next request.
func (s *Session) System() string { return get(s, &s.system) }

// SetSystem changes the system prompt. Providers' prompt caches of the conversation are then
// of no use.
func (s *Session) SetSystem(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.system = text; s.replaced != nil {
		s.replaced.system = nil
	}
	s.tokens.reset()
}

// WebSearch reports whether answers may search the web; see llm.Settings.Web.
func WebSearch(s *Session) bool { return locked(&s.mu, func() bool { return s.settings.Web }) }

// HistoryMode returns which messages of the conversation requests hold.
func (s *Session) HistoryMode() HistoryMode { return get(s, &s.mode) }

// SetHistoryMode changes which messages of the conversation later requests hold.
func (s *Session) SetHistoryMode(h HistoryMode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = h
	s.tokens.branch = branchCounts{} // what was sent says something else now
}

// messages returns what path holds for a model: a summary stands for everything in
// front of it.
func messages(path []store.Node) []llm.Message {
	path = sinceSummary(path)
	out := make([]llm.Message, 0, len(path))
	for _, n := range path {
		if len(n.Parts) > 0 {
			out = append(out, n.Message)
		}
	}
	return out
}

// sinceSummary returns path from the last summary in it on; all of it if there is none.
func sinceSummary(path []store.Node) []store.Node {
	for i := len(path) - 1; i > 0; i-- {
		if path[i].Summary {
			return path[i:]
		}
	}
	return path
}

// messages returns the current branch, whole.
func (t *Tree) messages() []llm.Message {
	var out []llm.Message
	for _, n := range t.Path() {
		if len(n.Parts) > 0 && !n.Summary {
			out = append(out, n.Message)
		}
	}
	return out
}

// Request returns what the next request would be if parts were sent now. It changes
// nothing.
func (s *Session) Request(parts ...llm.Part) (llm.Endpoint, llm.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req, _ := s.compile(s.model, parts)
	return s.model, req
}

// request returns the next request of the turn. What the history mode leaves out of
// it is told when it changes.
func (t *turn) request() (llm.Endpoint, llm.Request) {
	t.mu.Lock()
	model := t.answering()
	req, omitted := t.compile(model, nil)
	t.mu.Unlock()
	if told := omitted.notice(t.omitted, model); told != "" {
		t.emit(llm.Notice{Text: told})
	}
	t.omitted = omitted
	return model, req
}

// compile makes a request to model of the current branch, with parts behind it, and
// returns what was left out of it. The session is locked.
func (s *Session) compile(model llm.Endpoint, parts []llm.Part) (req llm.Request, omitted omission) {
	req = s.emptyRequest(model)
	if s.historyMode() == HistoryFull {
		req.Messages = s.histories.portable(&s.tree, model, parts)
		return req, omitted
	}
	path := s.tree.Path()
	if len(parts) > 0 {
		path = append(path, store.Node{Message: llm.Message{Role: llm.RoleUser, Parts: parts}})
	}
	switch s.historyMode() {
	case HistoryStateless:
		path = path[turnStart(path, s.turnSeq):]
	case HistoryDynamic:
		path, omitted = s.newestTurns(sinceSummary(path), s.messageBudget(model, req))
	}
	req.Messages, _ = model.Portable(messages(path))
	return req, omitted
}

// historyCache holds what requests hold of the conversation, by what they are made for: a
// request makes anew only what came since the one before. The zero value holds nothing.
type historyCache map[historyKey]cachedHistory

// A historyKey is what Portable depends on beside the messages.
type historyKey struct {
	origin string
	images bool // are taken
}

// A cachedHistory is what Portable makes of the branch up to the message to. It ends with an
// answer behind which nothing is owed, so that Portable makes the same of what follows
// whatever is in front of it.
type cachedHistory struct {
	to       int // Seq; 0: nothing is cached
	messages []llm.Message
}

// maxCachedHistories is enough for a few models that answer in turn.
const maxCachedHistories = 3

// portable returns what a request to model holds of the current branch, with parts behind it:
// what model.Portable makes of messages. The slice is the caller's.
func (h *historyCache) portable(t *Tree, model llm.Endpoint, parts []llm.Part) []llm.Message {
	for key, cached := range *h {
		if t.replaced > 0 && cached.to >= t.replaced {
			delete(*h, key)
		}
	}
	t.replaced = 0
	key := historyKey{model.Origin, model.Accepts("image/")}
	cached := (*h)[key]
	fresh, at := []int(nil), t.head // what came behind cached.to
	for at > 0 && at != cached.to {
		fresh = append(fresh, at)
		if t.at(at).Summary { // which stands for what is in front of it
			at = 0
			break
		}
		at = t.at(at).Parent
	}
	slices.Reverse(fresh)
	if at != cached.to { // another branch, or a summary
		cached = cachedHistory{}
	}
	settled := len(fresh)
	for settled > 0 && !canCacheUpTo(t.at(fresh[settled-1])) {
		settled--
	}
	if settled > 0 {
		more, _ := model.Portable(t.messagesOf(fresh[:settled]))
		if n := len(more); n > 0 && more[n-1].Role == llm.RoleAssistant && t.unread == nil {
			if len(cached.messages) > 0 {
				more = append(cached.messages, more...)
			}
			cached = cachedHistory{fresh[settled-1], more}
			fresh = fresh[settled:]
			h.put(key, cached)
		}
	}
	tail := t.messagesOf(fresh)
	if len(parts) > 0 {
		tail = append(tail, llm.Message{Role: llm.RoleUser, Parts: parts})
	}
	rest, _ := model.Portable(tail)
	return slices.Concat(cached.messages, rest)
}

func (h *historyCache) put(key historyKey, cached cachedHistory) {
	if _, known := (*h)[key]; *h == nil || !known && len(*h) == maxCachedHistories {
		*h = historyCache{}
	}
	(*h)[key] = cached
}

// canCacheUpTo reports whether a cached history can end with n: an answer without calls, whose results
// would follow, and without media, which Portable puts into a message behind it.
func canCacheUpTo(n *store.Node) bool {
	return n.Role == llm.RoleAssistant && !n.Partial &&
		!slices.ContainsFunc(n.Parts, func(p llm.Part) bool { return p.Kind == llm.Call || p.Kind == llm.Media })
}

// messagesOf returns the messages with these Seqs, without empty ones.
func (t *Tree) messagesOf(seqs []int) []llm.Message {
	out := make([]llm.Message, 0, len(seqs)+1)
	for _, seq := range seqs {
		if n := t.at(seq); len(n.Parts) > 0 {
			out = append(out, n.Message)
		}
	}
	return out
}

// beginsTurn reports whether n is a prompt that a turn begins with.
func beginsTurn(n *store.Node) bool { return n.Role == llm.RoleUser && !n.Summary && !n.Steers }

// turnStart returns where in path the turn begins that runs, with the message began,
// or is to run, if began is 0.
func turnStart(path []store.Node, began int) int {
	from := 0
	for i, n := range path {
		if beginsTurn(&n) && (began == 0 || n.Seq <= began) {
			from = i
		}
	}
	return from
}

// messageBudget returns how many tokens of the model's window messages may take; 0 if
// the window is unknown. A share stays free for the response and for what the
// estimate is wrong by.
func (s *Session) messageBudget(model llm.Endpoint, req llm.Request) int {
	if model.Context <= 0 {
		return 0
	}
	response := min(model.Context/4, 16<<10)
	if req.MaxTokens > 0 {
		response = min(req.MaxTokens, model.Context/2)
	}
	return max(model.Context*9/10-response-s.tokens.overhead(req), 1)
}

// ContextTokens returns about how many tokens the next request takes: what the
// provider counted last, and an estimate of what came after it.
func (s *Session) ContextTokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.contextTokens()
}

func (s *Session) contextTokens() int {
	c := countBranch(s)
	if c.tokens == 0 || c.counted {
		return c.tokens
	}
	return c.tokens + s.tokens.overhead(s.emptyRequest(s.answering()))
}

func (s *Session) emptyRequest(model llm.Endpoint) llm.Request {
	req := llm.Request{System: s.system, Effort: s.effort, Session: s.id, Settings: s.settings, AnswerSchema: s.answerSchema}
	set := s.turnTools
	if set == nil {
		set = offeredTools(s)
	}
	if set != nil && model.Strategy != "none" {
		req.Tools = set.Tools()
	}
	isSearch := func(t llm.Tool) bool { return t.Name == tools.SearchName }
	switch {
	case !req.Web:
	case model.Web: // which needs no other
		req.Tools = slices.DeleteFunc(req.Tools, isSearch)
	case slices.ContainsFunc(req.Tools, isSearch):
		req.Web = false
	}
	return req
}
