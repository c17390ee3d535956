//go:build linux

package tui

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/providers/llmtest/parallel"
	"parley/session"
	_ "parley/session/storetest/copies"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/permission"
	"parley/tools/process"
	"parley/tools/sandbox"
	"parley/ui/app"
	"parley/ui/app/flows"
	"parley/ui/app/wording"
	"parley/ui/clip/routes"
	"parley/ui/tui/panels"
	"parley/ui/uitest"
	"parley/ui/uitest/vt"
)

// TestMain runs the screen instead of the tests in the processes that launch
// starts.
func TestMain(m *testing.M) {
	sandbox.Register()
	permission.Register()
	routes.Register()
	if !sandbox.Probe().Available() { // its tests need no sandbox
		process.Sandbox.Command = process.Sandbox.Supervise
	}
	if where := os.Getenv("PARLEY_UI_CHILD"); where != "" {
		os.Exit(child(where))
	}
	uitest.RestoreHangup()
	os.Unsetenv("NO_COLOR")
	os.Setenv("TERM", "xterm-256color")
	many := 8
	if llmtest.Race {
		many = 4
	}
	parallel.Tests(many)
	os.Exit(m.Run())
}

// child shows a screen whose model streams forever. The key "!" ends it in the
// way named by where.
func child(where string) int {
	turn := llmtest.Hang("streaming")
	o := session.Options{}
	switch where {
	case "hostile":
		dir, err := os.MkdirTemp("", "hostile")
		if err != nil {
			return 9
		}
		defer os.RemoveAll(dir)
		o, _, err := hostile(dir, hostiles())
		if err != nil {
			return 9
		}
		return Run(o)
	case "copies":
		turn = llmtest.Say(copiedWhole())
	case "kept":
		lib, err := session.OpenStore(os.Getenv)
		if err != nil {
			return 9
		}
		defer lib.Close()
		o.Log = lib.Create(session.Info{})
	case "answered":
		turn = llmtest.Say("streaming is over")
	case "flood":
		turn = llmtest.Hang(flood()...)
	case "screenful":
		turn = llmtest.Hang(flood()[:20_000]...)
	case "shell":
		turn = llmtest.Call(llm.Part{Name: "shell", Input: `{"command":"echo $$ > pid; echo stream''ing; exec sleep 1000"}`})
		set, err := tools.Open(os.Getenv("PARLEY_UI_FOLDER"))
		if err != nil {
			return 9
		}
		lib, err := session.OpenStore(os.Getenv)
		if err != nil {
			return 9
		}
		defer lib.Close()
		o.Tools, o.Policy, o.Log = set, tools.NewPolicy(act.ModeYolo), lib.Create(session.Info{})
	}
	o.Model = llm.Endpoint{Model: llmtest.New(turn), Name: "fake/m", Origin: "fake", Strategy: "native"}
	m := newModel(Options{Config: Default(), Panels: panels.New, App: app.Options{Flows: flows.Register, Session: session.New(o), OnExit: func(string) { fmt.Fprintln(os.Stderr, "how to come back") }, Start: app.Start{Prompt: []llm.Part{{Kind: llm.Text, Text: "hi"}}}}})
	return present(m, &fragile{Model: m, where: where})
}

// fragile is a root that panics.
type fragile struct {
	*Model
	where string
	armed bool
}

func (f *fragile) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if key, ok := msg.(tea.KeyPressMsg); ok && key.String() == "!" {
		switch f.where {
		case "update":
			panic("in update")
		case "view":
			f.armed = true
		case "command":
			return f, f.Guarded(tea.Batch(func() tea.Msg { panic("in a command") }, f.ShowToast("x")))
		case "sequence":
			return f, f.Guarded(f.Sequence(nil, func() tea.Msg { return nil }, func() tea.Msg { panic("in a command behind others, with " + shaped) }))
		case "goroutine":
			go f.Guard(func() { panic("in a goroutine, with " + os.Getenv("TEST_API_KEY") + " and " + shaped) })
		case "library": // nobody recovers it
			go func() { panic("in somebody else's goroutine, with " + shaped) }()
		case "fatal": // nobody could recover it
			debug.SetMaxStack(1 << 16)
			sunk = deeper(1)
		case "exit":
			os.Exit(0)
		}
	}
	_, cmd := f.Model.Update(msg)
	return f, cmd
}

