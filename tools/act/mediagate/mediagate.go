// Package mediagate limits how much unprepared media of tool calls is in memory.
package mediagate

import "context"

// A Gate allows one action at a time to have unprepared media in memory: they may be large,
// and many times larger as pixels. Its capacity is 1.
type Gate chan struct{}

// A Turn is an action's turn at a Gate. It is for one goroutine.
type Turn struct {
	gate   Gate
	ctx    context.Context
	passed bool
}

// turnKey is the key of a *Turn in a context.
type turnKey struct{}

// Turn returns a context for act.Action.Run, which waits for its turn before it reads media. The
// turn lasts until End; media must be prepared by then.
func (g Gate) Turn(ctx context.Context) (context.Context, *Turn) {
	turn := &Turn{gate: g, ctx: ctx}
	return context.WithValue(ctx, turnKey{}, turn), turn
}

// Wait waits until no other action has the turn, and returns an error if the context ends first.
func (m *Turn) Wait() error {
	if m == nil || m.passed {
		return nil
	}
	select {
	case m.gate <- struct{}{}:
		m.passed = true
		return nil
	case <-m.ctx.Done():
		return context.Cause(m.ctx)
	}
}

// End passes the turn to the next action.
func (m *Turn) End() {
	if m.passed {
		<-m.gate
		m.passed = false
	}
}

// Await waits until media may be read.
func Await(ctx context.Context) error {
	turn, _ := ctx.Value(turnKey{}).(*Turn)
	return turn.Wait()
}
