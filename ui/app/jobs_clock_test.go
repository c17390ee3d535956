package app

import (
	"testing"
	"time"

	"parley/tools"
)

// No clock that was set back makes a command take less than no time.
func TestJobStateAndClock(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for want, j := range map[string]tools.Job{
		"running · 0 bytes":       {Started: at.Add(time.Hour)},
		"running · 5 s · 0 bytes": {Started: at.Add(-5 * time.Second)},
		"exited · 0 ms · 0 bytes": {Started: at, Ended: at.Add(-time.Minute), State: "exited"},
	} {
		if got := jobState(j, at); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