// shaped looks like an API key.
const shaped = "sk-canary-0123456789abcdef"

// deeper never returns, on purpose.
func deeper(n int) int {
	if n < 0 {
		return n
	}
	return deeper(n+1) + n
}

var sunk int

func (f *fragile) View() tea.View {
	if f.armed {
		panic("in view")
	}
	return f.Model.View()
}

// A stand is a process with a screen on its own terminal.
type stand struct {
	*exec.Cmd
	t      *testing.T
	tty    *os.File // the other side of its terminal
	out    *screen
	home   string
	before unix.Termios
}

// launch starts child(where) and waits until its screen shows text.
func launch(t *testing.T, where, text string, argv ...string) *stand {
	t.Helper()
	out := &screen{}
	s := launchOn(t, out, where, argv...)
	s.out = out
	s.out.waitFor(t, text)
	if raw := termios(t, s.tty); raw.Lflag&unix.ICANON != 0 {
		t.Fatal("the screen did not take the terminal: this test would pass for nothing")
	}
	return s
}

// launchOn starts child(where) on a terminal that passes on its output to out.
func launchOn(t *testing.T, out io.Writer, where string, argv ...string) *stand {
	t.Helper()
	argv = append(argv, os.Args[0])
	s := &stand{t: t, Cmd: exec.Command(argv[0], argv[1:]...), home: t.TempDir()}
	s.Env = append(os.Environ(), "PARLEY_UI_CHILD="+where, "GOGC=100", "PARLEY_UI_FOLDER="+s.home, "TERM=xterm-256color", "HOME="+s.home,
		"XDG_STATE_HOME="+s.home, "XDG_DATA_HOME="+s.home, "TEST_API_KEY=canary/8f3a+Q7")
	tty, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close(); slave.Close() })
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	s.tty, s.before = tty, termios(t, tty)
	s.Stdin, s.Stdout, s.Stderr = slave, slave, slave
	s.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	go io.Copy(out, tty)
	return s
}

// restored fails unless the terminal is in its original state, or soon will be.
func (s *stand) restored() {
	s.t.Helper()
	after, open := termios(s.t, s.tty), s.out.open()
	for deadline := time.Now().Add(time.Minute); (after != s.before || len(open) > 0) && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
		after, open = termios(s.t, s.tty), s.out.open()
	}
	if after != s.before {
		s.t.Errorf("termios:\n got %+v\nwant %+v", after, s.before)
	}
	if len(open) > 0 {
		s.t.Errorf("modes left on: %q", open)
	}
	if !strings.Contains(s.out.String(), "\x1b[?1049l") {
		s.t.Error("there was no screen: this test would pass for nothing")
	}
}

// crashes waits for n reports, and verifies that they are private and contain no key.
func (s *stand) crashes(n int) {
	s.t.Helper()
	var paths []string
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		paths, _ = filepath.Glob(filepath.Join(s.home, "parley", "crash-*"))
		if len(paths) >= n || time.Now().After(deadline) {
			break
		}
	}
	if len(paths) != n {
		s.t.Errorf("crash reports: %q, want %d", paths, n)
	}
	for _, path := range paths {
		if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
			s.t.Errorf("%s has mode %s", path, info.Mode())
		}
		if s.out.waitFor(s.t, filepath.Base(path)); strings.Contains(s.where(), "library") {
			continue // the runtime printed it directly
		}
		report, _ := os.ReadFile(path)
		for _, text := range []string{string(report), s.out.String()} {
			if strings.Contains(text, "canary") {
				s.t.Errorf("a key is in %q", text)
			}
		}
	}
}

func (s *stand) where() string {
	return s.Env[slices.IndexFunc(s.Env, func(e string) bool { return strings.HasPrefix(e, "PARLEY_UI_CHILD=") })]
}

