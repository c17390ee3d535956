package print

import (
	"context"
	"errors"
	"time"

	"parley/providers/llm"
	"parley/session"
)

// Hint says what a person can do about the error that ended a turn.
func Hint(err error) string {
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return h.hint
		}
	}
	return llm.Hint(err)
}

// hints holds the advice for errors that are not a model's.
var hints = []struct {
	err  error
	hint string
}{
	{session.ErrSteps, "raise the limit with --max-turns, or ask for less at once"},
	{session.ErrBudget, "raise the limit with --max-cost"},
	{ErrTimeout, "raise the limit with --timeout"},
	{ErrPipe, ""},
	{context.Canceled, ""},
}

// category is the word for err that scripts can rely on.
func category(err error) string {
	switch {
	case errors.Is(err, session.ErrSteps):
		return "turn_limit"
	case errors.Is(err, session.ErrBudget):
		return "budget"
	case errors.Is(err, ErrTimeout):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return string(llm.FaultOf(err))
}

func waitOf(err error) time.Duration {
	var e *llm.Error
	if errors.As(err, &e) {
		return e.Wait
	}
	return 0
}
