//go:build unix

package client

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/process"
)

// A notebook is what parley stores about servers, which use it at once.
type notebook struct{ texts sync.Map }

func (m *notebook) get(name string) string {
	text, _ := m.texts.Load(name)
	s, _ := text.(string)
	return s
}

func (m *notebook) set(name, text string) error {
	m.texts.Store(name, text)
	return nil
}

// held starts a server as parley does: held by the sandbox, in a home directory of its
// own, with a memory that outlives it.
func held(t *testing.T, c mcp.Config, memory *notebook) *testServer {
	t.Helper()
	set, err := tools.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	set.EnableSandbox(tools.SandboxConfig{})
	if backend := set.Sandbox(); !backend.Available() {
		t.Skipf("there is no sandbox: %s", backend.Reason)
	}
	policy := func(server string, c mcp.Config, env []string) (process.SandboxPolicy, error) {
		p, err := set.ServerPolicy(server, c.Network, env, func(name string) bool { _, own := c.Env[name]; return own })
		p.ReadPaths, p.WritePaths = append(p.ReadPaths, c.Read...), append(p.WritePaths, c.Write...)
		return p, err
	}
	o := mcp.Options{
		Dir: set.Root(),
		Confine: func(server string, c mcp.Config, env []string) (*process.SandboxPolicy, error) {
			if c.Unsandboxed {
				return nil, nil
			}
			p, err := policy(server, c, env)
			return &p, err
		},
		GrantablePath: func(server string, c mcp.Config, path string, write bool) string {
			p, err := policy(server, c, nil)
			if err != nil {
				return ""
			}
			return tools.GrantablePath(p, path, write)
		},
		LoadState: memory.get,
		SaveState: memory.set,
		Approved:  func(server string) string { return memory.get("agreed " + server) },
		Approve:   func(server, seal string) error { return memory.set("agreed "+server, seal) },
	}
	b := &testServer{servers: open(t.Context(), map[string]mcp.Config{"s": c}, o), t: t, set: set}
	t.Cleanup(func() {
		b.Close()
		set.Close()
	})
	b.Wait(t.Context())
	return b
}

// home is a home directory to test in.
func home(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	return dir
}

func put(t *testing.T, file, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

// settle waits until the server is no longer starting.
func (b *testServer) settle() mcp.State {
	b.t.Helper()
	return b.until("it settles", func(s mcp.State) bool { return s.Status != mcp.StatusStarting })
}

// A program in the home directory cannot be read in the sandbox. What it takes to start
// is offered, works, and is remembered; so is that it need not be downloaded.
func TestProgramInTheHomeFolder(t *testing.T) {
	dir, memory := home(t), &notebook{}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "tools/server/package.json"), "{}", 0o644)
	program := put(t, filepath.Join(dir, "tools/server/bin/run"), "#!/bin/sh\nPARLEY_TEST_SERVER=real exec "+exe+"\n", 0o755)
	c := mcp.Config{Command: process.ShellLine(program), Trusted: false, Read: []string{exe}}
	b := held(t, c, memory)
	s := b.state()
	if s.Status != mcp.StatusFailed || !strings.Contains(s.Reason, "exited (status 126)") || !strings.Contains(s.Reason, "the sandbox refused it files") || !s.Sandboxed || !s.FirstStart {
		t.Fatalf("got %+v", s)
	}
	project := filepath.Join(dir, "tools/server")
	if !slices.Equal(s.Refusal.Needs.Read, []string{project}) || s.Refusal.Needs.Network || len(s.Refusal.Reasons) == 0 || !strings.Contains(s.Refusal.Reasons[0], program) {
		t.Errorf("got %+v, want to read %s", s.Refusal, project)
	}
	if err := b.Allow("s", s.Refusal.Needs); err != nil {
		t.Fatal(err)
	}
	s = b.until("it works", func(s mcp.State) bool { return s.Status == mcp.StatusNew })
	if s.Allowed.String() != "may read "+project || s.FirstStart {
		t.Errorf("got %+v", s)
	}
	if err := b.Approve("s", s.Fingerprint); err != nil {
		t.Fatal(err)
	}
	b.Close()

	b = held(t, c, memory)
	if s := b.state(); s.Status != mcp.StatusReady || s.FirstStart || s.Allowed.IsZero() {
		t.Errorf("in the next session: got %+v", s)
	}
	c.Args = []string{"other"}
	other := held(t, c, memory)
	if s := other.settle(); s.Status != mcp.StatusFailed || !s.Allowed.IsZero() {
		t.Errorf("another server of the same name: got %+v", s)
	}
}

