package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

// Growth of the heap, in percent, after which the first garbage collection begins: at 64 MiB,
// which few commands reach, and at 8 MiB on the screen, which keeps its memory for hours. The
// usual one begins at 4 MiB, which is in the middle of the start.
const (
	startPercent  = 1600
	screenPercent = 200
)

// postponed is the collection that was not begun yet; nil channel: none was postponed.
var postponed struct {
	sync.Mutex
	begun chan struct{}
}

// postponeCollection lets the program start before garbage is collected for the first time.
// From then on it is collected as usual, which done tells. Where the user has set GOGC it does
// nothing and returns nil.
func postponeCollection() (done <-chan struct{}) {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	usual := debug.SetGCPercent(startPercent)
	first, told := new(*int), make(chan struct{}) // garbage; with a pointer: small objects without share a block
	postponed.begun = told
	runtime.AddCleanup(first, func(percent int) {
		postponed.Lock()
		defer postponed.Unlock()
		debug.SetGCPercent(percent)
		close(told)
	}, usual)
	return told
}

// collectForScreen lets the first collection that was postponed begin when it suits the screen.
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
