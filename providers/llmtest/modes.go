package llmtest

import (
	"os"
	"runtime/debug"
	"slices"
)

// Long reports whether tests run at full length, which PARLEY_LONG=1 asks for.
var Long = os.Getenv("PARLEY_LONG") == "1"

// Race reports whether the race detector is on, with which everything takes ten times as long.
// Computations of one goroutine cannot race: large tables of them are shorter with the detector,
// and whole in the tests without it.
var Race = func() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}()
