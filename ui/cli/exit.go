package cli

import (
	"errors"

	"parley/providers/llm"
	"parley/ui/app"
	"parley/ui/print"
)

// usageError marks an error as one of what was typed.
func usageError(err error) error { return app.UsageError{Err: err} }

// fail keeps the status to exit with.
func (a *program) fail(status int, err error) error {
	var typed app.UsageError
	switch {
	case errors.As(err, &typed):
		status = print.Usage
	case llm.FaultOf(err) == llm.Authentication, llm.FaultOf(err) == llm.ModelNotFound:
		status = print.Config
	}
	a.status = status
	return err
}
