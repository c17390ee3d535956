package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/tools/sandbox"
)

// TestCommandWorks shows that a command has what it needs.
func TestCommandWorks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, command, want string
		status              int
	}{
		{"workspace", "pwd; echo x > f && mkdir d && mv f d/g && ln d/g d/h && ln -s g d/i && cat d/i", "/workspace\nx\n", 0},
		{"executable", "printf '#!/bin/sh\necho ran\n' > s && chmod 755 s && ./s", "ran\n", 0},
		{"temp folder", "f=$(mktemp) && echo x > $f && cat $f && rm $f", "x\n", 0},
		{"pipes", "yes | head -1", "y\n", 0},
		{"here document", "cat <<E\nhello\nE", "hello\n", 0},
		{"named pipe", "mkfifo p && (echo through > p &) && cat p", "through\n", 0},
		{"null device", "echo x > /dev/null && head -c 1 /dev/zero | wc -c", "1\n", 0},
		{"processes", "sleep 0 & wait $! && kill -0 $$ && echo fine", "fine\n", 0},
		{"proc", "cat /proc/self/comm && test -r /proc/cpuinfo && echo fine", "cat\nfine\n", 0},
		{"names of users", "id -u > /dev/null && test -r /etc/passwd && echo fine", "fine\n", 0},
		{"environment", "echo $HOME $TMPDIR | wc -w; env | grep -c sk-canary || true", "2\n0\n", 0},
		{"descriptors of the caller", "ls /proc/self/fd | wc -l", "4\n", 0}, // three, and that of ls
		{"git's settings", "cat ~/.config/git/config", "[user]\n", 0},
		{"status", "exit 7", "", 7},
		{"signal", "kill -TERM $$", "", 143},
	}
	for _, s := range allSetups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			script := ""
			for i, test := range tests {
				if test.status == 0 { // one sandbox is enough for all of these
					script += fmt.Sprintf("sh -c %s; echo \"test %d: $?\"\n", "'"+strings.ReplaceAll(test.command, "'", `'\''`)+"'", i)
				}
			}
			all, _ := p.run(script)
			for i, test := range tests {
				var out string
				var status int
				if test.status == 0 {
					if out, all, _ = strings.Cut(all, fmt.Sprintf("test %d: ", i)); !strings.HasPrefix(all, "0\n") {
						status = 1
					}
					_, all, _ = strings.Cut(all, "\n")
				} else {
					out, status = p.run(test.command)
				}
				if !strings.HasSuffix(out, test.want) || status != test.status {
					t.Errorf("%s: got %q, %d, want %q, %d", test.name, out, status, test.want, test.status)
				}
			}
		})
	}
}

// A path to read or write that lies in the workspace, as a virtual environment on PATH does, gives
// nothing away once a command has put a link in its place, and no more does one that leads there.
func TestLinkedPathsGiveNothing(t *testing.T) {
	t.Parallel()
	for _, s := range allSetups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			for _, link := range []struct{ from, to string }{
				{"home/venv", "../workspace/venv"}, {"workspace/venv", p.at("home/.ssh")}, {"workspace/out", p.at("outside")}, {"home/keys", ".ssh"},
			} {
				if err := errors.Join(os.Symlink(link.to, p.at(link.from)), os.Lchown(p.at(link.from), s.uid, s.uid)); err != nil {
					t.Fatal(err)
				}
			}
			env := append([]string{"VIRTUAL_ENV=" + p.at("workspace/venv")}, p.policy.Env...)
			env = append(env, "PATH="+p.at("home/venv")+":"+p.at("home/keys")+":"+os.Getenv("PATH"))
			p.policy.ReadPaths = append(sandbox.ReadablePaths(env), append(p.policy.ReadPaths, p.at("workspace/venv"), p.at("home/venv"))...)
			p.policy.WritePaths = append(p.policy.WritePaths, p.at("workspace/out"))
			out, _ := p.run("cat venv/id_ed25519 ~/.ssh/id_ed25519 out/file 2>&1; echo x > out/new; ls out; echo inside > f && cat f")
			if strings.Contains(out, "canary") || !strings.HasSuffix(out, "inside\n") {
				t.Errorf("got %s", out)
			}
			if _, err := os.Lstat(p.at("outside/new")); err == nil {
				t.Error("a file outside was made")
			}
		})
	}
}