// All that a user's own server needs is allowed at once: access, tools that are not known yet, and calls. It holds for
// that command alone.
func TestAllowAll(t *testing.T) {
	dir, memory := home(t), &notebook{}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "tools/server/package.json"), "{}", 0o644)
	program := put(t, filepath.Join(dir, "tools/server/bin/run"), "#!/bin/sh\nPARLEY_TEST_SERVER=real exec "+exe+"\n", 0o755)
	c := mcp.Config{Command: process.ShellLine(program), Read: []string{exe}}
	allowed := func(b *testServer) bool {
		b.offer()
		a, err := b.set.Plan(t.Context(), "mcp__s__echo", `{"text":"hi"}`)
		if err != nil {
			t.Fatal(err)
		}
		return a.Allowed
	}
	b := held(t, c, memory)
	more := b.state().Refusal.Needs
	more.Calls = true
	if err := b.Allow("s", more); err != nil {
		t.Fatal(err)
	}
	b.until("it works", func(s mcp.State) bool { return s.Status == mcp.StatusReady })
	if !allowed(b) {
		t.Error("a call asks")
	}
	b.Close()

	b = held(t, c, memory)
	if s := b.state(); s.Status != mcp.StatusReady || !allowed(b) {
		t.Errorf("in the next session: %s, %v", s.Status, allowed(b))
	}
	since := b.state().PID
	if err := b.Allow("s", mcp.Access{Calls: true}); err != nil || b.state().PID != since {
		t.Errorf("it was restarted: %v", err)
	}
	if err := b.Allow("s", mcp.Access{}); err != nil {
		t.Fatal(err)
	}
	b.Close()
	c.Args = []string{"other"}
	if s := held(t, c, memory).settle(); s.Status != mcp.StatusFailed || !s.Allowed.IsZero() {
		t.Errorf("another command of the same name: got %+v", s)
	}
	c.Args, c.OfProject = nil, true
	project := held(t, c, &notebook{})
	if err := project.Allow("s", more); err != nil {
		t.Fatal(err)
	}
	s := project.until("it starts", func(s mcp.State) bool { return s.Status == mcp.StatusNew || s.Status == mcp.StatusReady })
	if err := project.Approve("s", s.Fingerprint); err != nil || s.Status != mcp.StatusNew || allowed(project) {
		t.Errorf("a project's server: %s, %v", s.Status, err)
	}
}

// TestFirstStartEnds: once a server is shown with its tools, it no longer starts for the first time.
func TestFirstStartEnds(t *testing.T) {
	var all *servers
	opened, shown := make(chan struct{}), make(chan mcp.State, 10)
	c := self(t, "real")
	c.Trusted = false
	all = open(t.Context(), map[string]mcp.Config{"s": c}, mcp.Options{Dir: t.TempDir(), OnChange: func(string) {
		<-opened
		shown <- all.States()[0]
	}})
	close(opened)
	defer all.Close()
	for s := range shown {
		if s.Status != mcp.StatusStarting {
			if s.Status != mcp.StatusNew || s.FirstStart {
				t.Errorf("got %+v", s)
			}
			return
		}
	}
}

// Allowing more later does not ask about the tools again; taking it back does
// not either.
func TestAllowedLater(t *testing.T) {
	home(t)
	c, memory := self(t, "real"), &notebook{}
	c.Trusted = false
	c.Read = c.Command.Words
	b := held(t, c, memory)
	if err := b.Approve("s", b.state().Fingerprint); err != nil {
		t.Fatal(err)
	}
	for _, more := range []mcp.Access{{Network: true}, {}} {
		if err := b.Allow("s", more); err != nil {
			t.Fatal(err)
		}
		s := b.until("it restarts", func(s mcp.State) bool {
			return s.Status != mcp.StatusStarting && s.Allowed.Network == more.Network && s.PID != 0
		})
		if s.Status != mcp.StatusReady {
			t.Errorf("%+v: got %s, %s", more, s.Status, s.Reason)
		}
	}
}

// A server that was stopped stays so, until it is started again.
func TestStop(t *testing.T) {
	home(t)
	c, memory := self(t, "real"), &notebook{}
	c.Read = c.Command.Words
	b := held(t, c, memory)
	if err := b.Stop("s"); err != nil {
		t.Fatal(err)
	}
	b.until("it stops", func(s mcp.State) bool { return s.Status == mcp.StatusStopped && s.PID == 0 })
	b.Close()
	b = held(t, c, memory)
	if s := b.state(); s.Status != mcp.StatusStopped {
		t.Fatalf("in the next session: got %+v", s)
	}
	if err := b.Restart("s"); err != nil {
		t.Fatal(err)
	}
	b.until("it runs", func(s mcp.State) bool { return s.Status == mcp.StatusReady })
}

