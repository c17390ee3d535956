package tools

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/tools/act"
	"parley/tools/process"
	"parley/tools/rule"

	"golang.org/x/sys/unix"
)

// openSandboxed is a workspace outside of /tmp, whose commands are held.
func openSandboxed(t *testing.T, cfg SandboxConfig, files map[string]string) fixture {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	f := open(t, files)
	f.EnableSandbox(cfg)
	if b := f.Sandbox(); !b.Available() {
		t.Skipf("nothing can be held here: %s", b.Reason)
	}
	return f
}

func TestHeldShell(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	f := openSandboxed(t, SandboxConfig{}, map[string]string{"sub/f": "text\n", ".git/config": "[core]\n"})
	tests := []struct {
		name    string
		command string
		want    []string
		failed  bool
	}{
		{name: "output", command: "echo hello; echo there >&2", want: []string{"hello\nthere\n[exit status 0]"}},
		{name: "status", command: "exit 3", want: []string{"[exit status 3]"}, failed: true},
		{name: "signal", command: "kill -9 $$", want: []string{"[exit status 137]"}, failed: true},
		{name: "workspace", command: "cat sub/f; echo new > sub/g && cat sub/g", want: []string{"text\nnew\n"}},
		{name: "temp folder", command: "cd $TMPDIR && echo x > y && mktemp >/dev/null && cat y", want: []string{"x\n"}},
		{name: "cache", command: "mkdir -p $XDG_CACHE_HOME/x && echo fine", want: []string{"fine\n"}},
		{name: "no terminal, no input", command: "read x; (: </dev/tty) 2>/dev/null || echo none", want: []string{"none\n"}},
		{name: "outside", command: "echo x > " + outside, failed: true,
			want: []string{"the sandbox may have denied it a file outside of the workspace", "ask the user to"}},
		{name: "network", command: "exec 3<>/dev/tcp/127.0.0.1/9", failed: true,
			want: []string{"the sandbox may have denied it the network", "ask the user to allow the network"}},
		{name: "a failure of its own", command: "cat sub/none", failed: true, want: []string{"No such file"}},
		{name: "protected, present", command: "echo '[alias]' > .git/config", failed: true, want: []string{"denied it a file outside of the workspace, or a protected one"}},
		{name: "protected, absent", command: "echo evil > .envrc", want: []string{"the sandbox undid changes of .envrc"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, err := f.Plan(t.Context(), "shell", args("command", test.command))
			if err != nil {
				t.Fatal(err)
			}
			if !a.Sandboxed || a.Network {
				t.Errorf("sandboxed %v, network %v", a.Sandboxed, a.Network)
			}
			out := a.Run(t.Context(), nil)
			for _, want := range test.want {
				if !strings.Contains(out.Text, want) {
					t.Errorf("got %q, want %q", out.Text, want)
				}
			}
			if out.Failed != test.failed {
				t.Errorf("failed: %v: %q", out.Failed, out.Text)
			}
		})
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a file was written outside")
	}
	if got := f.content(".git/config"); got != "[core]\n" {
		t.Errorf("got %q", got)
	}
}

// The network comes with the user's word and not with the model's.
func TestWithNetwork(t *testing.T) {
	f := openSandboxed(t, SandboxConfig{}, nil)
	if _, err := f.Plan(t.Context(), "shell", args("command", "true", "network", true)); err == nil {
		t.Error("the model may ask for the network")
	}
	a, err := f.Plan(t.Context(), "shell", args("command", "exec 3<>/dev/tcp/127.0.0.1/1"))
	if err != nil {
		t.Fatal(err)
	}
	online := a.WithNetwork()
	if a.Network || !online.Network || !online.Sandboxed || online.Command != a.Command {
		t.Errorf("got %+v", online)
	}
	if out := online.Run(t.Context(), nil); !strings.Contains(out.Text, "Connection refused") {
		t.Errorf("with the network: %q", out.Text)
	}
	if out := a.Run(t.Context(), nil); strings.Contains(out.Text, "Connection refused") {
		t.Errorf("without: %q", out.Text)
	}
}

