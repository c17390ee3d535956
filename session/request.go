package session

import (
	_ "embed"
	"slices"

	"parley/providers/llm"
	"parley/session/cachewatch"
	"parley/session/store"
	"parley/tools/act"
)

// Instructions holds parley's own system prompt. It says nothing that changes from
// one request to the next (no clock, no working directory): providers cache it,
// and some bind what they sign to it.
//
//go:embed prompt.md
var Instructions string

// messages returns the messages of path for a model: a summary replaces all
// messages before it.
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
	return path[max(lastSummary(path), 0):]
}

// messages returns the current branch, whole.
func (t *tree) messages() []llm.Message {
	var out []llm.Message
	for _, n := range t.Path() {
		if len(n.Parts) > 0 && !n.Summary {
			out = append(out, n.Message)
		}
	}
	return out
}

// Request returns the request that sending parts now would make. It changes
// nothing.
func (r *nextRequest) Request(parts ...llm.Part) (llm.Endpoint, llm.Request) {
	r.conversation.mu.Lock()
	defer r.conversation.mu.Unlock()
	model := r.now().Model
	req, _ := r.compile(model, parts)
	return model, req
}

// request returns the next request of the turn. It emits a notice when the history
// mode begins to leave out more.
func (t *turn) request() (llm.Endpoint, llm.Request) {
	t.mu.Lock()
	model := t.session.Next.answering()
	req, omitted := t.session.Next.compile(model, nil)
	t.mu.Unlock()
	if notice := omitted.notice(t.omitted, model); notice != "" {
		t.notice("%s", notice)
	}
	t.omitted = omitted
	return model, req
}

// compile builds a request to model from the current branch and parts, and returns
// the omissions. The caller locks the session.
func (r *nextRequest) compile(model llm.Endpoint, parts []llm.Part) (req llm.Request, omitted omission) {
	req = r.empty(model)
	if r.historyMode() == HistoryFull {
		req.Messages = r.conversation.histories.portable(&r.conversation.tree, model, parts)
		return req, omitted
	}
	var path []store.Node
	if len(parts) > 0 {
		path = append(path, store.Node{Message: llm.Message{Role: llm.RoleUser, Parts: parts}})
	}
	if r.historyMode() == HistoryDynamic {
		path, omitted = r.tokens.newestTurns(path, r.conversation.turnSeq, r.tokens.messageBudget(model, req))
	} else {
		path = append(r.conversation.tree.Path(), path...)
		path = path[turnStart(path, r.conversation.turnSeq):]
	}
	req.Messages, _ = model.Portable(messages(path))
	return req, omitted
}

// historyCache holds converted messages of the conversation by historyKey, so that a
// request converts only new messages. The zero value is empty.
type historyCache map[historyKey]cachedHistory

// A historyKey holds the inputs of Portable other than the messages.
type historyKey struct {
	origin string
	images bool // the model accepts images
}

// A cachedHistory is the result of Portable for the branch up to the message to. It ends
// with an answer without pending results, so that Portable converts later messages
// independently of it.
type cachedHistory struct {
	to       int // Seq; 0: nothing is cached
	messages []llm.Message
}

// maxCachedHistories suffices for a few alternating models.
const maxCachedHistories = 3

