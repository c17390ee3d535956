// Package heap lets the heap of tests that import it grow. Most of them hold a few megabytes and
// throw away many times as much, so that a quarter of their time went into collecting garbage.
// Their measurements stay the same: allocations are counted as before, and live memory is
// measured after runtime.GC. Programs that they start collect as usual.
package heap

import (
	"os"
	"runtime/debug"
)

const (
	// percent is GOGC for tests. Twice as much saves hardly more.
	percent = 400
	// limit, in bytes, is where the heap is collected as often as needed: tests of floods
	// throw away gigabytes.
	limit = 512 << 20
)

// Variables that a developer sets in the environment take precedence.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}
