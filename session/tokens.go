package session

import (
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session/cachewatch"
	"parley/session/store"
)

// What a request takes beside texts, in tokens: a message, and each call and result in
// it; an image.
const (
	messageOverhead = 10
	imageTokens     = 1500
)

// A tokenCounter estimates what messages and what goes with them take of a model's
// window, each once.
type tokenCounter struct {
	estimate  func(text string) int
	messages  map[int]int // by Seq
	fixed     [2]int      // what requests take beside messages, without and with tools; 0: not known yet
	toolCount int         // how many tools fixed counts
	branch    branchCounts
}

// reset forgets what requests take beside messages.
func (c *tokenCounter) reset() { c.fixed = [2]int{} }

// message returns about how many tokens n takes in a request. What will be
// thought of as private by the next model is counted all the same: too much is
// left out rather than too little.
func (c *tokenCounter) message(n store.Node) int {
	if size, ok := c.messages[n.Seq]; ok {
		return size
	}
	size := messageOverhead
	for _, p := range n.Parts {
		switch p.Kind {
		case llm.Media:
			size += imageTokens
		case llm.Call, llm.Result:
			size += messageOverhead
		}
		size += c.estimate(p.Text) + c.estimate(p.Input)
	}
	if n.Seq > 0 && !n.Partial { // it is in the conversation, whole
		c.messages[n.Seq] = size
	}
	return size
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

// usualOutput is how many tokens an answer is estimated to have.
const usualOutput = 2000

// estimateRequest returns what the next request to a model may use.
func estimateRequest(t *turn, model llm.Endpoint) llm.Usage {
	var u llm.Usage // an image has a price of its own
	if model.Origin != llm.OriginImages {
		t.mu.Lock()
		u = estimateInput(t.Session, model)
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
func estimateInput(s *Session, model llm.Endpoint) (u llm.Usage) {
	req := s.emptyRequest(model)
	overhead := s.tokens.overhead(req)
	whole := s.contextTokens()
	if c := countBranch(s); c.lastOrigin != model.Origin { // which is not told it
		whole -= c.lastThinking
	}
	own := overhead
	for _, n := range s.tree.pathFrom(s.tree.lastPrompt(s.turnSeq)) {
		own += s.tokens.message(n)
	}
	u.Input = whole
	switch s.historyMode() {
	case HistoryStateless:
		u.Input = min(whole, own)
	case HistoryDynamic:
		if room := s.messageBudget(model, req); room > 0 {
			u.Input = min(whole, max(own, room+overhead))
		}
	}
	if u.Input == whole { // what was sent before stands in front of it
		prefix, _ := cachewatch.PrefixOf(req)
		next := cachewatch.Request{Model: model.Name, At: s.now(), To: s.tree.head}
		warm := s.caches.Warm(next, prefix, model.Cache, func(before cachewatch.Request) (cachewatch.Cause, string) {
			return s.tree.divergence(before, cachewatch.Request{To: next.To, First: before.First})
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

// An Expense is what a Question is about when requests are estimated to cost much.
type Expense struct {
	Model  string  // or several
	Tokens int     // of its input; 0 of an image
	Cost   float64 // US dollars
}

// String says what the request may cost.
func (e Expense) String() string {
	if e.Tokens == 0 {
		return fmt.Sprintf("about %s for the next request to %s", dollars(e.Cost), e.Model)
	}
	return fmt.Sprintf("about %s for the next request: %d tokens to %s", dollars(e.Cost), e.Tokens, e.Model)
}

// confirmExpense asks before requests to models which are estimated to cost much, once in a turn. Where nobody can be asked it is told. Models without
// a known price are not counted.
func confirmExpense(t *turn, models []llm.Endpoint) error {
	if t.confirmCost <= 0 || t.asked.expense {
		return nil
	}
	var about Expense
	var names []string
	for _, m := range models {
		estimate := estimateRequest(t, m)
		if !estimate.Priced || !(estimate.Cost > 0) {
			continue
		}
		about.Tokens, about.Cost = about.Tokens+estimate.Input, about.Cost+estimate.Cost
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	if about.Cost <= t.confirmCost {
		return nil
	}
	about.Model, t.asked.expense = strings.Join(names, ", "), true
	if !t.attended {
		t.emit(llm.Notice{Text: about.String()})
		return nil
	}
	if decide(t, Question{About: about, Choices: []Choice{{Action: SendAnyway}, {Action: StopTurn}}}).Action == StopTurn {
		return t.cause(errStoppedAtQuestion)
	}
	return nil
}
