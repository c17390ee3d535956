package session

import (
	"fmt"

	"parley/providers/llm"
)

// A spending holds what a session has used so far, and what it may cost.
type spending struct {
	maxCost                     float64 // US dollars; 0: no limit
	total, last                 llm.Usage
	hasUnpriced, warnedUnpriced bool // the price of a response is unknown; the user was told
}

// Usage returns what the session used so far, and what its last response used,
// whose Input and Output together are what fills the model's window.
func (s *Session) Usage() (total, last llm.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total, s.last
}

// addUsage adds to the totals of the session and of the turn. The session is
// locked.
func (t *turn) addUsage(u llm.Usage) {
	t.hasUnpriced = t.hasUnpriced || !u.Priced
	t.total = t.total.Add(u)
	t.done.Usage = t.done.Usage.Add(u)
}

// checkBudget returns ErrBudget once the session has cost what it may. Once it
// tells that a price is unknown.
func (t *turn) checkBudget() error {
	total, _ := t.Usage()
	if t.maxCost > 0 && t.hasUnpriced && !t.warnedUnpriced {
		t.warnedUnpriced = true
		t.emit(llm.Notice{Text: "an answer has no known price: the spending limit does not count it"})
	}
	if t.maxCost > 0 && total.Cost >= t.maxCost {
		return fmt.Errorf("%w: $%.2f of $%.2f", ErrBudget, total.Cost, t.maxCost)
	}
	return nil
}

// estimateUsage counts a response that broke off or was stopped, of which providers
// report nothing, or only what was sent: it is paid for all the same. The price of
// an estimate is not known.
func (t *turn) estimateUsage(r *Response) {
	size := 0
	for _, p := range r.Message.Parts {
		if !p.Remote {
			size += t.tokens.estimate(p.Text) + t.tokens.estimate(p.Input)
		}
	}
	if size <= r.Usage.Output || len(r.Message.Parts) == 0 {
		return
	}
	if r.Usage.Input == 0 {
		r.Usage.Input = t.ContextTokens()
	}
	r.Usage.Output, r.Usage.Priced, r.UsageKnown = size, false, true
}
