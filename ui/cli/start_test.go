package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// The first collection of garbage comes late, and every other as usual.
func TestPostponeCollection(t *testing.T) {
	t.Setenv("GOGC", "")
	usual := gcPercent()
	done := postponeCollection()
	if got := gcPercent(); got != startPercent {
		t.Errorf("at the start: got %d, want %d", got, startPercent)
	}
	runtime.GC()
	<-done
	if got := gcPercent(); got != usual {
		t.Errorf("after the first collection: got %d, want %d", got, usual)
	}
	t.Setenv("GOGC", "50")
	if postponeCollection() != nil {
		t.Error("what the user has set is changed")
	}
}

func gcPercent() int {
	percent := debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	return percent
}
