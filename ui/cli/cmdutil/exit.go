// Package cmdutil holds code shared by parley's subcommands: streams, flags, tables, and errors with an exit status.
package cmdutil

import (
	"errors"
	"fmt"

	"parley/providers/llm"
	"parley/ui/cli/exit"
)

// An ExitError ends the program with a status. Err is nil if there is nothing left to report.
type ExitError struct {
	Status int
	Err    error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprint("exit status ", e.Status)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Exit ends the program with a status and no message; it returns nil for exit.OK.
func Exit(status int) error {
	if status == exit.OK {
		return nil
	}
	return &ExitError{Status: status}
}

// Fail wraps err with an exit status, unless its kind has one of its own; nil if err is nil.
func Fail(status int, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(UsageError)):
		status = exit.Usage
	case llm.FaultOf(err) == llm.Authentication, llm.FaultOf(err) == llm.ModelNotFound:
		status = exit.Config
	}
	return &ExitError{status, err}
}

// Usage marks err as an error in the command line.
func Usage(err error) error { return UsageError{err} }

// A UsageError marks an error in the command line.
type UsageError struct{ Err error }

func (m UsageError) Error() string { return m.Err.Error() }

func (m UsageError) Unwrap() error { return m.Err }

// Usagef is fmt.Errorf for an error in the command line.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// Config marks err as an error in the configuration.
func Config(err error) error { return Fail(exit.Config, err) }
