package sandbox

import "time"

// RaiseTimeLimits raises the time limits after a command: a busy machine finds and keeps as
// much as an idle one.
func RaiseTimeLimits() {
	findTimeout, searchTimeout, quarantineTimeout = time.Minute, time.Minute, time.Minute
}

// ReadFewNames has the search read few names of a directory in one turn, so that one of some
// dozens takes several.
func ReadFewNames() { readBatch = 32 }
