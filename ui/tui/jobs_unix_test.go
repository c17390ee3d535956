//go:build unix

package tui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/tools"
	"parley/tools/act"
)

// The key that moves a command of the model to the background also moves a command that the
// user typed. Its further output is followed at the end, and does not move a cursor above it.
func TestOutputOfJobIsFollowed(t *testing.T) {
	s := setUpWith(t, 80, 16, func(o *Options) {
		set, err := tools.Open(o.App.Directory)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { set.Close() })
		dir := o.App.Directory
		o.App.Machine.Jobs = set.Jobs()
		o.App.Machine.Shell = func(ctx context.Context, conversation, command string, progress func(string)) act.Outcome {
			return tools.RunUserCommand(act.WithJobOwner(ctx, conversation), dir, set.Jobs(), command, progress)
		}
	})
	step := func(name string) {
		if err := os.WriteFile(filepath.Join(s.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.Type("!echo re''ady; for n in 1 2 3; do until [ -e go$n ]; do sleep 0.01; done; seq -f step$n-%.0f 30; done").Press("enter").WaitForText("ready")
	s.Press("ctrl+x", "b").WaitForText("Moved to the background").WaitForText("continues in the background as job 1").WaitForText("1 job")
	s.Type("/jobs kil").Press("enter").WaitForText("did you mean /jobs kill?") // nothing is killed
	s.clock.Add(time.Minute)
	s.Press("ctrl+u").Type("/jobs 1").Press("enter").WaitForText("Job 1: echo").Shows("› ready", "running")
	step("go1")
	s.WaitForText("step1-30")
	s.Press("k", "k")
	step("go2")
	s.WaitForScreen(func(screen string) bool { // there is more text than fits on the screen
		return strings.Contains(screen, "step1-30") && strings.Contains(screen, "%") && !strings.Contains(screen, "100%")
	})
	s.Press("end").WaitForText("step2-30")
	step("go3")
	s.WaitForText("step3-30").WaitForText("exit status 0")
}