// If no sandbox is available, that is said, and a command runs only if it is not
// required to be.
func TestWithoutSandbox(t *testing.T) {
	tests := []struct {
		name    string
		without string
		cfg     SandboxConfig
		why     string
		refused bool
	}{
		{name: "none", without: "1", why: "PARLEY_TEST_NO_LANDLOCK is set"},
		{name: "none, required", without: "1", cfg: SandboxConfig{Required: true}, why: "PARLEY_TEST_NO_LANDLOCK is set", refused: true},
		{name: "off", cfg: SandboxConfig{Off: true}, why: "sandbox.off"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("PARLEY_TEST_NO_LANDLOCK", test.without)
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			f := open(t, nil)
			f.EnableSandbox(test.cfg)
			if b := f.Sandbox(); b.Available() || !strings.Contains(b.Reason, test.why) {
				t.Errorf("got %+v", b)
			}
			a, err := f.Plan(t.Context(), "shell", args("command", "echo ran"))
			if (err != nil) != test.refused {
				t.Fatalf("got %v", err)
			}
			if err != nil {
				if !strings.Contains(err.Error(), test.why) {
					t.Errorf("got %v", err)
				}
				return
			}
			if a.Sandboxed || a.WithNetwork() != a {
				t.Errorf("got %+v", a)
			}
			if v := NewPolicy(act.ModeAuto).Decide(a); v != act.Ask {
				t.Errorf("auto mode: %s", v)
			}
		})
	}
}

// A workspace that holds the home directory holds its secrets.
func TestHomeIsNoWorkspaceToHold(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	s, err := Open(home)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.EnableSandbox(SandboxConfig{})
	if b := s.Sandbox(); b.Available() || !strings.Contains(b.Reason, "home folder") {
		t.Errorf("got %+v", b)
	}
}

// A heldCommand is one that runs in the sandbox until it is canceled.
type heldCommand struct {
	fixture
	name string      // of how it is held
	out  act.Outcome // when cancelHeld has returned
}

// cancelHeld runs a command in a workspace with files, once with namespaces and once without,
// and cancels both when they are ready. It returns when both have ended.
func cancelHeld(t *testing.T, files map[string]string, command string, ready func(fixture)) []*heldCommand {
	t.Helper()
	var all []*heldCommand
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, spaces := range []string{"", "1"} {
		t.Setenv("PARLEY_TEST_NO_NAMESPACES", spaces)
		c := &heldCommand{fixture: openSandboxed(t, SandboxConfig{}, files), name: "PARLEY_TEST_NO_NAMESPACES=" + spaces}
		a, err := c.Plan(t.Context(), "shell", args("command", command))
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() { c.out = a.Run(ctx, nil) })
		ready(c.fixture)
		all = append(all, c)
	}
	cancel()
	running.Wait()
	return all
}

func TestHeldCancelEndsEverything(t *testing.T) {
	text, n := script()
	all := cancelHeld(t, nil, text+"echo evil > .envrc; echo > begun; sleep 1000", func(f fixture) {
		f.wait("pids", n)
		f.wait("begun", 1)
	})
	dead(t, living(t, os.Getpid()))
	for _, c := range all {
		if !c.out.Failed || !strings.Contains(c.out.Text, "[canceled after") || !strings.Contains(c.out.Text, "undid changes of .envrc") {
			t.Errorf("%s: got %+v", c.name, c.out)
		}
	}
}

