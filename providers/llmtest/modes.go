package llmtest

import (
	"os"
	"runtime/debug"
	"slices"
)

// Long reports whether tests run at full length, as requested by PARLEY_LONG=1.
var Long = os.Getenv("PARLEY_LONG") == "1"

// Race reports whether the race detector is on, which makes everything ten times slower.
// Computations in one goroutine cannot race: their large test tables are shortened with the
// detector, and run completely without it.
var Race = func() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}()
