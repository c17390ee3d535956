package providers

import (
	"context"
	"time"

	"parley/providers/llm"
)

// How long a model may go without content while its server gives signs of life,
// unless idle_timeout says otherwise. Without any byte the client's own limit
// counts.
const (
	contentTimeoutAttended   = 30 * time.Minute // a user sees it and can stop it
	contentTimeoutDefault    = 5 * time.Minute
	contentTimeoutHighEffort = 15 * time.Minute // effort above medium
)

// highEffortBudget is the budget of thinking, in tokens, from which on it counts as an
// effort above medium.
const highEffortBudget = 12_000

// A contentTimeout model says how long its answers may go without content.
type contentTimeout struct {
	llm.Model
	configured time.Duration // of the configuration; 0 if it does not say
	attended   bool
}

// Stream implements llm.Model.
func (m contentTimeout) Stream(ctx context.Context, req llm.Request) llm.Stream {
	ctx, _ = llm.WithPulse(ctx, m.timeout(req))
	return m.Model.Stream(ctx, req)
}

// timeout returns the longest time without content for the answer to req.
func (m contentTimeout) timeout(req llm.Request) time.Duration {
	switch {
	case m.configured > 0:
		return m.configured
	case m.attended:
		return contentTimeoutAttended
	case req.Effort == llm.EffortHigh, req.Effort == llm.EffortMax, req.Budget >= highEffortBudget:
		return contentTimeoutHighEffort
	}
	return contentTimeoutDefault
}
