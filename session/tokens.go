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

// Tokens of a request beside its texts: for a message, and for each call and result in
// it; for an image.
const (
	messageOverhead = 10
	imageTokens     = 1500
)

// A tokenCounter estimates what messages and what goes with them take of a model's
// window, each once.
type tokenCounter struct {
	tree      *tree // of the conversation, whose mutex guards what follows
	estimate  func(text string) int
	messages  map[int]int // by Seq
	fixed     [2]int      // what requests take beside messages, without and with tools; 0: not known yet
	toolCount int         // how many tools fixed counts
	branch    branchCounts
}

// reset forgets what requests take beside messages.
func (c *tokenCounter) reset() { c.fixed = [2]int{} }

// message returns about how many tokens n takes in a request. Thinking that the next model is not
// sent counts as well: the estimate is rather too high than too low.
func (c *tokenCounter) message(n store.Node) int {
	if size, ok := c.messages[n.Seq]; ok {
		return size
	}
	size := messageOverhead + EstimateParts(n.Parts, c.estimate)
	if n.Seq > 0 && !n.Partial { // it is in the conversation, whole
		c.messages[n.Seq] = size
	}
	return size
}

// EstimateParts returns about how many tokens parts of a message take in a request; estimate
// returns those of a text.
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

// overhead returns about what a request takes beside its messages. It is the same
// throughout a session, but for a model that gets no tools.
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
// the window is unknown. A share stays free for the response and for what the
// estimate is wrong by.
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

// usualOutput is how many tokens an answer is estimated to have.
const usualOutput = 2000

// estimateRequest returns what the next request to a model may use.
func estimateRequest(t *turn, model llm.Endpoint) llm.Usage {
	var u llm.Usage // an image has a price of its own
	if model.Origin != llm.OriginImages {
		t.mu.Lock()
		u = t.session.estimateInput(model)
		t.mu.Unlock()
		u.Output = usualOutput
	}
	if model.Cost != nil {
		u.Cost, u.Priced = model.Cost(u)
	}
	return u
}

// estimateInput returns about what the next request to a model has, as the history mode leaves
// it, and what of that its provider has in its cache, as far as one knows. The session is locked.
func (s *Session) estimateInput(model llm.Endpoint) (u llm.Usage) {
	req := s.emptyRequest(model)
	overhead := s.tokens.overhead(req)
	whole := s.contextTokensFor(model)
	own := overhead
	for _, n := range s.tree.pathFrom(s.tree.lastPrompt(s.turnSeq)) {
		own += s.tokens.message(n)
	}
	u.Input = whole
	switch s.historyMode() {
	case HistoryStateless:
		u.Input = min(whole, own)
	case HistoryDynamic:
		if room := s.tokens.messageBudget(model, req); room > 0 {
			u.Input = min(whole, max(own, room+overhead))
		}
	}
	if u.Input == whole { // the last request is its prefix
		prefix, _ := cachewatch.PrefixOf(req)
		next := cachewatch.Request{Model: model.Name, At: s.now(), LastSeq: s.tree.head}
		warm := s.caches.CachedTokens(next, prefix, model.Cache, func(before cachewatch.Request) (cachewatch.Cause, string) {
			return s.tree.divergence(before, cachewatch.Request{LastSeq: next.LastSeq, First: before.First})
		})
		u.CacheRead = min(warm, u.Input)
	}
	return u
}

// estimatedUsage completes what a provider counted of a request with estimates of its tokens, at
// the price of the model where that is known.
func estimatedUsage(model llm.Endpoint, u llm.Usage, input, output int) llm.Usage {
	u.Input, u.Output, u.Estimated = max(u.Input, input), max(u.Output, output), true
	u.Priced = false
	if model.Cost != nil {
		u.Cost, u.Priced = model.Cost(u)
	}
	return u.Clamped()
}

// A ModelFit says what a switch to a model would mean for the conversation. The zero value is
// that of an empty conversation.
type ModelFit struct {
	Tokens      int            // about, that the next request takes beside its prompt
	Window      int            // of the model, in tokens; 0: unknown
	Omitted     bool           // the oldest turns are left out, by the history mode
	Images      int            // that it is not told
	Files       map[string]int // that it is not told, by MIME type; nil: none
	Thinking    int            // parts of thinking that it is not told
	Strategy    string         // how it gets the tools on offer, in the words of llm.Endpoint; "" if there are none
	CacheLost   int            // tokens in the cache of the model that answered last, which it has to read anew
	CacheCost   float64        // US dollars for that, if CachePriced
	CachePriced bool
}

// Share returns how much of the model's window the next request takes; 0 if that is not
// known.
func (f ModelFit) Share() float64 {
	if f.Window <= 0 {
		return 0
	}
	return float64(f.Tokens) / float64(f.Window)
}