// TestTerminalComesBack: however the screen ends, the terminal is restored and
// the exit status gives the reason.
func TestTerminalComesBack(t *testing.T) {
	t.Parallel()
	keys := func(keys string) func(*stand) { return func(s *stand) { io.WriteString(s.tty, keys) } }
	kill := func(n syscall.Signal) func(*stand) { return func(s *stand) { s.Process.Signal(n) } }
	tests := []struct {
		name, where string
		end         func(*stand)
		status      int
		crashes     int
	}{
		{"quit", "-", keys("\x03\x04"), 0, 0}, // ctrl+c stops the answer, ctrl+d leaves
		{"ctrl+c", "-", keys("\x03\x03\x03"), 0, 0},
		{"SIGINT", "-", kill(syscall.SIGINT), 130, 0},
		{"SIGTERM", "-", kill(syscall.SIGTERM), 143, 0},
		{"SIGHUP", "-", kill(syscall.SIGHUP), 129, 0},
		{"SIGQUIT", "-", kill(syscall.SIGQUIT), 131, 0},
		{"panic in Update", "update", keys("!"), 2, 1},
		{"panic in View", "view", keys("!"), 2, 1},
		{"panic in a command", "command", keys("!"), 2, 1},
		{"panic in a sequence", "sequence", keys("!"), 2, 1},
		{"panic in a goroutine", "goroutine", keys("!"), 2, 1},
		{"panic in a library's goroutine", "library", keys("!"), 2, 1},
		{"fatal error of the runtime", "fatal", keys("!"), 2, 1},
		{"os.Exit", "exit", keys("!"), 0, 0},
		{"SIGKILL", "-", kill(syscall.SIGKILL), -1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := launch(t, tt.where, "streaming")
			tt.end(s)
			if status := wait(t, s.Cmd); status != tt.status {
				t.Errorf("exit status %d, want %d", status, tt.status)
			}
			s.restored()
			s.crashes(tt.crashes)
			if tt.status > 128 { // the reason matters most if the user did not quit
				s.out.waitFor(t, "how to come back")
			}
		})
	}
}

// When the connection drops, the conversation is stored and running commands are ended.
func TestHangUp(t *testing.T) {
	t.Parallel()
	s := launch(t, "shell", "streaming")
	pid := strings.TrimSpace(read(t, filepath.Join(s.home, "pid")))
	s.tty.Close()
	if status := wait(t, s.Cmd); status != 129 {
		t.Errorf("exit status %d, want 129", status)
	}
	if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !bytes.Contains(stat, []byte(") Z ")) {
		t.Errorf("the command still runs: %s", stat)
	}
	lib, err := session.OpenStore(func(name string) string { return map[string]string{"XDG_DATA_HOME": s.home}[name] })
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	found, err := lib.List(session.Query{})
	if err != nil || len(found) != 1 || found[0].Messages < 3 {
		t.Errorf("kept: %+v, %v", found, err)
	}
}

