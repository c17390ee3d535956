package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/tools/sandbox"
)

// A command's helper gets ready while the command may not run yet. It runs once it may, with no
// file of the helper's, and not at all if its caller dies before.
func TestReady(t *testing.T) {
	t.Parallel()
	ways := append(allSetups(), setup{name: "without a sandbox", uid: os.Getuid()})
	for i, s := range ways {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, caller is killed: %v", s.name, killed), func(t *testing.T) {
				t.Parallel()
				p := newFixture(t, s)
				p.env = append(p.env, holdUntil+"="+p.at("go"))
				confined := i < len(ways)-1
				if !confined {
					p.env = append(p.env, free+"=1")
				}
				cmd := p.caller("/bin/sh", "-c", "trap '' TERM HUP; cat looked > seen; ls /proc/self/fd | wc -l > files; echo 1 > started")
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				p.waitPrepared(cmd, confined)
				if killed {
					cmd.Process.Kill()
					cmd.Wait()
					p.assertEnded()
					if p.read("workspace/started") != "" {
						t.Error("the command ran")
					}
					if left, _ := filepath.Glob(p.at("temp/*/*")); len(left) > 0 {
						t.Errorf("left in the temp folder: %v", left)
					}
					return
				}
				p.write("workspace/looked", "yes")
				if err := os.Chmod(p.at("workspace/looked"), 0o644); err != nil {
					t.Fatal(err)
				}
				p.write("go", "")
				p.waitStarted()
				if err := cmd.Wait(); err != nil || p.read("workspace/seen") != "yes" || p.read("workspace/files") != "4\n" {
					t.Errorf("%v; it saw %q, with %s files open", err, p.read("workspace/seen"), p.read("workspace/files"))
				}
			})
		}
	}
}

// waitPrepared waits until the helper of a caller is there and, of one that confines its command,
// until it has confined itself.
func (p *fixture) waitPrepared(caller *exec.Cmd, confined bool) {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		for _, pid := range children(caller.Process.Pid) {
			threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
			for _, file := range threads {
				text, _ := os.ReadFile(file)
				if !confined || strings.Contains(string(text), "\nSeccomp:\t2\n") {
					return
				}
			}
		}
	}
	p.t.Fatal("the helper does not get ready")
}

// A command that may not run yet does not run any more once its caller lets go of it: the helper
// ends it, or, where that was still setting itself up, finds what is gone by now.
func TestLetGoBeforeReady(t *testing.T) {
	if b := sandbox.Probe(); !b.Available() {
		t.Skipf("nothing can be held here: %s", b.Reason)
	}
	for name, command := range map[string]func(sandbox.Policy, ...string) (*exec.Cmd, func(), error){"confined": sandbox.Command, "not confined": sandbox.Supervise} {
		dir := t.TempDir()
		cmd, cleanup, err := command(sandbox.Policy{Workspace: dir, Ready: make(chan struct{})}, "/bin/sh", "-c", "trap '' TERM; echo x > ran")
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cleanup()
		_ = cmd.Wait()
		status := cmd.ProcessState.ExitCode()
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || status != 143 && status != 125 {
			t.Errorf("%s: left %v, %v; %v", name, left, err, cmd.ProcessState)
		}
		cleanup()
	}
}
