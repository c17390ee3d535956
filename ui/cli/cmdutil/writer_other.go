//go:build !linux

package cmdutil

import (
	"os"
	"time"
)

// inputTimeout is how long to wait for input. It is longer than on Linux, where a missing writer can be detected.
const inputTimeout = 30 * time.Second

// inputHasWriter reports whether f is a regular file. This system does not tell the writers of a pipe.
func inputHasWriter(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}