// TestWhyAnswersEnded: a conversation opened again distinguishes an answer that the user stopped from
// one that ended with parley.
func TestWhyAnswersEnded(t *testing.T) {
	t.Parallel()
	kill := func(n syscall.Signal) func(*stand) { return func(s *stand) { s.Process.Signal(n) } }
	for name, tt := range map[string]struct {
		end         func(*stand)
		want, lacks string
	}{
		"esc": {func(s *stand) {
			io.WriteString(s.tty, "\x1b")
			s.out.waitFor(t, "Stopped")
			kill(syscall.SIGTERM)(s)
		}, wording.Stopped, wording.Interrupted},
		"SIGHUP":  {kill(syscall.SIGHUP), wording.Interrupted, wording.Stopped},
		"SIGKILL": {kill(syscall.SIGKILL), wording.Interrupted, wording.Stopped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := launch(t, "kept", "streaming")
			lib, err := session.OpenStore(func(name string) string { return map[string]string{"XDG_DATA_HOME": s.home}[name] })
			if err != nil {
				t.Fatal(err)
			}
			defer lib.Close()
			var found []session.Info
			for deadline := time.Now().Add(time.Minute); len(found) == 0 || found[0].Messages < 2; time.Sleep(5 * time.Millisecond) {
				if found, err = lib.List(session.Query{}); err != nil || time.Now().After(deadline) {
					t.Fatalf("stored: %+v, %v", found, err)
				}
			}
			tt.end(s)
			wait(t, s.Cmd)
			log, err := lib.Resume(found[0].ID)
			if err != nil {
				t.Fatal(err)
			}
			o := session.Options{Model: llm.Endpoint{Model: llmtest.New(), Name: "fake/m"}, Log: log}
			m := newModel(Options{Config: Default(), Panels: panels.New, App: app.Options{Flows: flows.Register, Session: session.New(o)}})
			d := uitest.New(t, m, 80, 24)
			d.WaitForText("· " + tt.want).Lacks(tt.lacks)
		})
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSuspend: ctrl+z, and SIGTSTP from another process, restore the terminal for the shell, and fg
// redraws the screen. An editor that has the terminal stops together with the screen.
func TestSuspend(t *testing.T) {
	t.Parallel()
	keys := func(keys string) func(*stand) { return func(s *stand) { io.WriteString(s.tty, keys) } }
	outside := func(s *stand) {
		if err := syscall.Kill(s.child(), syscall.SIGTSTP); err != nil {
			s.t.Error(err)
		}
	}
	for name, tt := range map[string]struct {
		where string
		stop  func(*stand)
	}{
		"ctrl+z":                       {"-", keys("\x1a")},
		"a signal in an answer":        {"-", outside},
		"a signal while a tool runs":   {"shell", outside},
		"a signal when all is quiet":   {"answered", outside},
		"an editor that stops the lot": {"answered", keys("\x07")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const shell = `set -m; export VISUAL='sh -c "kill -TSTP 0"'; "$0"; printf 'stop%s\n' ped; stty -a; read line; fg >/dev/null; exit $?`
			s := launch(t, tt.where, "streaming", "/bin/sh", "-c", shell)
			tt.stop(s)
			s.out.waitFor(t, "stopped")
			s.out.waitFor(t, "echoctl")
			s.restored()
			at := len(s.out.String())
			io.WriteString(s.tty, "\n")
			for deadline := time.Now().Add(time.Minute); !strings.Contains(s.out.String()[at:], "streaming"); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("it did not come back: %q", s.out.String()[at:])
				}
			}
			if raw := termios(t, s.tty); raw.Lflag&unix.ICANON != 0 {
				t.Error("the screen did not take the terminal back")
			}
			syscall.Kill(s.child(), syscall.SIGTERM)
			if status := wait(t, s.Cmd); status != 128+int(syscall.SIGTERM) {
				t.Errorf("exit status %d", status)
			}
			s.restored()
		})
	}
}