// A refusal is recognized by the program's words, its exit status and its
// configuration, and nothing is offered that would give away the home directory.
func TestRefusal(t *testing.T) {
	grantable := func(path string, _ bool) string {
		if strings.HasPrefix(path, "/home/me/src") {
			return "/home/me/src"
		}
		return ""
	}
	tests := []struct {
		name, stderr string
		config       mcp.Config
		ended        int
		wants        mcp.Access
		why          string
	}{
		{"npx", "", mcp.Config{Command: process.ShellLine("npx"), Args: []string{"-y", "x"}}, -1, mcp.Access{Network: true}, "npx downloads what it starts"},
		{"npx by its path", "", mcp.Config{Command: process.ShellLine("/usr/bin/npx")}, -1, mcp.Access{Network: true}, "npx downloads"},
		{"npx with a network", "boom", mcp.Config{Command: process.ShellLine("npx"), Network: true}, 1, mcp.Access{}, ""},
		{"deno", "", mcp.Config{Command: process.ShellLine("deno"), Args: []string{"fmt"}}, 1, mcp.Access{}, ""},
		{"names of hosts", "npm error request failed, getaddrinfo EAI_AGAIN registry.npmjs.org\n", mcp.Config{Command: process.ShellLine("srv")}, 1, mcp.Access{Network: true}, "EAI_AGAIN"},
		{"a script", "Error: EACCES: permission denied, open '/home/me/src/a.js'\n", mcp.Config{Command: process.ShellLine("node")}, 1, mcp.Access{Read: []string{"/home/me/src"}}, "EACCES"},
		{"a change", "OSError: [Errno 30] Read-only file system: '/home/me/src/x.db'\n", mcp.Config{Command: process.ShellLine("node")}, 1, mcp.Access{Write: []string{"/home/me/src"}}, "Read-only"},
		{"an argument", "", mcp.Config{Command: process.ShellLine("node"), Args: []string{"--root=/home/me/src"}}, 1, mcp.Access{Read: []string{"/home/me/src"}}, "it was given /home/me/src"},
		{"the home folder", "permission denied: /home/me\n", mcp.Config{Command: process.ShellLine("node")}, 1, mcp.Access{}, ""},
		{"126", "", mcp.Config{Command: process.ShellLine("srv")}, 126, mcp.Access{}, "srv could not be started"},
		{"its own trouble", "TypeError: x is not a function\n", mcp.Config{Command: process.ShellLine("node")}, 1, mcp.Access{}, ""},
	}
	for _, test := range tests {
		r := &explanation{grantable: grantable}
		r.explainStart(test.config, test.stderr, test.ended)
		if r.Needs.String() != test.wants.String() || !strings.Contains(strings.Join(r.Reasons, "\n"), test.why) || test.why == "" && len(r.Reasons) > 0 && test.name != "the home folder" {
			t.Errorf("%s: got %+v, want %+v because of %q", test.name, r, test.wants, test.why)
		}
	}
}

