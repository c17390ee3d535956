package plain

import (
	"context"
	"strings"
	"testing"
	"time"

	"parley/session"
	"parley/tools/act"
	"parley/ui/app"
)

// The line after a user's command reports how it ended.
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

// A failed command counts as stopped only if the user stopped it.
func TestShellStopped(t *testing.T) {
	d := talk(t, func(o *app.Options, _ *session.Options) {
		o.Machine.Shell = func(ctx context.Context, _, command string, _ func(string)) act.Outcome {
			if command == "wait" {
				<-ctx.Done()
			}
			return act.Outcome{Text: "[exit status 1]", Notes: "[exit status 1]", Failed: true, Duration: 2 * time.Second}
		}
	})
	d.enter("!fail")
	d.pass(time.Second)
	d.paste("!wait")
	d.until(func() bool { return len(d.shells.running) == 1 })
	d.shells.interrupt()
	d.idle()
	said := d.said()
	failed, stopped := strings.Index(said, "Failed after 2 seconds: exit status 1."), strings.Index(said, "Stopped after 2 seconds.")
	if failed < 0 || stopped < failed || strings.Count(said, "Stopped after") != 1 {
		t.Error(said)
	}
}
