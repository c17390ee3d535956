package session

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/session/cachewatch"
	"parley/session/store"
)

// Token overhead of a message, and of each call and result in it; tokens of an image.
const (
	messageOverhead = 10
	imageTokens     = 1500
)

// A tokenCounter estimates the tokens of messages and of the rest of a request,
// each once.
type tokenCounter struct {
	tree      *tree // the conversation's tree, whose mutex guards the fields below
	estimate  func(text string) int
	messages  map[int]int // by Seq
	fixed     [2]int      // tokens of a request besides its messages, without and with tools; 0: unknown
	toolCount int         // number of tools counted in fixed
	branch    branchCounts
}

// reset discards the counts of everything but messages.
func (c *tokenCounter) reset() { c.fixed = [2]int{} }

// message returns about how many tokens n takes in a request. Thinking counts even if it is not
// sent to the next model, so the estimate tends to be too high.
func (c *tokenCounter) message(n store.Node) int {
	if size, ok := c.messages[n.Seq]; ok {
		return size
	}
	size := messageOverhead + EstimateParts(n.Parts, c.estimate)
	if n.Seq > 0 && !n.Partial { // a complete message of the conversation
		c.messages[n.Seq] = size
	}
	return size
}

// EstimateParts returns about how many tokens parts of a message take in a request; estimate
// returns the tokens of a text.
func EstimateParts(parts []llm.Part, estimate func(text string) int) (tokens int) {
	for i := range parts {
		p := &parts[i]
		switch p.Kind {
		case llm.Media:
			tokens += imageTokens
		case llm.Call, llm.Result:
			tokens += messageOverhead
		}
		tokens += estimate(p.Text) + estimate(p.Input)
	}
	return tokens
}

// overhead returns about how many tokens a request takes besides its messages. It
// is constant throughout a session, except for a model without tools.
func (c *tokenCounter) overhead(req llm.Request) int {
	if c.fixed[0] == 0 {
		c.fixed[0] = c.estimate(req.System) + 1
	}
	if len(req.Tools) == 0 {
		return c.fixed[0]
	}
	if c.fixed[1] == 0 || c.toolCount != len(req.Tools) {
		c.fixed[1], c.toolCount = c.fixed[0], len(req.Tools)
		for _, t := range req.Tools {
			c.fixed[1] += c.estimate(t.Description) + c.estimate(string(t.Schema)) + messageOverhead
		}
	}
	return c.fixed[1]
}

// messageBudget returns how many tokens of the model's window messages may take; 0 if
// the window is unknown. A share stays free for the response and for errors of the
// estimate.
func (c *tokenCounter) messageBudget(model llm.Endpoint, req llm.Request) int {
	if model.Context <= 0 {
		return 0
	}
	response := min(model.Context/4, 16<<10)
	if req.MaxTokens > 0 {
		response = min(req.MaxTokens, model.Context/2)
	}
	return max(model.Context*9/10-response-c.overhead(req), 1)
}

// usualOutput is the estimated length of an answer in tokens.
const usualOutput = 2000

// estimate estimates the usage of the next request to a model.
func (r *nextRequest) estimate(model llm.Endpoint) llm.Usage {
	var u llm.Usage // images are priced separately
	if model.Origin != llm.OriginImages {
		u = locked(&r.conversation.mu, func() llm.Usage { return r.estimateInput(model) })
		u.Output = usualOutput
	}
	if model.Cost != nil {
		u.Cost, u.Priced = model.Cost(u)
	}
	return u
}

// estimateInput estimates the input of the next request to a model under the history mode, and
// how much of it the provider may have cached. The caller locks the session.
func (r *nextRequest) estimateInput(model llm.Endpoint) (u llm.Usage) {
	req := r.empty(model)
	overhead := r.tokens.overhead(req)
	whole := r.contextTokensFor(model)
	own := overhead
	for _, n := range r.conversation.tree.pathFrom(r.conversation.tree.lastPrompt(r.conversation.turnSeq)) {
		own += r.tokens.message(n)
	}
	u.Input = whole
	switch r.historyMode() {
	case HistoryStateless:
		u.Input = min(whole, own)
	case HistoryDynamic:
		if room := r.tokens.messageBudget(model, req); room > 0 {
			u.Input = min(whole, max(own, room+overhead))
		}
	}
	if u.Input == whole { // the last request is a prefix of this one
		prefix, _ := cachewatch.PrefixOf(req)
		next := cachewatch.Request{Model: model.Name, At: r.conversation.now(), LastSeq: r.conversation.tree.head}
		warm := r.conversation.caches.CachedTokens(next, prefix, model.Cache, func(before cachewatch.Request) cachewatch.Cause {
			return r.conversation.tree.divergence(before, cachewatch.Request{LastSeq: next.LastSeq, First: before.First})
		})
		u.CacheRead = min(warm, u.Input)
	}
	return u
}

