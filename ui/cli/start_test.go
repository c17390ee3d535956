package cli

import (
	"runtime"
	"runtime/debug"
	"testing"

	"parley/session"
)

// The first garbage collection is delayed; later ones are not.
func TestPostponeCollection(t *testing.T) {
	t.Setenv("GOGC", "")
	usual := gcPercent()
	done := postponeCollection()
	if got := gcPercent(); got != startPercent {
		t.Errorf("at the start: got %d, want %d", got, startPercent)
	}
	collectForScreen()
	if got := gcPercent(); got != screenPercent {
		t.Errorf("on the screen: got %d, want %d", got, screenPercent)
	}
	runtime.GC()
	<-done
	collectForScreen() // too late
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

// If no model was chosen yet, the name "" is not looked up, since that would search all models.
func TestNoLastModelReadsNoCatalog(t *testing.T) {
	a := newProgram()
	a.library = session.MemoryStore()
	const most = 200 // all models have 2,500 names
	if got := testing.AllocsPerRun(5, func() {
		if got := a.lastModel(); got != "" {
			t.Errorf("got %q", got)
		}
	}); got > most {
		t.Errorf("got %.0f allocations, want %d at most", got, most)
	}
}
