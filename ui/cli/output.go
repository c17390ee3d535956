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

// A standardOutput writes to standard output and keeps the first error, which cobra and commands that print a line
// ignore. The zero value is ready.
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

// err returns the first write error.
func (o *standardOutput) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed
}

// unfailing hides write errors from cobra, which would print them and exit with 0.
type unfailing struct{ io.Writer }

// Write implements io.Writer.
func (u unfailing) Write(p []byte) (int, error) {
	_, _ = u.Writer.Write(p) // a standardOutput keeps the error
	return len(p), nil
}

// result returns the final error of a run: err with its exit status, or a failed write to the output.
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