// estimatedUsage completes a provider's usage with estimated tokens, priced by the model if its
// price is known.
func estimatedUsage(model llm.Endpoint, u llm.Usage, input, output int) llm.Usage {
	u.Input, u.Output, u.Estimated = max(u.Input, input), max(u.Output, output), true
	u.Priced = false
	if model.Cost != nil {
		u.Cost, u.Priced = model.Cost(u)
	}
	return u.Clamped()
}

// A ModelFit describes the effects of a switch to a model. The zero value is for an empty
// conversation.
type ModelFit struct {
	Tokens    int            // approximate tokens of the next request without its prompt
	Window    int            // of the model, in tokens; 0: unknown
	Omitted   bool           // the history mode leaves out the oldest turns
	Images    int            // images not sent to it
	Files     map[string]int // files not sent to it, by MIME type; nil: none
	Thinking  int            // thinking parts not sent to it
	Strategy  string         // how it gets the offered tools, in the words of llm.Endpoint; "" if there are none
	CacheLost int            // cached tokens of the last model that this one has to read again
}

// Share returns the share of the model's window that the next request takes; 0 if
// unknown.
func (f ModelFit) Share() float64 {
	if f.Window <= 0 {
		return 0
	}
	return float64(f.Tokens) / float64(f.Window)
}

// EstimateFit describes the effects of asking model next. The model need not be open, only its
// facts are used, and no request is compiled.
func (r *nextRequest) EstimateFit(model llm.Endpoint) ModelFit {
	r.conversation.mu.Lock()
	defer r.conversation.mu.Unlock()
	if r.conversation.tree.head == 0 {
		return ModelFit{}
	}
	req := r.empty(model)
	f := ModelFit{Window: model.Context}
	if len(req.Tools) > 0 || model.Strategy == "none" && r.tools != nil && len(r.tools.Tools()) > 0 {
		f.Strategy = model.Strategy
	}
	if f.Tokens, f.Omitted = r.estimateTokens(model, req); r.mode == HistoryStateless { // no earlier messages are sent
		return f
	}
	r.tokens.countOlder(r.mode)
	c := r.tokens.countBranch(r.mode)
	for mime, n := range c.media {
		switch {
		case model.Accepts(mime):
		case strings.HasPrefix(mime, "image/"):
			f.Images += n
		default:
			if f.Files == nil {
				f.Files = map[string]int{}
			}
			f.Files[mime] += n
		}
	}
	for origin, n := range c.thinking {
		if origin != model.Origin {
			f.Thinking += n
		}
	}
	if c.cached > 0 && c.cachedBy != model.Name && r.conversation.now().Sub(c.cachedAt) <= c.cachedFor {
		f.CacheLost = c.cached
	}
	return f
}

// EstimateTokens returns ModelFit.Tokens alone, without reading the whole conversation.
func (r *nextRequest) EstimateTokens(model llm.Endpoint) (tokens int) {
	r.conversation.mu.Lock()
	defer r.conversation.mu.Unlock()
	if r.conversation.tree.head > 0 {
		tokens, _ = r.estimateTokens(model, r.empty(model))
	}
	return tokens
}

func (r *nextRequest) estimateTokens(model llm.Endpoint, req llm.Request) (tokens int, omitted bool) {
	overhead := r.tokens.overhead(req)
	if r.mode == HistoryStateless {
		return overhead, false
	}
	tokens = r.contextTokensFor(model)
	if room := r.tokens.messageBudget(model, req) + overhead; r.mode == HistoryDynamic && model.Context > 0 && tokens > room {
		return room, true
	}
	return tokens, false
}

// mediaType returns the type of an image or a file without parameters; "" for text, which
// every model can read, and for absent media.
func mediaType(p llm.Part) string {
	kind, _, _ := strings.Cut(strings.ToLower(p.MIME), ";")
	kind = strings.TrimSpace(kind)
	binary := strings.HasPrefix(kind, "image/") || strings.HasPrefix(kind, "audio/") || strings.HasPrefix(kind, "video/") || kind == "application/pdf"
	switch {
	case len(p.Data) == 0 && p.URL == "":
		return ""
	case !binary && len(p.Data) > 0 && (strings.HasPrefix(kind, "text/") || utf8.Valid(p.Data) && bytes.IndexByte(p.Data, 0) < 0):
		return ""
	}
	return kind
}

