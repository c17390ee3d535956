package cli

import (
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"parley/session"
)

// Garbage collections are postponed at the start, and not later.
func TestPostponeCollection(t *testing.T) {
	defer debug.SetGCPercent(gcPercent())
	check := func(when string, want int) {
		t.Helper()
		if got := gcPercent(); got != want {
			t.Errorf("%s: got %d, want %d", when, got, want)
		}
	}
	t.Setenv("GOGC", "")
	synctest.Test(t, func(t *testing.T) {
		postponeCollection(startPercent)
		check("at the start", startPercent)
		postponeCollection(screenPercent)
		check("on the screen", screenPercent)
		time.Sleep(startTime)
		synctest.Wait()
		check("after the start", usualPercent)
	})
	t.Setenv("GOGC", "50")
	debug.SetGCPercent(50)
	postponeCollection(startPercent)
	check("as the user has set", 50)
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