// TestRefusedInCall: what the sandbox refused a server during a call is told with the call, and can be
// allowed.
func TestRefusedInCall(t *testing.T) {
	dir, memory := home(t), &notebook{}
	file := put(t, filepath.Join(dir, "notes/list/one.txt"), "milk\n", 0o644)
	c := self(t, "real")
	c.Read = c.Command.Words
	b := held(t, c, memory)
	b.offer()
	if out := b.call("echo", `{"text":"hello"}`); out.Failed || strings.Contains(out.Text, "sandbox") {
		t.Fatalf("got %+v", out)
	}
	b.call("mutters", `{"text":"bind() failed: Operation not permitted (1)"}`)
	for b.state().Refusal.Needs.IsZero() { // the tests' own deadline ends it
		b.call("echo", `{"text":"hello"}`)
	}
	for range 2 {
		out := b.call("open", `{"text":"`+file+`"}`)
		if want := "[the sandbox refused it files (file: open " + file + ": permission denied); the user can allow it with /mcp s]"; !out.Failed || !strings.HasSuffix(out.Text, want) {
			t.Errorf("got %q, want %q", out.Text, want)
		}
	}
	if out := b.call("socket", ""); !out.Failed || !strings.Contains(out.Text, "[the sandbox refused it a system call (system call: socket: operation not permitted); the user") {
		t.Errorf("got %q", out.Text)
	}
	s := b.state()
	if s.Status != mcp.StatusReady || s.Refusal.Needs.String() != "runs without the sandbox; may read "+filepath.Dir(file) || len(s.Refusal.Reasons) != 3 {
		t.Fatalf("got %+v", s)
	}
	for _, test := range []struct {
		more        mcp.Access
		tool, input string
	}{{mcp.Access{Read: s.Refusal.Needs.Read}, "open", `{"text":"` + file + `"}`}, {mcp.Access{Unsandboxed: true}, "socket", ""}} {
		before := b.state().PID
		if err := b.Allow("s", test.more); err != nil {
			t.Fatal(err)
		}
		s := b.until("it restarts", func(s mcp.State) bool { return s.Status == mcp.StatusReady && s.PID != 0 && s.PID != before })
		b.offer()
		if out := b.call(test.tool, test.input); out.Failed || !s.Refusal.Needs.IsZero() {
			t.Errorf("%s: got %q, %+v", test.tool, out.Text, s)
		}
	}
	if out := b.call("complains", `{"text":"socket() failed: Operation not permitted"}`); strings.Contains(out.Text, "sandbox") {
		t.Errorf("without a sandbox: got %q", out.Text)
	}
}

// TestExplainCall: only what the sandbox refuses is taken for it, and not what a service answers.
func TestExplainCall(t *testing.T) {
	dir := t.TempDir()
	here := put(t, filepath.Join(dir, "data/a.js"), "", 0o644)
	grantable := func(path string, _ bool) string {
		if strings.HasPrefix(path, dir) {
			return dir
		}
		return ""
	}
	const free, network = "runs without the sandbox", "may reach the network"
	for _, test := range []struct{ text, want string }{
		{"[pid=32][err] [32:32:1129/200937.383466:FATAL:chrome/browser/process_singleton_posix.cc:297] Check failed: . socket() failed: Operation not permitted (1)", free},
		{"Error: listen EPERM: operation not permitted 127.0.0.1:8080", free},
		{"listen unix " + here + ".sock: socket: operation not permitted", free},
		{"Failed to move to new namespace: PID namespaces supported, Network namespace supported, but failed: errno = Operation not permitted", free},
		{"    self._sock = socket.socket()\nPermissionError: [Errno 1] Operation not permitted", free},
		{"Error: getaddrinfo EAI_AGAIN api.example.com", network},
		{"Get \"https://api.example.com\": dial tcp: lookup api.example.com: socket: operation not permitted", network},
		{"Error: EACCES: permission denied, open '" + here + "'", "may read " + dir},
		{"PermissionError: [Errno 13] Permission denied: '" + here + "'", "may read " + dir},
		{"OSError: [Errno 30] Read-only file system: '" + filepath.Dir(here) + "/new.db'", "may change " + dir},
		{"EROFS: read-only file system, mkdir '" + filepath.Dir(here) + "/new'", "may change " + dir},

		{"permission denied for table users", ""},
		{"403 Forbidden: Permission denied on resource project my-project", ""},
		{"ERROR: operation not permitted", ""},
		{"remote: Permission denied (publickey).", ""},
		{"https://api.example.com" + here + ": permission denied", ""},
		{"scp: host:" + here + ": Permission denied", ""},
		{"cat: " + dir + "/none/b.txt: Permission denied", ""},
		{"cat: /etc/shadow: Permission denied", ""},
		{"bind: permission denied", ""},
		{"cannot connect: EACCES", ""},
		{"read socket: connection reset by peer", ""},
		{"TypeError: x is not a function at " + here, ""},
	} {
		r := &explanation{grantable: grantable}
		r.explainCall(mcp.Config{}, test.text)
		if r.Needs.String() != test.want || (test.want == "") != (len(r.Reasons) == 0) {
			t.Errorf("%q: got %+v, want %q", test.text, r, test.want)
		}
	}
	r := &explanation{grantable: grantable}
	if r.explainCall(mcp.Config{Network: true}, "getaddrinfo EAI_AGAIN api.example.com"); !r.Needs.IsZero() {
		t.Errorf("with a network: got %+v", r)
	}
}