// A command that can put a link in the place of its temp directory, as where that is in the workspace,
// has nothing removed after it.
func TestLinkedTempRemovesNothing(t *testing.T) {
	t.Parallel()
	for _, s := range allSetups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			p.writeAsUser("workspace/temp/x", "")
			p.env = append(p.env, "TMPDIR="+p.at("workspace/temp"))
			p.run("echo x > $TMPDIR/y; cd temp; for d in parley-*; do mv $d away || rm -r $d; ln -s " + p.at("outside") + " $d; done; ls -l; cd ..; mv temp temp2; mkdir temp; ln -s " + p.at("outside") + " temp/$d")
			if got := p.read("outside/file"); got != "canary" {
				t.Errorf("the file outside: %q", got)
			}
		})
	}
}

// However a command changes the protected paths, they are afterwards what they
// were, and it is reported.
func TestProtected(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, command string }{
		{"write what is there", "echo evil > .git/config; echo evil > .git/hooks/old"},
		{"create what is not", "echo evil > .envrc; echo evil > .mcp.json; mkdir .parley; echo evil > .parley/config.toml; echo evil > .git/hooks/pre-commit"},
		{"move the folder away", "mv .git .git2; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; echo evil > .git/config"},
		{"move the file over", "echo evil > x; mv x .git/config; mkdir h; echo evil > h/pre-commit; mv -T h .git/hooks"},
		{"remove", "rm -rf .git; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit"},
		{"link the folder", "mkdir -p evil/hooks; echo evil > evil/hooks/pre-commit; echo evil > evil/config; mv .git old; ln -s evil .git"},
		{"link out", "mv .git old; ln -s ../outside .git; ln -s ../outside/file .envrc"},
		{"a file that points elsewhere", "mv .git old; echo 'gitdir: evil' > .git"},
		{"hard link", "echo evil > x; ln -f x .git/config; ln -f x .envrc"},
		{"modes", "echo evil > .git/hooks/pre-commit; chmod 755 .git/hooks/old; chmod 0 .git/hooks/pre-commit; chmod 0 .git/hooks .git"},
		{"from the background", "(setsid sh -c 'trap \"\" TERM; echo evil > .envrc; sleep 0.9; while :; do echo evil > .envrc; done' &)"},
		{"by the last words", "trap 'echo evil > .envrc' EXIT"},
		{"a device's name", "mkfifo .envrc; mkdir .mcp.json"},
	}
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			workspace := newFixture(t, s)
			workspace.startServer()
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					p := workspace.in(t)
					out, _ := p.run(test.command + "; true")
					p.assertUntouched()
					if p.read("outside/file") != "canary" {
						t.Error("outside was changed")
					}
					if info, err := os.Stat(p.at("workspace/.git/hooks/old")); err != nil || info.Mode().Perm() != 0o600 {
						t.Errorf("%v, %v", info, err)
					}
					if !strings.Contains(out, "[the sandbox undid changes of ") && !strings.Contains(out, "Read-only file system") && !strings.Contains(out, "busy") {
						t.Errorf("nothing is told: %q", out)
					}
					p.removeAround()
				})
			}
		})
	}
}

// in returns the fixture for a test inside of that of the fixture, which has a server.
func (p *fixture) in(t *testing.T) *fixture {
	inner := *p
	inner.t = t
	return &inner
}

