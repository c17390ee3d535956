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
	silenceAttended = 30 * time.Minute // a user sees it and can stop it
	silence         = 5 * time.Minute
	silenceDeep     = 15 * time.Minute // effort above medium
)

// deepBudget is the budget of thinking, in tokens, from which on it counts as an
// effort above medium.
const deepBudget = 12_000

// A patient model says how long its answers may go without content.
type patient struct {
	llm.Model
	idle     time.Duration // of the configuration; 0 if it does not say
	attended bool
}

// Stream implements llm.Model.
func (m patient) Stream(ctx context.Context, req llm.Request) llm.Stream {
	ctx, _ = llm.WithPulse(ctx, m.limit(req))
	return m.Model.Stream(ctx, req)
}

// limit returns the longest time without content for the answer to req.
func (m patient) limit(req llm.Request) time.Duration {
	switch {
	case m.idle > 0:
		return m.idle
	case m.attended:
		return silenceAttended
	case req.Effort == llm.EffortHigh, req.Effort == llm.EffortMax, req.Budget >= deepBudget:
		return silenceDeep
	}
	return silence
}