// portable returns the current branch and parts converted by model.Portable. The caller owns
// the slice.
func (h *historyCache) portable(t *tree, model llm.Endpoint, parts []llm.Part) []llm.Message {
	for key, cached := range *h {
		if t.replaced > 0 && cached.to >= t.replaced {
			delete(*h, key)
		}
	}
	t.replaced = 0
	key := historyKey{model.Origin, model.Accepts("image/")}
	cached := (*h)[key]
	fresh, at := []int(nil), t.head // Seqs of messages after cached.to
	for at > 0 && at != cached.to {
		fresh = append(fresh, at)
		if t.at(at).Summary { // a summary replaces the messages before it
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
// would follow, and without media, which Portable moves into a later message.
func canCacheUpTo(n *store.Node) bool {
	return n.Role == llm.RoleAssistant && !n.Partial &&
		!slices.ContainsFunc(n.Parts, func(p llm.Part) bool { return p.Kind == llm.Call || p.Kind == llm.Media })
}

// messagesOf returns the messages with these Seqs except for empty ones.
func (t *tree) messagesOf(seqs []int) []llm.Message {
	out := make([]llm.Message, 0, len(seqs)+1)
	for _, seq := range seqs {
		if n := t.at(seq); len(n.Parts) > 0 {
			out = append(out, n.Message)
		}
	}
	return out
}

// beginsTurn reports whether n is a prompt that a turn begins with.
func beginsTurn(n *store.Node) bool { return isPrompt(*n) && !n.Steers }

// turnStart returns the index in path where the turn begun by the message began
// starts; if began is 0, the start of the turn to run next.
func turnStart(path []store.Node, began int) int {
	from := 0
	for i, n := range path {
		if beginsTurn(&n) && (began == 0 || n.Seq <= began) {
			from = i
		}
	}
	return from
}

// ContextTokens returns about how many tokens the next request takes: the
// provider's last count plus an estimate of later messages.
func (r *nextRequest) ContextTokens() int {
	r.conversation.mu.Lock()
	defer r.conversation.mu.Unlock()
	return r.contextTokens()
}

func (r *nextRequest) contextTokens() int {
	c := r.tokens.countBranch(r.mode)
	if c.tokens == 0 || c.counted {
		return c.tokens
	}
	return c.tokens + r.tokens.overhead(r.empty(r.answering()))
}

// contextTokensFor is contextTokens without thinking that is not sent to model. The caller locks the
// session.
func (r *nextRequest) contextTokensFor(model llm.Endpoint) int {
	tokens := r.contextTokens()
	if c := r.tokens.countBranch(r.mode); c.lastOrigin != model.Origin {
		tokens -= c.lastThinking
	}
	return tokens
}

func (r *nextRequest) empty(model llm.Endpoint) llm.Request {
	now := r.now()
	req := llm.Request{System: now.System, Effort: now.Effort, Session: r.conversation.id, Settings: r.settings, AnswerSchema: now.Schema}
	req.Web = now.Web
	set := r.turnTools
	if set == nil {
		set = r.offered()
	}
	if set != nil && model.Strategy != "none" {
		req.Tools = slices.DeleteFunc(set.Tools(), func(t llm.Tool) bool { return !t.Suits(model) })
	}
	isSearch := func(t llm.Tool) bool { return t.Name == act.SearchName }
	switch {
	case !req.Web:
	case model.Web: // web models need no other
		req.Tools = slices.DeleteFunc(req.Tools, isSearch)
	case slices.ContainsFunc(req.Tools, isSearch):
		req.Web = false
	}
	return req
}

// restoreCache adds a stored response to c.caches.
func (c *conversation) restoreCache(n store.Node) {
	if r, ok := cacheRequest(n, *n.Usage); ok && !n.Partial && !n.Interrupted {
		var e cachewatch.Entry
		if n.Cache != nil {
			e = *n.Cache
		}
		c.caches.Restore(r, e)
	}
}

// cacheRequest returns the request that n answers; false if n is not a chat model's answer, or
// its usage is unknown, shared, estimated or the sum of several requests.
func cacheRequest(n store.Node, u llm.Usage) (cachewatch.Request, bool) {
	ok := n.Role == llm.RoleAssistant && n.Origin != llm.OriginImages && !u.Shared && !u.Estimated && u.Discarded == 0 && u.Input > 0
	return cachewatch.Request{Model: n.Model, At: n.At, LastSeq: n.Parent, Usage: u}, ok
}

// observeCache adds a complete response to c.caches, and sets n.Cache and n.Missed. Interrupted
// responses are left out, because their figures are unreliable. The caller locks the session.
func (c *conversation) observeCache(r *responseStream, n *store.Node) {
	request, ok := cacheRequest(*n, r.event.Usage)
	if !ok || !r.event.UsageKnown || r.err != nil {
		return
	}
	prefix, first := cachewatch.PrefixOf(r.req)
	request.First, request.Compared, request.Unused = first, n.Purpose == store.PurposeCompare, r.event.Finish.Unused
	facts := cachewatch.Facts{Cache: r.model.Cache, Cost: r.model.Cost}
	var e cachewatch.Entry
	e, n.Missed = c.caches.Observe(request, prefix, facts, func(before cachewatch.Request) cachewatch.Cause {
		return c.tree.divergence(before, request)
	})
	n.Cache = &e
}

// ChangesFor returns the changes needed to send the conversation to model.
func (c *conversation) ChangesFor(model llm.Endpoint) []llm.Change {
	c.mu.Lock()
	history, running := messages(c.tree.Path()), c.turnSeq > 0
	c.mu.Unlock()
	_, changes := model.Portable(history)
	if n := countPDFs(history); n > 0 && !model.Accepts("application/pdf") {
		changes = append(changes, llm.Change{What: "PDFs not sent: this model takes none", Count: n})
	}
	if running { // running calls have no result yet
		changes = slices.DeleteFunc(changes, func(change llm.Change) bool { return change.What == llm.ChangeUnfinished })
	}
	return changes
}

func countPDFs(history []llm.Message) (n int) {
	for _, m := range history {
		for _, p := range m.Parts {
			if p.Kind == llm.Media && p.MIME == "application/pdf" {
				n++
			}
		}
	}
	return n
}
