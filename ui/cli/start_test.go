package cli

import (
	"runtime"
	"runtime/debug"
	"testing"

	"parley/session"
)

// The first collection of garbage comes late, and every other as usual.
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

// If no model was picked yet, none is looked for by the name "": it would be looked for among
// all models.
func TestNoLastModelReadsNoCatalog(t *testing.T) {
	a := newProgram()
	a.library = session.MemoryStore()
	const most = 200 // the names of all models are 2,500
	if got := testing.AllocsPerRun(5, func() {
		if got := a.lastModel(); got != "" {
			t.Errorf("got %q", got)
		}
	}); got > most {
		t.Errorf("got %.0f allocations, want %d at most", got, most)
	}
}
