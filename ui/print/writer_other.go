//go:build !linux

package print

import (
	"os"
	"time"
)

// inputTimeout sets how long an input without a known writer is waited for: longer
// than where the writer can be told.
const inputTimeout = 30 * time.Second

// inputHasWriter reports whether f is a file. Who holds the other end of a pipe
// cannot be told here.
func inputHasWriter(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}
