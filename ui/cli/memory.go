package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"parley/providers"
)

// When memory is given back: once no collection of garbage ran for restTime. The heap's is if at
// least restBytes are free or garbage: a collection then takes some milliseconds of a processor
// that has nothing to do.
const (
	restTime  = 5 * time.Second
	restBytes = 4 << 20
)

// returnMemoryAtRest has release called after rest, and whenever garbage was collected and then
// not again for rest. A program that stays open for a day has seen times in which it needed more
// than it does now, and the runtime keeps for long what it may need again.
func returnMemoryAtRest(rest time.Duration, release func()) {
	t := time.AfterFunc(rest, release)
	var watch func()
	watch = func() {
		sentinel := new(*int) // garbage; with a pointer: small objects without share a block
		runtime.AddCleanup(sentinel, func(struct{}) {
			watch()
			t.Reset(rest)
		}, struct{}{})
	}
	watch()
}

// releaseMemory gives the system what the heap does not need, if that is worth a collection. What tap
// keeps takes less room from then on; nil: nothing is kept.
func releaseMemory(tap *providers.Tap) {
	if tap.Compress()+spareMemory() >= restBytes {
		debug.FreeOSMemory()
	}
}

// spareMemory returns how many bytes of the heap are free, or came since the last collection
// and may be garbage.
func spareMemory() int {
	s := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	fresh := s[1].Value.Uint64() - min(s[1].Value.Uint64(), s[2].Value.Uint64())
	return int(s[0].Value.Uint64() + fresh)
}
