package embedding

import (
	"context"
	"sync"
)

// A gate limits concurrent requests. It halves the limit after a rate-limited request, and raises it by one after
// 2*limit requests without that.
type gate struct {
	ctx  context.Context
	most int

	mu          sync.Mutex
	free        *sync.Cond
	busy, limit int
	passed      int // requests since limit changed
}

// newGate returns a gate for at most most requests at once. It closes when ctx ends.
func newGate(ctx context.Context, most int) *gate {
	g := &gate{ctx: ctx, most: most, limit: most}
	g.free = sync.NewCond(&g.mu)
	context.AfterFunc(ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.free.Broadcast()
	})
	return g
}

// enter waits until another request may be sent.
func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.busy >= g.limit && g.ctx.Err() == nil {
		g.free.Wait()
	}
	if g.ctx.Err() != nil {
		return context.Cause(g.ctx)
	}
	g.busy++
	return nil
}

// leave ends a request; tooFast means that it was rate limited.
func (g *gate) leave(tooFast bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy--
	g.passed++
	switch {
	case tooFast:
		g.limit, g.passed = max(1, g.limit/2), 0
	case g.passed >= 2*g.limit && g.limit < g.most:
		g.limit, g.passed = g.limit+1, 0
	}
	g.free.Broadcast()
}
