// Package cmdutil has what parley's subcommands share: streams, flags, tables, and errors with an
// exit status.
package cmdutil

import (
	"errors"
	"fmt"

	"parley/providers/llm"
	"parley/ui/app"
	"parley/ui/print"
)

// An ExitError ends the program with a status. Err is nil if nothing is left to report.
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

// Exit ends the program with a status and no message; it returns nil for print.OK.
func Exit(status int) error {
	if status == print.OK {
		return nil
	}
	return &ExitError{Status: status}
}

// Fail returns err with an exit status, unless its kind has one of its own; nil if err is nil.
func Fail(status int, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(app.UsageError)):
		status = print.Usage
	case llm.FaultOf(err) == llm.Authentication, llm.FaultOf(err) == llm.ModelNotFound:
		status = print.Config
	}
	return &ExitError{status, err}
}

// Usage marks err as an error of what was typed.
func Usage(err error) error { return app.UsageError{Err: err} }

// Config marks err as an error of the configuration.
func Config(err error) error { return Fail(print.Config, err) }
