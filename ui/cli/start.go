package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

// GC percentages for the first collection: it starts at 64 MiB, which few commands reach, or at 8 MiB for the screen,
// which keeps its memory for hours. By default it would start at 4 MiB, in the middle of the start-up.
const (
	startPercent  = 1600
	screenPercent = 200
)

// postponed.begun is closed once the postponed first collection begins; nil if none was postponed.
var postponed struct {
	sync.Mutex
	begun chan struct{}
}

// postponeCollection delays the first garbage collection. When it begins, done is closed and the usual percentage
// applies again. If the user has set GOGC, it does nothing and returns nil.
func postponeCollection() (done <-chan struct{}) {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	usual := debug.SetGCPercent(startPercent)
	first, told := new(*int), make(chan struct{}) // garbage; its pointer keeps it out of the tiny allocator
	postponed.begun = told
	runtime.AddCleanup(first, func(percent int) {
		postponed.Lock()
		defer postponed.Unlock()
		debug.SetGCPercent(percent)
		close(told)
	}, usual)
	return told
}

// collectForScreen moves the postponed collection to the screen's threshold.
func collectForScreen() {
	postponed.Lock()
	defer postponed.Unlock()
	select {
	case <-postponed.begun:
	default:
		if postponed.begun != nil {
			debug.SetGCPercent(screenPercent)
		}
	}
}
