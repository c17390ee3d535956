package sandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"parley/tools/sandbox"
)

// setup chooses the caller of Command, and whether namespaces are available.
type setup struct {
	name   string
	uid    int
	spaces bool
}

// long runs every test in every setup, and floods at full length.
var long = os.Getenv("PARLEY_LONG") == "1"

// setups returns one setup with namespaces and one without, of different users where there are
// two: what a command finds changed afterwards depends on each, not on the pair. With
// PARLEY_LONG=1 it returns all.
func setups() []setup {
	all := allSetups()
	if long || len(all) < 4 {
		return all
	}
	return []setup{all[0], all[3]}
}

// allSetups returns all setups that are available here.
func allSetups() []setup {
	uids := []int{os.Getuid()}
	if os.Getuid() == 0 {
		uids = append(uids, 65534)
	}
	var out []setup
	for _, uid := range uids {
		for _, spaces := range []bool{true, false} {
			name := fmt.Sprintf("uid %d, no namespaces", uid)
			if spaces {
				name = fmt.Sprintf("uid %d", uid)
			}
			out = append(out, setup{name, uid, spaces})
		}
	}
	return out
}

// fixture holds a workspace and its surroundings.
type fixture struct {
	t    *testing.T
	base string
	setup
	policy sandbox.Policy
	env    []string // of the caller
	server *server  // nil: none has started
}

// fixtures returns the directory of all fixtures, with the test program in bin/program, where
// every user can execute it. It is not in /tmp, so that the command's /tmp can be its own.
// TestMain removes it at the end.
var fixtures = sync.OnceValues(func() (dir string, err error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("/var/tmp", "parley-sandbox-test-"); err != nil {
		return "", err
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(dir+"/bin", 0o755)); err != nil {
		return dir, err
	}
	spread(dir)
	if os.Link(exe, dir+"/bin/program") == nil {
		return dir, nil
	}
	// Not by this process: one that is started meanwhile would keep the file open
	// for writing, and then it cannot be executed.
	if out, err := exec.Command("cp", exe, dir+"/bin/program").CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%w: %s", err, out)
	}
	return dir, nil
})

// spread has ext4 put the directories in dir far from others: without a journal it takes up to
// half a millisecond to make a file where many have been removed in the last minutes.
func spread(dir string) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	const topDir = 0x20000 // FS_TOPDIR_FL
	if flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS); err == nil {
		_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags|topDir))
	}
}

// program returns the test program.
func program() string {
	dir, _ := fixtures()
	return dir + "/bin/program"
}

func newFixture(t *testing.T, s setup) *fixture {
	t.Helper()
	if b := sandbox.Probe(); !b.Available() {
		t.Skipf("nothing can be held here: %s", b.Reason)
	} else if s.spaces && !strings.Contains(b.Name, "pidns") {
		t.Skipf("there are no namespaces here: %v", b.Details)
	}
	all, err := fixtures()
	if err != nil {
		t.Skip(err)
	}
	base, err := os.MkdirTemp(all, "")
	if err != nil {
		t.Fatal(err)
	}
	p := &fixture{t: t, base: base, setup: s}
	p.write("outside/file", "canary")
	p.write("home/.ssh/id_ed25519", "canary")
	p.write("home/.bash_history", "canary")
	p.write("home/.config/parley/config.toml", "canary")
	p.write("home/.config/git/credentials", "canary")
	p.write("home/.config/git/config", "[user]\n")
	p.write("workspace/.git/config", "[core]\n")
	p.write("workspace/.git/hooks/old", "#!/bin/sh\n")
	if err := filepath.Walk(base, func(path string, _ os.FileInfo, _ error) error { return os.Lchown(path, s.uid, s.uid) }); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(base, 0o755), os.Mkdir(p.at("temp"), 0o700), os.Chmod(p.at("temp"), 0o777)); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + p.at("home"), "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}
	p.policy = sandbox.Policy{
		Workspace: p.at("workspace"), Protected: sandbox.Protected(), Env: env,
		ReadPaths: append(sandbox.ReadablePaths(env), all+"/bin"),
	}
	p.env = append(slices.Clone(env), "OPENAI_API_KEY=sk-canary", "TMPDIR="+p.at("temp"))
	if !s.spaces {
		p.env = append(p.env, "PARLEY_TEST_NO_NAMESPACES=1")
	}
	return p
}

func (p *fixture) at(name string) string { return filepath.Join(p.base, name) }

