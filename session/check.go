package session

import (
	"context"
	"iter"
	"sync"

	"parley/providers/llm"
)

// A Check decides after the last answer of a turn whether the turn may end. It returns the prompt with
// which the model continues. Without a prompt the turn ends, with the error if it is not nil. Emit shows
// events to the user.
type Check func(ctx context.Context, emit func(Event)) (prompt []llm.Part, err error)

// A turnCheck is the check of the running turn or the next one. The zero value has none.
type turnCheck struct {
	lock  sync.Mutex
	check *Check // nil: none

	calls context.Context // of the running turn that calls check before it ends; nil: none does
}

// Set makes the running turn, or else the next one that answers a prompt, call check before it ends; nil removes a
// check. It is kept after an error, for a turn that tries again, but not after a cancellation.
func (c *turnCheck) Set(check Check) {
	next := &check
	if check == nil {
		next = nil
	}
	set(&c.lock, &c.check, next)
}

// SetRunning is Set for the running turn only. It reports whether that calls check: a comparison does not, nor a
// turn that is ending.
func (c *turnCheck) SetRunning(check Check) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.calls == nil || c.calls.Err() != nil {
		return false
	}
	c.check = &check
	return true
}

// begin notes that the running turn, with this context, calls check before it ends.
func (c *turnCheck) begin(ctx context.Context) { set(&c.lock, &c.calls, ctx) }

// next removes the check ended, unless another has replaced it, and returns the one to call. Without one, the turn
// with this context ends and takes no more.
func (c *turnCheck) next(ctx context.Context, ended *Check) *Check {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.check == ended {
		c.check = nil
	}
	if c.calls = ctx; c.check == nil {
		c.calls = nil
	}
	return c.check
}

// end notes that a turn with this context has ended.
func (c *turnCheck) end(ctx context.Context) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.calls != nil && ctx.Err() != nil {
		c.check = nil
	}
	c.calls = nil
}

// TurnFromCheck calls the session's check, and answers the check's prompt as Turn does.
func (s *Session) TurnFromCheck(ctx context.Context) iter.Seq[Event] {
	return s.loop(ctx, func(t *turn) error {
		if again, err := runCheck(t); !again {
			return err
		}
		return answer(t)
	})
}

// runCheck calls the check after the last answer, and begins a turn with the prompt that it returns.
func runCheck(t *turn) (again bool, err error) {
	for {
		check := t.session.Check.next(t.ctx, nil)
		if check == nil || t.ctx.Err() != nil {
			return false, nil
		}
		parts, err := (*check)(t.ctx, t.emit)
		if len(parts) > 0 && err == nil && get(&t.session.Check.lock, &t.session.Check.check) == check { // not removed or replaced while it ran
			t.prompt(llm.Message{Role: llm.RoleUser, Parts: parts})
			return true, nil
		}
		if next := t.session.Check.next(t.ctx, check); err != nil && next == nil || t.ctx.Err() != nil {
			return false, err
		} else if err != nil {
			t.notice("%v", err)
		}
	}
}
