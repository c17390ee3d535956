// Package exit defines the exit statuses of the program, and ends it early on signals and when the reader of its output
// leaves.
package exit

import (
	"context"
	"errors"
	"syscall"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app/wording"
)

// Exit statuses of the program.
const (
	OK         = 0
	Failed     = 1        // provider or network error, or the command of --until
	Usage      = 2        // usage or input
	Config     = 3        // configuration or authentication
	Steps      = 4        // turn limit
	Limit      = 5        // budget or time limit
	Denied     = 6        // a needed permission was denied
	Schema     = 7        // the answer does not fit the schema
	Incomplete = 8        // length, filter, or nothing of the requested kind
	Mismatch   = 9        // the request is not in the replayed recording
	Unread     = 128 + 13 // the reader of the pipe left: as if SIGPIPE had ended the program
)

// Status is an exit status and its meaning.
type Status struct{ Status, Means string }

// Statuses lists every status for the manual.
var Statuses = []Status{
	{"0", "Done."},
	{"1", "Provider or network error, output that cannot be written, or the command of --until failed."},
	{"2", "Usage or input."},
	{"3", "Configuration or authentication."},
	{"4", "Turn limit (--max-turns)."},
	{"5", "Budget or time limit (--max-cost, --timeout, [budget])."},
	{"6", "A needed permission was denied."},
	{"7", "The answer does not fit the schema (--schema)."},
	{"8", "The answer was cut off, blocked, or lacks the requested part; or the provider refused an image or video."},
	{"9", "The request is not in the recording (--replay)."},
	{"128+n", "Ended by signal n; 141: the reader of the pipe left."},
}

// Interrupted is the cause of a cancellation by a signal.
type Interrupted struct{ Signal syscall.Signal }

func (i Interrupted) Error() string { return "ended by signal: " + i.Signal.String() }

// Is makes errors.Is(i, context.Canceled) true.
func (i Interrupted) Is(err error) bool { return err == context.Canceled }

// Of returns the exit status for an error; OK for nil.
func Of(err error) int {
	var by Interrupted
	switch {
	case err == nil:
		return OK
	case errors.As(err, &by):
		return 128 + int(by.Signal)
	case errors.Is(err, session.ErrNotAllowed):
		return Denied
	case errors.Is(err, session.ErrSteps):
		return Steps
	case errors.Is(err, session.ErrBudget), errors.Is(err, wording.ErrTimeout):
		return Limit
	case errors.Is(err, session.ErrSchema):
		return Schema
	case errors.Is(err, wording.ErrPipe), isBrokenPipe(err):
		return Unread
	case llm.FaultOf(err) == llm.Authentication:
		return Config
	case llm.FaultOf(err) == llm.ContentFilter:
		return Incomplete
	case llm.FaultOf(err) == llm.Mismatch:
		return Mismatch
	}
	return Failed
}