// EstimateFit says what would happen to the conversation if model were asked next. The model need
// not be open: its facts are enough, and no request is compiled.
func (s *Session) EstimateFit(model llm.Endpoint) ModelFit {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tree.head == 0 {
		return ModelFit{}
	}
	req := s.emptyRequest(model)
	f := ModelFit{Window: model.Context}
	if len(req.Tools) > 0 || model.Strategy == "none" && s.tools != nil && len(s.tools.Tools()) > 0 {
		f.Strategy = model.Strategy
	}
	if s.request.mode == HistoryStateless { // nothing of what was said is sent
		f.Tokens = s.tokens.overhead(req)
		return f
	}
	s.tokens.countOlder(s.request.mode)
	c := s.tokens.countBranch(s.request.mode)
	f.Tokens = s.contextTokensFor(model)
	if room := s.tokens.messageBudget(model, req) + s.tokens.overhead(req); s.request.mode == HistoryDynamic && model.Context > 0 && f.Tokens > room {
		f.Tokens, f.Omitted = room, true
	}
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
	if c.cached > 0 && c.cachedBy != model.Name && s.now().Sub(c.cachedAt) <= c.cachedFor {
		f.CacheLost = c.cached
		if model.Cost != nil { // a share of the request, for a long one has another price
			all := max(f.Tokens, c.cached)
			f.CacheCost, f.CachePriced = model.Cost(llm.Usage{Input: all})
			f.CacheCost *= float64(c.cached) / float64(all)
		}
	}
	return f
}

// mediaType returns the type of an image or a file, without parameters; "" for text, which
// every model is told, and for what is not there.
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

// branchCounts holds what is counted of the messages that requests hold: from the last
// summary on, to the message head. Tokens are counted from the last message on that a
// provider counted; media and thinking before that are counted when they are asked for.
type branchCounts struct {
	head     int            // Seq; 0: nothing is counted
	older    int            // the last message before those that are counted; 0: none
	tokens   int            // about, that they take; what a provider counted last, and an estimate of what came after it
	counted  bool           // a provider counted what requests take beside messages as well
	media    map[string]int // images and files that are no text, by MIME type
	thinking map[string]int // parts of it, by origin

	lastThinking int    // tokens of thinking in the last answer that was counted
	lastOrigin   string // of that answer
	cached       int    // tokens that the last answer left in its provider's cache
	cachedBy     string // its model
	cachedAt     time.Time
	cachedFor    time.Duration // after which they are gone
}

// longestCache is the cache lifetime assumed for a provider that does not
// document one: none keeps a prompt longer unasked.
const longestCache = time.Hour

// countBranch returns what is counted of the current branch. It looks at what came since the
// last time only, if the branch grew. The session is locked.
func (c *tokenCounter) countBranch(mode HistoryMode) branchCounts {
	b := c.branch
	var fresh []int
	at, counted := c.tree.head, false
	for at > 0 && at != b.head && (!counted || b.head > 0 && at > b.head) {
		n := c.tree.at(at)
		fresh = append(fresh, at)
		counted = counted || !n.Partial && countsRequest(*n, mode) // what is older needs no estimate
		if at = n.Parent; n.Summary {
			at = 0
		}
	}
	if at != b.head || b.media == nil { // another branch, or nothing is counted yet of this one
		b = newBranchCounts()
		b.older = at
	}
	whole := true
	for _, seq := range slices.Backward(fresh) {
		n := *c.tree.at(seq)
		if n.Partial && whole { // more comes of it: it is counted anew the next time
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

// countOlder counts the media and the thinking of the messages that countBranch passed over.
// The session is locked.
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

// countsRequest reports whether n holds what a provider counted of the request before it, and
// the next one is made as that was: what left turns out says little about one that does not.
func countsRequest(n store.Node, mode HistoryMode) bool {
	if n.Trimmed && mode == HistoryFull {
		return false
	}
	return n.Usage != nil && !n.Summary && n.Usage.Input > 0 && n.Origin != llm.OriginImages
}

func newBranchCounts() branchCounts {
	return branchCounts{media: map[string]int{}, thinking: map[string]int{}}
}

// add counts a message after the others, which takes about size tokens.
func (c *branchCounts) add(n store.Node, size int, counted bool) {
	if n.Summary { // it stands for all before it
		*c = newBranchCounts()
	}
	c.addMedia(&n)
	c.head = n.Seq
	c.tokens += size
	if counted {
		c.tokens, c.counted = n.Usage.Input+n.Usage.Output-n.Usage.Discarded, true
		if n.Usage.Shared { // whose output is that of others as well
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
			if mime := mediaType(p); mime != "" && !(n.Role == llm.RoleUser && p.Made != "") { // which an answer before it holds
				c.media[mime]++
			}
		case p.Kind == llm.Thinking && n.Role == llm.RoleAssistant:
			c.thinking[n.Origin]++
		}
	}
}
