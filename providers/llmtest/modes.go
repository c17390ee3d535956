package llmtest

import (
	"os"
	"runtime/debug"
	"slices"
)

// Long reports whether tests run at full length, which PARLEY_LONG=1 asks for.
var Long = os.Getenv("PARLEY_LONG") == "1"

// Race reports whether the race detector is on, with which everything takes ten times as long.
// What one goroutine computes is no business of its: large tables of that are shorter with it,
// and whole in the tests without.
var Race = func() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}()