// child returns the process with the screen, a child of the process of s.
func (s *stand) child() int {
	s.t.Helper()
	pid := s.Process.Pid
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err == nil {
		_, err = fmt.Sscan(string(list), &pid)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return pid
}

// Without a waiting shell, ctrl+z reports it and the screen continues.
func TestSuspendWithoutShell(t *testing.T) {
	t.Parallel()
	s := launch(t, "-", "streaming") // leads its session
	io.WriteString(s.tty, "\x1a")
	s.out.waitFor(t, "No shell to suspend to")
	if raw := termios(t, s.tty); raw.Lflag&unix.ICANON != 0 {
		t.Error("the screen did not take the terminal back")
	}
	io.WriteString(s.tty, "\x03\x04")
	if status := wait(t, s.Cmd); status != 0 {
		t.Errorf("exit status %d", status)
	}
	s.restored()
}

// TestHostileWire: hostile text on the screen never reaches the wire.
func TestHostileWire(t *testing.T) {
	t.Parallel()
	s := launch(t, "hostile", "Ask anything")
	const esc = "\x1b[27u" // no key after it can be mistaken for a part of it
	// press sends keys, and waits until the screen shows text.
	press := func(keys, text string) {
		t.Helper()
		io.WriteString(s.tty, keys)
		s.out.waitForScreen(t, text)
	}
	for _, place := range []struct{ keys, shows string }{{"?", "Input & messages"}, {"\x10", "Commands"}, {"\x18m", "esc close"}, {"\x18l", "esc close"}, {"\x18u", "Usage (last"}} {
		press(place.keys, place.shows)
		press(esc, "Ask anything")
	}
	io.WriteString(s.tty, "\x0f\x14"+strings.Repeat("\x1b[5~", hostiles()/10)+"\x1b[1;5F")
	press("go", "go")
	press("\r", "ctrl+o details") // separately: together with the typed text it would be a line break of a paste
	press("\x0f", "scroll to the end to allow")
	for deadline := time.Now().Add(time.Minute); !s.out.shows("Ask anything") && time.Now().Before(deadline); {
		io.WriteString(s.tty, esc) // a question accepts no answer before it was visible
		time.Sleep(100 * time.Millisecond)
	}
	s.Process.Signal(syscall.SIGINT)
	if status := wait(t, s.Cmd); status != 130 {
		t.Errorf("exit status %d", status)
	}
	s.restored()
	if found := uitest.Foreign(s.out.String()); len(found) > 0 {
		t.Errorf("%d violations, such as %q", len(found), found[:min(len(found), 10)])
	}
}

func termios(t *testing.T, tty *os.File) unix.Termios {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *state
}

func wait(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	stuck := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// screen collects the output of a program to its terminal.
type screen struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	past int // bytes already searched by waitFor
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// waitFor waits until text appears after the text that it last waited for.
func (s *screen) waitFor(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		all := s.String()
		if at := strings.Index(all[s.past:], text); at >= 0 {
			s.past += at + len(text)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%q never came:\n%q", text, all[s.past:])
		}
	}
}

// waitForScreen waits until a terminal of 80x24 with this output shows text.
func (s *screen) waitForScreen(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !s.shows(text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q never came:\n%s", text, strings.Join(s.rows(), "\n"))
		}
	}
}

// shows reports whether a terminal of 80x24 with this output shows text.
func (s *screen) shows(text string) bool { return strings.Contains(strings.Join(s.rows(), "\n"), text) }

func (s *screen) rows() []string {
	v := vt.New(80, 24)
	io.WriteString(v, s.String())
	return v.Rows()
}

// open lists the modes that were last switched on.
func (s *screen) open() []string {
	out := s.String()
	var open []string
	for _, mode := range []string{"1", "1000", "1002", "1003", "1004", "1006", "1049", "2004", "2026", "2027", "2031"} {
		if strings.LastIndex(out, "\x1b[?"+mode+"h") > strings.LastIndex(out, "\x1b[?"+mode+"l") {
			open = append(open, mode)
		}
	}
	if strings.LastIndex(out, "\x1b[?25l") > strings.LastIndex(out, "\x1b[?25h") {
		open = append(open, "cursor hidden")
	}
	if strings.Count(out, "\x1b[>1u")+strings.Count(out, "\x1b[=1;1u") > 0 && !strings.Contains(out, "\x1b[<") {
		open = append(open, "keyboard protocol")
	}
	if strings.LastIndex(out, "\x1b[?7l") > strings.LastIndex(out, "\x1b[?7h") {
		open = append(open, "lines that do not run over")
	}
	// Popping too often would remove modes that are not ours.
	for _, stack := range []struct{ name, push, pop string }{
		{"title", `\x1b\[22;2t`, `\x1b\[23;2t`}, {"keyboard", `\x1b\[>\d*u`, `\x1b\[<\d*u`}, {"screen", `\x1b\[\?1049h`, `\x1b\[\?1049l`},
	} {
		pushed, popped := len(regexp.MustCompile(stack.push).FindAllString(out, -1)), len(regexp.MustCompile(stack.pop).FindAllString(out, -1))
		if pushed != popped {
			open = append(open, fmt.Sprintf("%s: entered %d times, left %d times", stack.name, pushed, popped))
		}
	}
	return open
}
