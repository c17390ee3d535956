package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
)

// A standardOutput writes to standard output, and keeps the first error of that: cobra and
// commands that print a line look at none. The zero value is ready.
type standardOutput struct {
	mu     sync.Mutex
	failed error
}

// Write implements io.Writer.
func (o *standardOutput) Write(p []byte) (int, error) {
	n, err := os.Stdout.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.failed == nil {
			o.failed = err
		}
	}
	return n, err
}

// err returns the first error of writing.
func (o *standardOutput) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed
}

// unfailing hides errors from cobra, which prints them and exits with 0.
type unfailing struct{ io.Writer }

// Write implements io.Writer.
func (u unfailing) Write(p []byte) (int, error) {
	_, _ = u.Writer.Write(p) // a standardOutput keeps the error
	return len(p), nil
}

// result returns what the run ends with: err, with the status to exit with, or that the output
// could not be written.
func result(out *standardOutput, err error) error {
	wrong := out.err()
	switch {
	case wrong == nil, err != nil && !errors.Is(err, wrong):
		return err
	}
	status := exit.Of(wrong)
	var at *fs.PathError
	if errors.As(wrong, &at) {
		wrong = at.Err
	}
	return cmdutil.Fail(status, fmt.Errorf("writing to standard output: %w", wrong))
}
