package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// Memory is given back after the start, and each time garbage was collected, once nothing is
// collected any more.
func TestMemoryIsReturnedAtRest(t *testing.T) {
	released := make(chan bool)
	done := make(chan bool)
	defer close(done)
	returnMemoryAtRest(1, func() {
		select {
		case released <- true:
		case <-done:
		}
	})
	<-released
	for range 3 {
		runtime.GC()
		<-released
	}
}

// What was garbage is the system's afterwards; where little is to be had nothing is done.
func TestReleaseMemory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	debug.FreeOSMemory()
	var collected [2]runtime.MemStats
	releaseMemory(nil) // nothing to be had
	runtime.ReadMemStats(&collected[0])
	garbage := make([]byte, 64<<20)
	for i := range garbage {
		garbage[i] = 1
	}
	if got := spareMemory(); got < 60<<20 { // objects that were swept late count against it
		t.Errorf("%d bytes may be garbage, want the 64 MiB by and large", got)
	}
	runtime.KeepAlive(garbage)
	releaseMemory(nil)
	runtime.ReadMemStats(&collected[1])
	if got := spareMemory(); got >= restBytes {
		t.Errorf("%d bytes are still to be had", got)
	}
	if got := collected[1].NumForcedGC - collected[0].NumForcedGC; got != 1 {
		t.Errorf("%d collections, want 1", got)
	}
}
