// Package heap lets the heap of tests that import it grow. Most of them hold a few megabytes and
// throw away many times as much, so that a quarter of their time went into collecting garbage.
// What they measure is not changed: allocations are counted as before, and what is still held is
// told behind runtime.GC. Programs that they start collect as usual.
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

// What a developer sets in the environment counts instead.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}