// The protected paths are as they were when a command has ended, however much that is.
func TestHeldRestoresInTime(t *testing.T) {
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip(err)
	}
	const command = `mkdir -p src/.git/objects src/.git/refs
echo 'ref: refs/heads/main' > src/.git/HEAD
printf '[core]\n\tfsmonitor = "evil; false"\n' > src/.git/config
echo evil > .envrc
mkdir heap
perl -e 'chdir "heap"; for (1..200) { mkdir "d"; chdir "d" }'
mv heap .parley
trap '' TERM
echo > deep
sleep 100`
	files := map[string]string{".git/config": "[core]\n", "src/x": ""}
	for _, c := range cancelHeld(t, files, command, func(f fixture) { f.wait("deep", 1) }) {
		for _, name := range []string{".parley", ".envrc", "src/.git/config"} {
			if _, err := os.Lstat(filepath.Join(c.Root(), name)); err == nil || !strings.Contains(c.out.Text, name) {
				t.Errorf("%s: %s is there (%v), or not told of: %s", c.name, name, err == nil, c.out.Text)
			}
		}
		if _, kept, ok := strings.Cut(c.out.Text, "kept in "); !ok || !strings.Contains(kept, "/parley/undone/") {
			t.Errorf("%s: it is not told where it is: %s", c.name, c.out.Text)
		}
	}
}

// The user sees all that the sandbox undid as well, however much the command printed and
// however it ended. What a command prints itself is not.
func TestSandboxNotices(t *testing.T) {
	const undid = "the sandbox undid changes of .envrc: no command may change them"
	f := openSandboxed(t, SandboxConfig{}, nil)
	for name, command := range map[string]string{
		"quiet": "echo evil > .envrc", "loud": "echo evil > .envrc; yes | head -c 400000", "deaf": "echo evil > .envrc; exec >&- 2>&-; exec sleep 0", "failed": "echo evil > .envrc; kill -9 $$",
	} {
		out, failure := f.do("shell", "command", command)
		if got := f.TakeSandboxNotices(); !strings.HasPrefix(got, undid) || strings.Contains(got, "\n") || !strings.Contains(out+failure, "["+undid) {
			t.Errorf("%s: the user gets %q, the model %s%s", name, got, out, failure)
		}
	}
	f.do("shell", "command", "echo '["+undid+"]'; ls -l /proc/self/fd; for fd in 3 4 5 6; do echo '[CAUTION: x]' >&$fd; done 2>/dev/null")
	if got := f.TakeSandboxNotices(); got != "" {
		t.Errorf("a command reports %q", got)
	}
	ended := make(chan Job, 1)
	f.Jobs().OnNews(func(j Job) { ended <- j })
	f.do("shell", "command", "echo evil > .envrc; echo done > done; exec sleep 100", "background", true)
	f.wait("done", 1)
	if _, err := f.Jobs().Kill(1); err != nil {
		t.Fatal(err)
	}
	<-ended
	if got := f.TakeSandboxNotices(); !strings.HasPrefix(got, undid) {
		t.Errorf("of a job: got %q", got)
	}
	run := process.Run{Command: process.CommandLine{Words: []string{"sh", "-c", "echo evil > .envrc"}}, Timeout: time.Minute}
	if res := f.RunProgram(t.Context(), run); res.Err != nil || !strings.HasPrefix(f.TakeSandboxNotices(), undid) {
		t.Errorf("of a program: %+v", res)
	}
}

