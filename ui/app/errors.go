package app

import (
	"context"
	"errors"

	"parley/providers/llm"
	"parley/session"
)

// Hint says what a user can do about the error that ended a turn.
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
	{session.ErrSteps, "raise the limit with --max-turns, or split the task"},
	{session.ErrBudget, "raise the limit with --max-cost"},
	{session.ErrSchema, "this model does not follow the schema: use another one, or split the task"},
	{ErrTimeout, "raise the limit with --timeout"},
	{ErrPipe, ""},
	{context.Canceled, ""},
}

// ErrTimeout is the cause of a cancel by --timeout.
var ErrTimeout = errors.New("the time limit was reached")

// ErrPipe is the cause of a cancel because nobody reads standard output.
var ErrPipe = errors.New("standard output was closed by its reader")

// A UsageError marks an error as one of what was typed.
type UsageError struct{ Err error }

func (m UsageError) Error() string { return m.Err.Error() }

func (m UsageError) Unwrap() error { return m.Err }
