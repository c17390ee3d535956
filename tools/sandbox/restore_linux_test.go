package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"parley/tools/sandbox"
)

// quarantined returns the contents that were moved to quarantine from name.
func (p *fixture) quarantined(name string) (all []string) {
	p.t.Helper()
	files, _ := filepath.Glob(p.at("home/.cache/parley/undone/*/*/" + name))
	if info, err := os.Stat(p.at("home/.cache/parley/undone")); err != nil || info.Mode().Perm() != 0o700 {
		p.t.Errorf("others may look into the quarantine: %v", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			p.t.Error(err)
		}
		all = append(all, string(b))
	}
	return all
}

// writeAsUser writes a file as the caller would.
func (p *fixture) writeAsUser(name, content string) {
	p.t.Helper()
	const side = "side" // of the workspace, where nobody takes it away
	p.write(side, content)
	err := errors.Join(os.MkdirAll(p.at(filepath.Dir(name)), 0o755), os.Lchown(p.at(side), p.uid, p.uid), os.Lchown(p.at(filepath.Dir(name)), p.uid, p.uid), os.Rename(p.at(side), p.at(name)))
	if err != nil {
		p.t.Fatal(err)
	}
}

// runBeside runs command, and work once it has started; the command continues when work is
// done.
func (p *fixture) runBeside(command string, work func()) (output string) {
	p.t.Helper()
	p.writeAsUser("workspace/d/x", "")
	cmd := p.caller("/bin/sh", "-c", command+"; echo 1 > d/started; until test -e d/go; do sleep 0.01; done")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.waitFor("workspace/d/started")
	work()
	p.writeAsUser("workspace/d/go", "")
	cmd.Wait()
	return out.String()
}

// The user's change of a protected path while a command runs is not lost: it
// stays, or it is in quarantine and the notice names the place.
func TestUserChangesStay(t *testing.T) {
	t.Parallel()
	for _, s := range setups() {
		for _, lasting := range []bool{false, true} {
			name := s.name + ", a command"
			if lasting {
				name = s.name + ", a server"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newFixture(t, s)
				p.policy.LongRunning = lasting
				out := p.runBeside("true", func() {
					p.writeAsUser("workspace/.git/config", "[remote \"mine\"]\n")
					p.writeAsUser("workspace/.git/hooks/mine", "mine\n")
					p.writeAsUser("workspace/.envrc", "mine\n")
				})
				if s.spaces || lasting {
					if got := p.read("workspace/.git/config") + p.read("workspace/.git/hooks/mine"); got != "[remote \"mine\"]\nmine\n" {
						t.Errorf("own work was undone: %q, %s", got, out)
					}
				} else if got := append(p.quarantined(".git/config"), p.quarantined(".git/hooks/mine")...); strings.Join(got, "") != "[remote \"mine\"]\nmine\n" {
					t.Errorf("own work is lost: %q, %s", got, out)
				}
				if lasting {
					if got := p.read("workspace/.envrc"); got != "mine\n" || !strings.Contains(out, "[CAUTION: .envrc was made") {
						t.Errorf("got %q, %s", got, out)
					}
				} else if got := p.quarantined(".envrc"); len(got) != 1 || got[0] != "mine\n" || !strings.Contains(out, "kept in "+p.at("home/.cache/parley/undone/")) {
					t.Errorf(".envrc is lost: %q, %s", got, out)
				}
				if left, _ := filepath.Glob(p.at("workspace/*.undone-*")); len(left) > 0 {
					t.Errorf("left in the workspace: %v", left)
				}
			})
		}
	}
}

// A server cannot change the programs that git runs, also where nothing is put back.
func TestLongRunning(t *testing.T) {
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			p.policy.LongRunning = true
			p.runBeside("for f in config commondir config.worktree hooks/old hooks/pre-commit; do echo evil > .git/$f; done; mv .git .git2; rm -r .git; echo fine > d/x", func() {})
			p.assertUntouched()
			if got := p.read("workspace/.git/commondir") + p.read("workspace/d/x"); got != "fine\n" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// A server leaves no repository that runs anything: when it has ended, its
// configuration is in quarantine.
func TestLongRunningRepositories(t *testing.T) {
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			p.policy.LongRunning = true
			p.write("workspace/mine/.git/config", "[alias]\n\tx = !mine\n")
			p.writeAsUser("workspace/src/x", "")
			p.chownWorkspace()
			out, _ := p.run("mkdir -p src/.git src/fine/.git; printf '[core]\\n\\tfsmonitor = evil\\n' > src/.git/config; printf '[core]\\n\\tbare = false\\n' > src/fine/.git/config; echo x > mine/x")
			left := p.quarantined("src/.git/config")
			if got := p.read("workspace/src/.git/config"); got != "" || len(left) != 1 || !strings.Contains(out, "undid changes of src/.git/config") {
				t.Errorf("got %q, %v, %s", got, left, out)
			}
			if p.read("workspace/src/fine/.git/config") == "" || p.read("workspace/mine/.git/config") == "" {
				t.Error("what runs nothing, or was there, is gone")
			}
		})
	}
}

