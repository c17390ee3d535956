package plain

import (
	"testing"
	"time"

	"parley/session"
)

// The line behind a command of the user's says how it ended.
func TestShellEnd(t *testing.T) {
	for want, e := range map[string]session.ShellCommand{
		"Done in 2 seconds: exit status 0.":      {Notes: "[exit status 0]"},
		"Failed after 2 seconds: exit status 1.": {Notes: "[no output]\n[exit status 1]", Failed: true},
		"Stopped after 2 seconds.":               {Notes: "[canceled after 2s]", Failed: true, Stopped: true},
	} {
		e.Duration = 2 * time.Second
		if got := shellEnd(e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