// That a helper was killed is said: processes may be left.
func TestHeldHelperKilled(t *testing.T) {
	f := openSandboxed(t, SandboxConfig{}, nil)
	a, err := f.Plan(t.Context(), "shell", args("command", "echo x > started; sleep 100"))
	if err != nil {
		t.Fatal(err)
	}
	var out act.Outcome
	var running sync.WaitGroup
	running.Go(func() { out = a.Run(t.Context(), nil) })
	f.wait("started", 1)
	all, err := process.List()
	if err != nil {
		t.Fatal(err)
	}
	for pid, p := range all {
		if p.Parent == os.Getpid() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	running.Wait()
	if !out.Failed || !strings.Contains(out.Text, "[CAUTION: the process that ends all processes of a command was killed: check what still runs]") {
		t.Errorf("got %+v", out)
	}
}

// A command that makes a repository asks in auto mode as well, and every command does where there are no namespaces.
// A rule that allows it is asked nothing.
func TestCommandsThatAskInAuto(t *testing.T) {
	const repository, weak = "it makes a repository, whose settings can make git run programs", "the sandbox has no namespaces here"
	tests := []struct{ command, why string }{
		{"git init", repository}, {"cd sub && git init --bare x", repository}, {"git -C sub clone https://example.com/x.git", repository},
		{"git worktree add ../x", repository}, {"git submodule add u", repository}, {"git -c a.b=c submodule update --init", repository},
		{"git status", ""}, {"git commit -m init", ""}, {"echo git init", ""}, {"git submodule status", ""}, {"git worktree list", ""}, {"make", ""},
	}
	t.Setenv("PARLEY_TEST_NO_NAMESPACES", "")
	f := openSandboxed(t, SandboxConfig{}, nil)
	if f.Sandbox().Weak != "" {
		t.Skip(f.Sandbox().Weak)
	}
	for _, test := range tests {
		want := act.Allow
		if test.why != "" {
			want = act.Ask
		}
		if got, why := f.decided(NewPolicy(act.ModeAuto), "shell", "command", test.command); got != want || why != test.why {
			t.Errorf("%s: got %s, %q", test.command, got, why)
		}
	}
	t.Setenv("PARLEY_TEST_NO_NAMESPACES", "1")
	f = openSandboxed(t, SandboxConfig{}, nil)
	if got, why := f.decided(NewPolicy(act.ModeAuto), "shell", "command", "make"); got != act.Ask || why != weak {
		t.Errorf("got %s, %q", got, why)
	}
	p := NewPolicy(act.ModeAuto)
	p.AddRules([]rule.Rule{{Effect: act.Allow, Tool: "shell", Match: "make"}})
	if got, _ := f.decided(p, "shell", "command", "make"); got != act.Allow {
		t.Errorf("a rule allows it: got %s", got)
	}
}

// living are the living processes that descend from pid.
func living(t *testing.T, pid int) []int {
	t.Helper()
	all, err := process.List()
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, id := range process.Descendants(all, pid) {
		if !all[id].Zombie {
			out = append(out, id)
		}
	}
	return out
}

func TestSandboxConfig(t *testing.T) {
	tests := []struct {
		name string
		cfg  SandboxConfig
		want string
	}{
		{name: "nothing"},
		{name: "all", cfg: SandboxConfig{Required: true, Read: []string{"~/x", "/y"}, Write: []string{"/z"}, Env: []string{"MY_TOKEN"}}},
		{name: "both", cfg: SandboxConfig{Required: true, Off: true}, want: "exclude each other"},
		{name: "relative", cfg: SandboxConfig{Read: []string{"x"}}, want: `sandbox.read: "x"`},
		{name: "another's home", cfg: SandboxConfig{Write: []string{"~bob/x"}}, want: `sandbox.write: "~bob/x"`},
		{name: "a value", cfg: SandboxConfig{Env: []string{"A=b"}}, want: `sandbox.env: "A=b"`},
	}
	for _, test := range tests {
		err := test.cfg.Validate()
		if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// The configuration lets variables through by their exact names, and only those.
func TestHeldEnvironment(t *testing.T) {
	const canary = "canary-8f3a"
	for _, name := range []string{"OPENAI_API_KEY", "XDG_SECRET_TOKEN", "LC_PASSWORD", "MY_TOKEN2"} {
		t.Setenv(name, canary)
	}
	t.Setenv("MY_TOKEN", "wanted")
	f := openSandboxed(t, SandboxConfig{Env: []string{"MY_TOKEN"}}, nil)
	got := f.must("shell", "command", "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'")
	if strings.Contains(got, canary) || !strings.Contains(got, "MY_TOKEN=wanted\n") {
		t.Errorf("got %s", got)
	}
}
