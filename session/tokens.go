package session

import (
	"parley/providers/llm"
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