// removeAround removes what commands made around the protected paths, for the next one.
func (p *fixture) removeAround() {
	p.t.Helper()
	all, err := os.ReadDir(p.at("workspace"))
	for _, e := range all {
		if e.Name() != ".git" {
			err = errors.Join(err, os.RemoveAll(p.at("workspace/"+e.Name())))
		}
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// Absent protected paths that stay absent are not reported.
func TestNoNoticeWithoutChange(t *testing.T) {
	for _, s := range setups() {
		p := newFixture(t, s)
		if out, status := p.run("echo fine; mkdir .git/objects; echo x > .git/HEAD"); out != "fine\n" || status != 0 {
			t.Errorf("%s: got %q, %d", s.name, out, status)
		}
	}
}

// stubborn starts processes that try to stay.
const stubborn = `
sleep 1000 &
trap '' TERM HUP
setsid sleep 1000 &
nohup sleep 1000 >/dev/null 2>&1 &
(setsid sh -c 'trap "" TERM; exec sleep 1000' >/dev/null 2>&1 </dev/null &)
setsid sh -c '(sh -c "trap \"\" TERM HUP; while :; do sleep 1; done" &) >/dev/null 2>&1'
(env -i /bin/sh -c 'exec sleep 1000' &)
`

// Every process ends with the command, with its cancellation, and with the death of
// its caller, within two seconds; and protected paths are restored.
func TestProcessesEnd(t *testing.T) {
	t.Parallel()
	ways := []struct {
		name, command string
		everywhere    bool
		end           func(caller *exec.Cmd)
	}{
		{"the command ends", stubborn + "echo evil > .envrc; echo 1 > started", false, func(*exec.Cmd) {}},
		{"the caller is killed", stubborn + "echo evil > .envrc; echo 1 > started; sleep 1000", true, func(c *exec.Cmd) { c.Process.Kill() }},
		{"the helper is told to", stubborn + "echo evil > .envrc; echo 1 > started; sleep 1000", false, func(c *exec.Cmd) {
			for _, pid := range children(c.Process.Pid) {
				syscall.Kill(pid, syscall.SIGTERM)
			}
		}},
	}
	for _, s := range allSetups() {
		for _, way := range ways {
			if !way.everywhere && !slices.Contains(setups(), s) {
				continue
			}
			t.Run(s.name+", "+way.name, func(t *testing.T) {
				t.Parallel()
				p := newFixture(t, s)
				cmd := p.caller("/bin/sh", "-c", "mkdir $TMPDIR/d; echo x > $TMPDIR/d/f; "+way.command)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				p.waitStarted()
				way.end(cmd)
				cmd.Wait()
				p.assertEnded()
				p.assertUntouched()
				if left, _ := filepath.Glob(p.at("temp/*/*")); len(left) > 0 {
					t.Errorf("left in the temp folder: %v", left)
				}
			})
		}
	}
}

// waitStarted waits until the command has started.
func (p *fixture) waitStarted() {
	p.t.Helper()
	p.waitFor("workspace/started")
}

func (p *fixture) waitFor(name string) {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if p.read(name) == "1\n" {
			return
		}
	}
	p.t.Fatal("it did not start")
}

// assertEnded fails if a process stays. The helper's own clocks count the two seconds; here
// its end is checked.
func (p *fixture) assertEnded() {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if len(processesIn(p.base)) == 0 {
			return
		}
	}
	p.t.Errorf("still there: %v", processesIn(p.base))
}

// processesIn returns the processes whose working directory is below dir, and so all that
// the sandbox started there, including the helper.
func processesIn(dir string) []int {
	var out []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if at, err := os.Readlink("/proc/" + e.Name() + "/cwd"); err == nil && strings.HasPrefix(at, dir+"/") {
			out = append(out, pid)
		}
	}
	return out
}

func children(of int) []int {
	var out []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if pid, err := strconv.Atoi(e.Name()); err == nil && fields[1] == strconv.Itoa(of) {
			out = append(out, pid)
		}
	}
	return out
}

