// Package heap lets the heap of tests that import it grow. Most of them use a few megabytes and
// allocate many times as much, so that a quarter of their time went into garbage collection.
// Measurements do not change: allocations are counted as before, and live memory is measured after
// runtime.GC. Programs that they start collect as usual.
package heap

import (
	"os"
	"runtime/debug"
)

const (
	// percent is GOGC for tests. Doubling it saves hardly more.
	percent = 400
	// limit is the heap size in bytes from which garbage is collected as often as needed: some
	// tests allocate gigabytes.
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