// TestNewLines: each line is returned once, and none in pieces.
func TestNewLines(t *testing.T) {
	var b tailBuffer
	long := strings.Repeat("x", maxStderr-10)
	for _, step := range []struct{ write, want string }{
		{"one\ntw", "one\n"}, {"o\n", "two\n"}, {"", ""}, {long + "\nthree\n", long + "\nthree\n"}, {long + long + "\nfour\nfi", "four\n"}, {"ve\n", "five\n"},
	} {
		b.Write([]byte(step.write))
		if got := b.newLines(); got != step.want {
			t.Errorf("%.20q: got %.20q, want %.20q", step.write, got, step.want)
		}
	}
}

// fromNPM skips a test where npm's registry is out of reach.
func fromNPM(t *testing.T) {
	t.Helper()
	if os.Getenv("PARLEY_LONG") != "1" {
		t.Skip("PARLEY_LONG=1 is not set: nothing is downloaded")
	}
	if _, err := exec.LookPath("npx"); err != nil {
		t.Skip("npx is not installed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://registry.npmjs.org/-/ping", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Skipf("npm's registry is out of reach: %v", err)
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
}

// Servers as people configure them: started by npx, which downloads them. Without a
// network that fails with a word of the sandbox, and what is offered then works.
func TestServersFromNPM(t *testing.T) {
	fromNPM(t)
	dir := home(t)
	files := filepath.Join(dir, "documents")
	put(t, filepath.Join(files, "note.txt"), "from the documents\n", 0o644)
	for _, test := range []struct {
		name  string
		args  []string
		wants mcp.Access
		tool  string
		input string
		want  string
	}{
		{"everything", []string{"-y", "@modelcontextprotocol/server-everything"}, mcp.Access{Network: true}, "echo", `{"message":"hello"}`, "hello"},
		{"filesystem", []string{"-y", "@modelcontextprotocol/server-filesystem", files}, mcp.Access{Network: true, Write: []string{files}},
			"read_text_file", `{"path":"` + files + `/note.txt"}`, "from the documents"},
	} {
		t.Run(test.name, func(t *testing.T) {
			memory := &notebook{}
			c := mcp.Config{Command: process.ShellLine("npx"), Args: test.args, Trusted: true}
			b := held(t, c, memory)
			s := b.state()
			if s.Status != mcp.StatusFailed || !s.FirstStart || !strings.Contains(s.Reason, "the sandbox refused it the network") || s.Refusal.Needs.String() != test.wants.String() {
				t.Fatalf("got %+v", s)
			}
			t.Logf("refused after %s: %s; %q", time.Since(s.Since), s.Reason, s.Refusal.Reasons)
			begun := time.Now()
			if err := b.Allow("s", s.Refusal.Needs); err != nil {
				t.Fatal(err)
			}
			s = b.until("it is downloaded and starts", func(s mcp.State) bool {
				return s.Status == mcp.StatusReady || s.Status == mcp.StatusFailed && !s.Allowed.IsZero() && time.Since(begun) > 3*time.Second
			})
			if s.Status != mcp.StatusReady {
				t.Fatalf("after %s: %s\n%s", time.Since(begun), s.Reason, s.Stderr)
			}
			t.Logf("the first start took %s", time.Since(begun))
			b.offer()
			if out := b.call(test.tool, test.input); out.Failed || !strings.Contains(out.Text, test.want) {
				t.Errorf("got %+v", out)
			}
			b.Close()

			begun = time.Now()
			b = held(t, c, memory)
			if s := b.state(); s.Status != mcp.StatusReady || s.FirstStart {
				t.Errorf("in the next session: got %+v", s)
			}
			t.Logf("the next start took %s", time.Since(begun))
		})
	}
}

// The last answer of a user, given while an earlier change is being stored, is remembered in the
// end.
func TestStoredInOrder(t *testing.T) {
	slow, saved := make(chan struct{}), make(chan string, 2)
	first := true
	s := newServer("s", mcp.Config{Command: process.ShellLine("x")}, mcp.Options{SaveState: func(_, text string) error {
		if first {
			first = false
			<-slow
		}
		saved <- text
		return nil
	}}, inbound{calls: new(inFlight)})
	var both sync.WaitGroup
	both.Go(func() { _ = s.updateStored(func(m *storedState) { m.Started = true }) })
	for s.isFirstStart() {
		runtime.Gosched()
	}
	both.Go(func() { _ = s.updateStored(func(m *storedState) { m.Stopped = true }) })
	close(slow)
	both.Wait()
	if <-saved; !strings.Contains(<-saved, "stopped") {
		t.Error("that it was stopped is forgotten")
	}
}