// A server ends with its caller, also when that is killed and the server does not want the kernel's signal for that.
// Nothing of it stays: no process, no temporary file, and no repository that runs anything.
func TestLongRunningEnds(t *testing.T) {
	t.Parallel()
	const plant = "mkdir -p $TMPDIR/d src/.git; printf '[core]\\n\\tfsmonitor = evil\\n' > src/.git/config; "
	for name, command := range map[string]string{
		"by itself":              plant + stubborn + "echo 1 > started",
		"killed":                 plant + stubborn + "echo 1 > started; sleep 1000",
		"killed, without signal": plant + stubborn + "echo 1 > started; exec setpriv --pdeathsig clear sleep 1000",
	} {
		for _, s := range setups() {
			t.Run(s.name+", "+name, func(t *testing.T) {
				t.Parallel()
				p := newFixture(t, s)
				p.policy.LongRunning = true
				p.write("workspace/src/x", "")
				p.write("workspace/started", "")
				p.chownWorkspace()
				cmd := p.caller("/bin/sh", "-c", command)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				p.waitStarted()
				if name != "by itself" {
					cmd.Process.Kill()
				}
				cmd.Wait()
				p.assertEnded()
				if got := p.read("workspace/src/.git/config"); got != "" {
					t.Errorf("it left %q", got)
				}
				if left, _ := filepath.Glob(p.at("temp/*")); len(left) > 0 {
					t.Errorf("left in the temp folder: %v", left)
				}
			})
		}
	}
}

// A told is a writer that passes on what it gets.
type told chan string

func (c told) Write(b []byte) (int, error) {
	c <- string(b)
	return len(b), nil
}

// That nothing would end a server if its caller were killed is said once, and the next server has a guard again.
func TestGuardIsKilled(t *testing.T) {
	p := newFixture(t, setups()[0])
	notices := make(told, 9)
	p.policy.LongRunning, p.policy.Notices, p.policy.TempDir = true, notices, p.at("temp")
	start := func() (cmd *exec.Cmd, stop func()) {
		cmd, cleanup, err := sandbox.Command(p.policy, "/bin/sh", "-c", "sleep 1000")
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, func() { cleanup(); cmd.Wait(); cleanup() }
	}
	guards := func(without ...int) []int {
		return slices.DeleteFunc(children(os.Getpid()), func(pid int) bool {
			at, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
			return at != p.at("workspace") || slices.Contains(without, pid)
		})
	}
	first, stopFirst := start()
	defer stopFirst()
	old := guards(first.Process.Pid)
	if len(old) != 1 {
		t.Fatalf("there are the guards %v", old)
	}
	syscall.Kill(old[0], syscall.SIGKILL)
	if got := <-notices; !strings.Contains(got, "has ended (signal: killed): restart them") {
		t.Errorf("it says %q", got)
	}
	second, stopSecond := start()
	defer stopSecond()
	if now := guards(first.Process.Pid, second.Process.Pid); len(now) != 1 || len(notices) > 0 {
		t.Errorf("the next server has the guards %v, and there are %d more notices", now, len(notices))
	}
}

// Content is kept however large it is.
func TestTooLarge(t *testing.T) {
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			out, _ := p.run("truncate -s 65M .envrc")
			left, _ := filepath.Glob(p.at("home/.cache/parley/undone/*/*/.envrc"))
			if len(left) == 0 || !strings.Contains(out, "kept in "+filepath.Dir(left[0])) {
				t.Errorf("got %v, %s", left, out)
			}
			p.assertUntouched()
		})
	}
}

// A directory that was moved away comes back with all that is in it, from wherever
// it is; one that is gone is reported.
func TestMovedDirComesBack(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, command string
		gone          bool // without namespaces
	}{
		{"renamed", "mv .git .git2", false},
		{"deep down", "mkdir -p x/y && mv .git x/y/z", false},
		{"with another in its place", "mv .git .git2; mkdir -p .git/hooks; echo evil > .git/config; echo other > .git/other", false},
		{"into its own place", "mkdir x; mv .git x/git; mv x .git", false},
		{"removed", "rm -rf .git", true},
		{"removed, with another in its place", "rm -rf .git; mkdir -p x/hooks; echo evil > x/config; mv x .git", true},
	}
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			workspace := newFixture(t, s)
			workspace.startServer()
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					p := workspace.in(t)
					p.writeAsUser("workspace/.git/objects/aa/bb", "object")
					p.chownWorkspace()
					out, _ := p.run(test.command)
					p.assertUntouched()
					if s.spaces {
						return // it was mounted
					}
					if got := p.read("workspace/.git/objects/aa/bb"); (got == "object") == test.gone {
						t.Errorf("got %q, %s", got, out)
					}
					if told := strings.Contains(out, "CAUTION: "); told && !test.gone || !strings.Contains(out, ".git") {
						t.Errorf("it says %q", out)
					}
					if left, _ := filepath.Glob(p.at("workspace/.git?*")); len(left) > 0 {
						t.Errorf("left: %v", left)
					}
					if got := append(p.quarantined(".git/other"), p.read("workspace/.git/other")); strings.Contains(test.command, "other") && strings.Join(got, "") != "other\n" {
						t.Errorf("what was in its place is lost: %q", got)
					}
					p.removeAround()
				})
			}
		})
	}
}