// branchCounts holds the counts for the messages that requests include: from the last
// summary to the message head. Tokens are counted from the last message with a
// provider's count; media and thinking before that are counted on demand.
type branchCounts struct {
	head     int            // Seq; 0: nothing is counted
	older    int            // Seq of the last uncounted message before them; 0: none
	tokens   int            // approximate tokens: the provider's last count plus an estimate of later messages
	counted  bool           // the provider's count includes the overhead of requests
	media    map[string]int // images and binary files, by MIME type
	thinking map[string]int // thinking parts, by origin

	lastThinking int    // thinking tokens of the last counted answer
	lastOrigin   string // of that answer
	cached       int    // tokens that the last answer left in its provider's cache
	cachedBy     string // its model
	cachedAt     time.Time
	cachedFor    time.Duration // lifetime of that cache
}

// longestCache is the cache lifetime assumed for a provider that does not
// document one; none keeps a prompt longer by default.
const longestCache = time.Hour

// countBranch returns the counts of the current branch. If the branch has only grown, it
// reads only the new messages. The caller locks the session.
func (c *tokenCounter) countBranch(mode HistoryMode) branchCounts {
	b := c.branch
	var fresh []int
	at, counted := c.tree.head, false
	for at > 0 && at != b.head && (!counted || b.head > 0 && at > b.head) {
		n := c.tree.at(at)
		fresh = append(fresh, at)
		counted = counted || !n.Partial && countsRequest(*n, mode) // older messages need no estimate
		if at = n.Parent; n.Summary {
			at = 0
		}
	}
	if at != b.head || b.media == nil { // another branch, or one not counted yet
		b = newBranchCounts()
		b.older = at
	}
	whole := true
	for _, seq := range slices.Backward(fresh) {
		n := *c.tree.at(seq)
		if n.Partial && whole { // still growing: counted again next time
			c.branch, whole = b, false
			b.media, b.thinking = maps.Clone(b.media), maps.Clone(b.thinking)
		}
		b.add(n, c.message(n), countsRequest(n, mode))
	}
	if whole && c.tree.unread == nil {
		c.branch = b
	}
	return b
}

// countOlder counts the media and the thinking of messages that countBranch skipped. The
// caller locks the session.
func (c *tokenCounter) countOlder(mode HistoryMode) {
	c.countBranch(mode)
	b, older := &c.branch, newBranchCounts()
	for at := b.older; at > 0; {
		n := c.tree.at(at)
		older.addMedia(n)
		if at = n.Parent; n.Summary {
			break
		}
	}
	if c.tree.unread != nil {
		return
	}
	for mime, n := range older.media {
		b.media[mime] += n
	}
	for origin, n := range older.thinking {
		b.thinking[origin] += n
	}
	b.older = 0
}

// countsRequest reports whether n has a provider's count of its request, and the next request
// is built alike: a count of a trimmed request says little about an untrimmed one.
func countsRequest(n store.Node, mode HistoryMode) bool {
	if n.Trimmed && mode == HistoryFull {
		return false
	}
	return n.Usage != nil && !n.Summary && n.Usage.Input > 0 && n.Origin != llm.OriginImages
}

func newBranchCounts() branchCounts {
	return branchCounts{media: map[string]int{}, thinking: map[string]int{}}
}

// add adds a message of about size tokens to the counts.
func (c *branchCounts) add(n store.Node, size int, counted bool) {
	if n.Summary { // a summary replaces all messages before it
		*c = newBranchCounts()
	}
	c.addMedia(&n)
	c.head = n.Seq
	c.tokens += size
	if counted {
		c.tokens, c.counted = n.Usage.Input+n.Usage.Output-n.Usage.Discarded, true
		if n.Usage.Shared { // its output includes that of other answers
			c.tokens += size - n.Usage.Output
		}
		c.lastThinking, c.lastOrigin = n.Usage.Thinking, n.Origin
		c.cached, c.cachedBy, c.cachedAt = min(n.Usage.CacheRead+n.Usage.CacheWrite, c.tokens), n.Model, n.At.Add(n.Duration)
		c.cachedFor = longestCache
		if n.Cache != nil && n.Cache.Lifetime > 0 {
			c.cachedFor = n.Cache.Lifetime
		}
	}
}

// addMedia counts the media and the thinking of a message.
func (c *branchCounts) addMedia(n *store.Node) {
	for _, p := range n.Parts {
		switch {
		case p.Kind == llm.Media:
			if mime := mediaType(p); mime != "" && !(n.Role == llm.RoleUser && p.Made != "") { // the image is already counted in an earlier answer
				c.media[mime]++
			}
		case p.Kind == llm.Thinking && n.Role == llm.RoleAssistant:
			c.thinking[n.Origin]++
		}
	}
}