func (p *fixture) write(name, content string) {
	p.t.Helper()
	file := p.at(name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// read returns a file's content; "" if it is absent, its mode if it is no file.
func (p *fixture) read(name string) string {
	if info, err := os.Stat(p.at(name)); err == nil && !info.Mode().IsRegular() {
		return info.Mode().String()
	}
	b, _ := os.ReadFile(p.at(name))
	return string(b)
}

// No escape works, for any caller; without namespaces only those of the package comment.
func TestEscapes(t *testing.T) {
	for _, s := range allSetups() {
		t.Run(s.name, func(t *testing.T) {
			p := newFixture(t, s)
			heard := p.listen()
			victim := exec.Command("sleep", "1000")
			victim.SysProcAttr = &syscall.SysProcAttr{Credential: p.credential()}
			if err := victim.Start(); err != nil {
				t.Fatal(err)
			}
			defer victim.Wait()
			defer victim.Process.Kill()
			tt := heard.target
			tt.Victim, tt.Caller = victim.Process.Pid, os.Getpid()
			text, err := json.Marshal(tt)
			if err != nil {
				t.Fatal(err)
			}
			p.policy.Env = append(p.policy.Env, targetVariable+"="+string(text))
			before, err := os.Stat(p.at("outside/file"))
			if err != nil {
				t.Fatal(err)
			}

			out, err := p.caller(program(), probe).CombinedOutput()
			if want := fmt.Sprintf("tried: %d\n", len(escapes())); err != nil || !strings.Contains(string(out), want) {
				t.Fatalf("got %v, %s", err, out)
			}
			passed := map[string]bool{}
			for line := range strings.Lines(string(out)) {
				if name, ok := strings.CutPrefix(strings.TrimSpace(line), "escaped: "); ok {
					passed[name] = true
				}
			}
			for _, e := range escapes() {
				if passed[e.name] && (s.spaces || !e.limit) {
					t.Errorf("%s: escaped", e.name)
				}
			}

			after, err := os.Stat(p.at("outside/file"))
			if err != nil {
				t.Fatal(err)
			}
			if s.spaces && (after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime())) {
				t.Errorf("outside/file: %v %v, was %v %v", after.Mode(), after.ModTime(), before.Mode(), before.ModTime())
			}
			if entries, err := os.ReadDir(p.at("outside")); err != nil || len(entries) != 3 || p.read("outside/file") != "canary" {
				t.Errorf("outside: %v, %v, %q", entries, err, p.read("outside/file"))
			}
			if _, err := os.Stat(filepath.Join("/tmp", filepath.Base(p.base))); err == nil {
				t.Error("a file was written to everybody's /tmp")
			}
			if err := victim.Process.Signal(syscall.Signal(0)); err != nil {
				t.Errorf("the victim: %v", err)
			}
			if n := heard.stop(); n > 0 {
				t.Errorf("%d connections came in", n)
			}
			p.assertUntouched()
		})
	}
}

// assertUntouched fails if a protected path is not what newFixture made.
func (p *fixture) assertUntouched() {
	p.t.Helper()
	for name, want := range map[string]string{
		".git/config": "[core]\n", ".git/hooks/old": "#!/bin/sh\n", ".git/hooks/pre-commit": "",
		".git/config.worktree": "", ".envrc": "", ".mcp.json": "", ".parley/config.toml": "",
	} {
		if got := p.read("workspace/" + name); got != want {
			p.t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if _, err := os.Lstat(p.at("workspace/" + name)); err == nil && want == "" {
			p.t.Errorf("%s is there, if empty", name)
		}
	}
}

// listener counts what leaves a sandbox.
type listener struct {
	target
	stop func() (connections int)
}

func (p *fixture) listen() listener {
	p.t.Helper()
	l := listener{target: target{Workspace: p.at("workspace"), Outside: p.at("outside"), Home: p.at("home")}}
	heard := make(chan int)
	var closers []io.Closer
	var last []func() error // each sends to a listener, and returns when that has counted all that came before
	const lastDatagram = "last"
	streams := map[string]string{p.at("outside/socket"): "unix", p.at("workspace/socket"): "unix", "@" + filepath.Base(p.base): "unix", "127.0.0.1:0": "tcp"}
	for address, network := range streams {
		in, err := net.Listen(network, address)
		if err != nil {
			p.t.Fatal(err)
		}
		if network == "tcp" {
			l.TCP = in.Addr().String()
		}
		closers = append(closers, in)
		last = append(last, func() error {
			c, err := net.Dial(network, in.Addr().String())
			if err != nil {
				return err
			}
			defer c.Close()
			_, _ = c.Read(make([]byte, 1)) // its end: all that came before were accepted
			return nil
		})
		go func() {
			n := -1 // the last one is the test's own
			for {
				c, err := in.Accept()
				if err != nil {
					heard <- n
					return
				}
				n++
				c.Close()
			}
		}()
	}
	l.Abstract = "@" + filepath.Base(p.base)
	for address, network := range map[string]string{p.at("outside/datagrams"): "unixgram", "127.0.0.1:0": "udp"} {
		in, err := net.ListenPacket(network, address)
		if err != nil {
			p.t.Fatal(err)
		}
		if network == "udp" {
			l.UDP = in.LocalAddr().String()
		}
		closers = append(closers, in)
		ended := make(chan struct{})
		last = append(last, func() error {
			c, err := net.Dial(network, in.LocalAddr().String())
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err = io.WriteString(c, lastDatagram); err == nil {
				<-ended
			}
			return err
		})
		go func() {
			n := 0
			for b := make([]byte, 64); ; n++ {
				if size, _, err := in.ReadFrom(b); err != nil || string(b[:size]) == lastDatagram {
					close(ended)
					heard <- n
					return
				}
			}
		}()
	}
	for _, name := range []string{"outside/socket", "outside/datagrams", "workspace/socket"} {
		if err := os.Chmod(p.at(name), 0o777); err != nil {
			p.t.Fatal(err)
		}
	}
	l.stop = func() (total int) {
		for _, send := range last {
			if err := send(); err != nil {
				p.t.Error(err)
			}
		}
		for _, c := range closers {
			c.Close()
		}
		for range closers {
			total += <-heard
		}
		return total
	}
	return l
}

// No user reads entries of /etc that are not for everyone.
func TestEtcOfTheSystem(t *testing.T) {
	var secret []string
	_ = filepath.WalkDir("/etc", func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil && info.Mode().Perm()&0o004 == 0 {
				secret = append(secret, path)
			}
		}
		return nil
	})
	if len(secret) == 0 {
		t.Skip("everything in /etc is for everybody")
	}
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			out, _ := p.run("for f in " + strings.Join(secret, " ") + "; do head -c 1 $f > /dev/null 2>&1 && echo $f; done; head -c 1 /etc/passwd > /dev/null && ls /etc > /dev/null && echo fine")
			if out != "fine\n" {
				t.Errorf("it reads %s", out)
			}
		})
	}
}
