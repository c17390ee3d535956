package cli

import (
	"os"
	"runtime"
	"runtime/debug"
)

// startPercent is the growth of the heap, in percent, after which the first garbage collection
// begins: at 8 MiB. The usual one begins at 4 MiB, which is in the middle of the start.
const startPercent = 200

// postponeCollection lets the program start before garbage is collected for the first time.
// From then on it is collected as usual, which done tells. Where the user has set GOGC it does
// nothing and returns nil.
func postponeCollection() (done <-chan struct{}) {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	usual := debug.SetGCPercent(startPercent)
	first, told := new(*int), make(chan struct{}) // garbage; with a pointer: small objects without share a block
	runtime.AddCleanup(first, func(percent int) {
		debug.SetGCPercent(percent)
		close(told)
	}, usual)
	return told
}