// Without a sandbox, too, no process outlives its command or its caller.
func TestSupervise(t *testing.T) {
	t.Parallel()
	ways := []struct {
		name, command string
		kill          bool
	}{
		{"the command ends", stubborn + "echo 1 > started", false},
		{"the caller is killed", stubborn + "echo 1 > started; sleep 1000", true},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, setup{uid: os.Getuid()})
			p.env = append(p.env, free+"=1")
			cmd := p.caller("/bin/sh", "-c", way.command)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			p.waitStarted()
			if way.kill {
				cmd.Process.Kill()
			}
			cmd.Wait()
			p.assertEnded()
		})
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			p := newFixture(t, s)
			l := p.listen()
			p.policy.Network = true
			p.policy.Env = append(p.policy.Env, targetVariable+`={"TCP":"`+l.TCP+`","Outside":"`+p.at("outside")+`","Workspace":"`+p.at("workspace")+`"}`)
			out, err := p.caller(program(), probe).CombinedOutput()
			heard := l.stop()
			if !strings.Contains(string(out), "escaped: TCP\n") || heard == 0 {
				t.Errorf("no TCP: %d, %v, %s", heard, err, out)
			}
			for _, closed := range []string{"Unix", "raw", "io_uring", "create", "read", "vsock"} {
				if strings.Contains(string(out), "escaped: "+closed) {
					t.Errorf("%s: %s", closed, out)
				}
			}
		})
	}
}

func TestCommandRefuses(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		name   string
		policy sandbox.Policy
		argv   []string
		want   string
	}{
		{"no command", sandbox.Policy{Workspace: dir}, nil, "no command"},
		{"no such program", sandbox.Policy{Workspace: dir}, []string{"no-such-program"}, "not found"},
		{"no such workspace", sandbox.Policy{Workspace: dir + "/none"}, []string{"true"}, "no such file"},
		{"the home folder", sandbox.Policy{Workspace: "/"}, []string{"true"}, "home folder"},
		{"protected outside", sandbox.Policy{Workspace: dir, Protected: []string{"../x"}}, []string{"true"}, "leads out"},
		{"NUL", sandbox.Policy{Workspace: dir, Env: []string{"A=\x00"}}, []string{"true"}, "NUL"},
	}
	if b := sandbox.Probe(); !b.Available() {
		t.Skipf("nothing can be held here: %s", b.Reason)
	}
	for _, test := range tests {
		if _, _, err := sandbox.Command(test.policy, test.argv...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
	t.Setenv("PARLEY_TEST_NO_LANDLOCK", "1")
	if _, _, err := sandbox.Command(sandbox.Policy{Workspace: dir}, "true"); err == nil {
		t.Error("a command without a backend")
	}
}

// The private temp directory goes with the command, and those that killed programs left go too.
func TestTempIsRemoved(t *testing.T) {
	if b := sandbox.Probe(); !b.Available() {
		t.Skipf("nothing can be held here: %s", b.Reason)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	if err := os.Mkdir(filepath.Join(temp, "parley-sandbox-1"), 0o700); err != nil { // of a killed program
		t.Fatal(err)
	}
	cmd, cleanup, err := sandbox.Command(sandbox.Policy{Workspace: t.TempDir()}, "/bin/sh", "-c", "echo x > $TMPDIR/f")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	cleanup()
	cleanup()
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// BenchmarkCommand shows what a sandbox costs beyond the start of this program;
// compare "held" with "started" and both with "plain".
func BenchmarkCommand(b *testing.B) {
	if found := sandbox.Probe(); !found.Available() {
		b.Skip(found.Reason)
	}
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	policy := sandbox.Policy{Workspace: b.TempDir(), Protected: sandbox.Protected(), Env: os.Environ()}
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/sh", "-c", "true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("started", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command(exe, "-test.run=^$").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("held", func(b *testing.B) {
		for b.Loop() {
			cmd, cleanup, err := sandbox.Command(policy, "/bin/sh", "-c", "true")
			if err != nil {
				b.Fatal(err)
			}
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
			cleanup()
		}
	})
}
