//go:build linux

package ui

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
	"parley/session"
)

// TestMain runs the screen instead of the tests in the processes that
// TestTerminalComesBack starts.
func TestMain(m *testing.M) {
	if where := os.Getenv("PARLEY_UI_CHILD"); where != "" {
		os.Exit(child(where))
	}
	os.Unsetenv("NO_COLOR")
	os.Setenv("TERM", "xterm-256color")
	os.Exit(m.Run())
}

// child shows a screen whose model streams for ever and that panics, at the
// key "!", where it is told to.
func child(where string) int {
	s := session.New(session.Options{Model: llm.Endpoint{
		Model: llmtest.New(llmtest.Hang("streaming")), Name: "fake/m", Origin: "fake", Strategy: "native",
	}})
	m := newModel(Options{Session: s, Config: Default(), Prompt: []llm.Part{{Kind: llm.Text, Text: "hi"}}})
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
			return f, f.guarded(tea.Batch(func() tea.Msg { panic("in a command") }, f.say("x")))
		case "goroutine":
			go f.guard(func() { panic("in a goroutine") })
		}
	}
	_, cmd := f.Model.Update(msg)
	return f, cmd
}

func (f *fragile) View() tea.View {
	if f.armed {
		panic("in view")
	}
	return f.Model.View()
}

// TestTerminalComesBack: whichever way the screen ends, the terminal is as it
// was, and the exit status says why.
func TestTerminalComesBack(t *testing.T) {
	send := func(keys string) func(*os.Process, *os.File) {
		return func(_ *os.Process, tty *os.File) { io.WriteString(tty, keys) }
	}
	kill := func(s syscall.Signal) func(*os.Process, *os.File) {
		return func(p *os.Process, _ *os.File) { p.Signal(s) }
	}
	tests := []struct {
		name, where string
		end         func(*os.Process, *os.File)
		status      int
	}{
		{"quit", "-", send("\x03\x04"), 0}, // ctrl+c stops the answer, ctrl+d leaves
		{"ctrl+c", "-", send("\x03\x03\x03"), 0},
		{"SIGINT", "-", kill(syscall.SIGINT), 130},
		{"SIGTERM", "-", kill(syscall.SIGTERM), 143},
		{"SIGHUP", "-", kill(syscall.SIGHUP), 129},
		{"SIGQUIT", "-", kill(syscall.SIGQUIT), 131},
		{"panic in Update", "update", send("!"), 2},
		{"panic in View", "view", send("!"), 2},
		{"panic in a command", "command", send("!"), 2},
		{"panic in a goroutine", "goroutine", send("!"), 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "PARLEY_UI_CHILD="+tt.where, "TERM=xterm-256color", "XDG_STATE_HOME="+home)
			tty, slave, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer tty.Close()
			defer slave.Close()
			if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
				t.Fatal(err)
			}
			before := termios(t, tty)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			out := &screen{}
			go io.Copy(out, tty)
			out.waitFor(t, "streaming")
			if raw := termios(t, tty); raw.Lflag&unix.ICANON != 0 {
				t.Fatal("the screen did not take the terminal: this test would pass for nothing")
			}
			tt.end(cmd.Process, tty)
			status := wait(t, cmd)
			if status != tt.status {
				t.Errorf("exit status %d, want %d", status, tt.status)
			}
			if after := termios(t, tty); after != before {
				t.Errorf("termios:\n got %+v\nwant %+v", after, before)
			}
			out.waitFor(t, "\x1b[?1049l")
			if open := out.open(); len(open) > 0 {
				t.Errorf("modes left on: %q", open)
			}
			crashes, _ := filepath.Glob(filepath.Join(home, "parley", "crash-*"))
			if (tt.status == 2) != (len(crashes) == 1) {
				t.Errorf("crash reports: %q", crashes)
			}
			for _, path := range crashes {
				if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
					t.Errorf("%s has mode %s", path, info.Mode())
				}
			}
		})
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
	stuck := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// screen keeps what a program wrote to its terminal.
type screen struct {
	mu  sync.Mutex
	buf bytes.Buffer
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

func (s *screen) waitFor(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if strings.Contains(s.String(), text) {
			return
		}
	}
	t.Fatalf("%q never came:\n%q", text, s.String())
}

// open lists the modes that were switched on last, rather than off.
func (s *screen) open() []string {
	out := s.String()
	var open []string
	for _, mode := range []string{"1000", "1002", "1003", "1004", "1006", "1049", "2004", "2026"} {
		if strings.LastIndex(out, "\x1b[?"+mode+"h") > strings.LastIndex(out, "\x1b[?"+mode+"l") {
			open = append(open, mode)
		}
	}
	if strings.LastIndex(out, "\x1b[?25l") > strings.LastIndex(out, "\x1b[?25h") {
		open = append(open, "cursor hidden")
	}
	return open
}
