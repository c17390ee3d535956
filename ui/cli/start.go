package cli

import (
	"os"
	"runtime/debug"
	"time"
)

// GC percentages while the program starts: the first collection begins at 64 MiB, which few commands reach, or at 8 MiB
// for the screen, which keeps its memory for hours. By default it would begin at 4 MiB, in the middle of the start-up.
const (
	startPercent  = 1600
	screenPercent = 200
	usualPercent  = 100 // Go's default
)

// startTime is how long collections are postponed.
const startTime = 100 * time.Millisecond

// postponeCollection sets the GC percentage for the start of the program. If the user has set GOGC, it does nothing.
func postponeCollection(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
		time.AfterFunc(startTime, func() {
			if now := debug.SetGCPercent(usualPercent); now != percent { // an import has begun
				debug.SetGCPercent(now)
			}
		})
	}
}
