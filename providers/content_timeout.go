package providers

import (
	"context"
	"time"

	"parley/providers/llm"
)

// Longest time without content while the server keeps the connection alive, unless idle_timeout is
// set. Without any bytes, the limit of the client applies.
const (
	contentTimeoutAttended   = 30 * time.Minute // a user watches and can stop the answer
	contentTimeoutDefault    = 5 * time.Minute
	contentTimeoutHighEffort = 15 * time.Minute // effort above medium
)

// highEffortBudget is the smallest thinking budget, in tokens, that counts as an effort above
// medium.
const highEffortBudget = 12_000

// contentTimeout sets how long the answers of a model may go without content.
type contentTimeout struct {
	llm.Model
	configured time.Duration // from the configuration; 0 if unset
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
