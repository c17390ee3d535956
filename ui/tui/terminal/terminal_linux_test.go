package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if os.Getenv("PARLEY_TERMINAL_CHILD") != "" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

// child runs a screen whose keys end it in some way.
func child() int {
	reports := Reports{
		Path: func() (string, error) { return filepath.Join(os.Getenv("PARLEY_TERMINAL_CHILD"), "new", "crash"), nil },
		Crash: func(panicked any, stack []byte, tell bool) int {
			fmt.Fprintf(os.Stderr, "[crash: %v, stack %v, tell %v]", panicked, len(stack) > 0, tell)
			return 2
		},
	}
	root := &ending{resume: make(chan os.Signal, 1)}
	signal.Notify(root.resume, syscall.SIGUSR1)
	status, back := Run(root, reports, func(l Loop) { root.loop = l }, func() { fmt.Fprint(os.Stderr, "[over]") })
	fmt.Fprintf(os.Stderr, "[back %v]", back)
	return status
}

// ending is a screen that ends at a key.
type ending struct {
	loop   Loop
	text   string
	resume chan os.Signal // ends a hang
}

func (*ending) Init() tea.Cmd    { return nil }
func (r *ending) View() tea.View { return tea.View{Content: "ready " + r.text, AltScreen: true} }

func (r *ending) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		switch msg.String() {
		case "q":
			return r, tea.Quit
		case "i":
			return r, tea.Interrupt
		case "p":
			panic("in update")
		case "g":
			go r.loop.Crash("in a goroutine", []byte("stack"))
		case "s":
			go r.loop.Send("sent")
		case "d":
			r.text = "drawn"
			go func() {
				r.loop.Drawn()
				r.loop.Send(tea.Quit())
			}()
		case "x":
			os.Exit(7)
		case "t":
			go func() { panic("of a library, with sk-ant-api03-canary-canary-canary-canary") }()
		case "h":
			r.text = "hangs"
		}
	case string:
		r.text = msg
	case SignalMsg:
		if r.text == "hangs" {
			fmt.Fprint(os.Stderr, "[hanging]")
			<-r.resume
		}
		return r, tea.Quit
	}
	return r, nil
}

// A user is at the other end of a terminal.
type user struct {
	*os.File
	t       *testing.T
	program *os.File
	before  unix.Termios

	mu   sync.Mutex
	seen strings.Builder
}

// sit opens a terminal of 24 rows and 80 columns.
func sit(t *testing.T) *user {
	t.Helper()
	u := &user{t: t}
	var err error
	if u.File, u.program, err = pty.Open(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		u.File.Close()
		u.program.Close()
	})
	if err := pty.Setsize(u.File, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	u.before = u.modes()
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := u.File.Read(buf)
			if err != nil {
				return
			}
			u.mu.Lock()
			u.seen.Write(buf[:n])
			u.mu.Unlock()
		}
	}()
	return u
}

func (u *user) modes() unix.Termios {
	u.t.Helper()
	modes, err := unix.IoctlGetTermios(int(u.program.Fd()), unix.TCGETS)
	if err != nil {
		u.t.Fatal(err)
	}
	return *modes
}

// output returns what the user has seen.
func (u *user) output() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen.String()
}

// waitFor waits until the user has seen text.
func (u *user) waitFor(text string) {
	u.t.Helper()
	u.wait(text, func() bool { return strings.Contains(u.output(), text) })
}

func (u *user) wait(what string, until func() bool) {
	u.t.Helper()
	for end := time.Now().Add(20 * time.Second); !until(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			u.t.Fatalf("waited for %q; the output is %q", what, u.output())
		}
	}
}

// However the screen ends, the terminal is as before, the status says why, and a panic becomes a report.
func TestEndings(t *testing.T) {
	t.Parallel()
	send := func(signals ...syscall.Signal) func(*user, *os.Process) {
		return func(u *user, p *os.Process) {
			for _, s := range signals {
				p.Signal(s)
			}
		}
	}
	for name, tt := range map[string]struct {
		keys   string
		end    func(*user, *os.Process) // after the keys
		status int
		want   []string // in the output
		hidden string   // not in it
	}{
		"quit":                 {"q", nil, 0, []string{"[over]", "[back true]"}, "crash"},
		"interrupted":          {"i", nil, 0, []string{"[over]", "[back true]"}, "the screen:"},
		"a message":            {"s", func(u *user, p *os.Process) { u.waitFor("sent"); u.WriteString("q") }, 0, nil, "crash"},
		"after a frame":        {"d", nil, 0, []string{"drawn"}, "crash"},
		"a panic in Update":    {"p", nil, 2, []string{"[over]", "[crash: in update, stack true, tell true]", "[back true]"}, ""},
		"a panic elsewhere":    {"g", nil, 2, []string{"[crash: in a goroutine, stack true, tell true]"}, ""},
		"a panic of a library": {"t", nil, 2, []string{"parley: crashed", "the report is in "}, "[over]"},
		"os.Exit":              {"x", nil, 7, nil, "[over]"},
		"kill -9":              {"", send(syscall.SIGKILL), -1, nil, "[over]"},
		"SIGTERM":              {"", send(syscall.SIGTERM), 143, []string{"[over]", "[back true]"}, "crash"},
		"SIGINT":               {"", send(syscall.SIGINT), 130, []string{"[over]"}, "crash"},
		"signals while it hangs": {"h", func(u *user, p *os.Process) {
			u.waitFor("hangs")
			p.Signal(syscall.SIGTERM)
			u.waitFor("[hanging]")
			send(syscall.SIGHUP, syscall.SIGQUIT)(u, p)
		}, 143, nil, "[over]"},
		"it ends after a second signal": {"h", func(u *user, p *os.Process) {
			u.waitFor("hangs")
			p.Signal(syscall.SIGTERM)
			u.waitFor("[hanging]")
			p.Signal(syscall.SIGHUP)
			u.waitFor("\x1b[?1049l")
			p.Signal(syscall.SIGUSR1)
		}, 143, []string{"[over]", "[back true]"}, "crash"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, home := sit(t), t.TempDir()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "PARLEY_TERMINAL_CHILD="+home, "TERM=xterm-256color")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = u.program, u.program, u.program
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			u.waitFor("ready")
			if u.modes() == u.before {
				t.Error("the screen does not read keys")
			}
			u.WriteString(tt.keys)
			if tt.end != nil {
				tt.end(u, cmd.Process)
			}
			cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != tt.status {
				t.Errorf("status %d, want %d; the output is %q", got, tt.status, u.output())
			}
			u.wait("the modes", func() bool { return u.modes() == u.before })
			u.waitFor("\x1b[?1049l")
			for _, want := range tt.want {
				u.waitFor(want)
			}
			if strings.Contains(u.output(), tt.hidden) && tt.hidden != "" {
				t.Errorf("%q is in %q", tt.hidden, u.output())
			}
			report, err := os.ReadFile(filepath.Join(home, "new", "crash"))
			if tt.keys != "t" {
				if err == nil {
					t.Errorf("there is a report: %s", report)
				}
				return
			}
			if text := string(report); !strings.HasPrefix(text, "panic: of a library") || !strings.Contains(text, "[redacted]") || strings.Contains(text, "canary") {
				t.Errorf("got the report %q, %v", text, err)
			}
		})
	}
}

// The first reason for the end gives the status and the words.
func TestFinish(t *testing.T) {
	boom := errors.New("boom\x1b")
	for _, tt := range []struct {
		name    string
		how     func(e *exit)
		back    bool
		status  int
		said    string
		crashed string
	}{
		{"quit", func(e *exit) { e.ended(nil) }, true, 0, "", ""},
		{"an error", func(e *exit) { e.ended(boom) }, true, 1, "parley: the screen: boom␛\n", ""},
		{"an error, and the terminal accepts no output", func(e *exit) { e.ended(boom) }, false, 1, "", ""},
		{"an interrupt", func(e *exit) { e.ended(tea.ErrInterrupted) }, true, 0, "", ""},
		{"a signal", func(e *exit) { e.status = 143; e.ended(boom) }, true, 143, "", ""},
		{"two panics", func(e *exit) { e.crashed("first", nil); e.safely(func() { panic("second") }) }, true, 2, "", "first true"},
		{"a panic of the loop", func(e *exit) {
			func() {
				defer e.recover()
				panic("loop")
			}()
			func() {
				defer e.recover()
				panic("later")
			}()
			e.ended(boom)
		}, false, 2, "", "loop false"},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		crashed, stderr := "", os.Stderr
		e := &exit{kill: func() {}, reports: Reports{Crash: func(p any, _ []byte, tell bool) int { crashed = fmt.Sprint(p, " ", tell); return 2 }}}
		os.Stderr = w
		tt.how(e)
		status := e.finish(tt.back)
		os.Stderr = stderr
		w.Close()
		if said, _ := io.ReadAll(r); status != tt.status || string(said) != tt.said || crashed != tt.crashed {
			t.Errorf("%s: status %d, %q, crash %q; want %+v", tt.name, status, said, crashed, tt)
		}
		r.Close()
	}
}

// Restore brings the modes back, once, and resets the screen only if the renderer could not.
func TestRestore(t *testing.T) {
	for _, abrupt := range []bool{false, true} {
		u := sit(t)
		term := Save(u.program, u.program)
		screen := term.Screen([]string{"TERM=xterm"})
		if w, h, err := screen.Size(); w != 80 || h != 24 || err != nil {
			t.Errorf("the size is %d × %d, %v", w, h, err)
		}
		if err := screen.Raw(); err != nil || u.modes() == u.before {
			t.Errorf("not raw: %v", err)
		}
		if err := screen.Cooked(); err != nil || u.modes() != u.before {
			t.Errorf("not cooked: %v", err)
		}
		if screen.Keys == nil || screen.Pause == nil {
			t.Error("keys are not read")
		}
		screen.Raw()
		if term.Restore(abrupt); u.modes() != u.before {
			t.Error("the modes are not restored")
		}
		term.Restore(true)
		u.program.WriteString("end")
		if u.waitFor("end"); strings.Count(u.output(), "\x1b[?1049l") != map[bool]int{true: 1}[abrupt] {
			t.Errorf("abrupt %v: got %q", abrupt, u.output())
		}
	}
}

// The guard gets the modes in the form that stty reads.
func TestModes(t *testing.T) {
	u := sit(t)
	stty := exec.Command("stty", "-g")
	stty.Stdin = u.program
	want, err := stty.Output()
	if err != nil {
		t.Skip(err)
	}
	if got := Save(u.program, u.program).modes(); got+"\n" != string(want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := (&Terminal{in: null(t)}).modes(); got != "" {
		t.Errorf("a file has the modes %s", got)
	}
	if g := watch(Save(u.program, u.program), Reports{Path: func() (string, error) { return "", errors.New("no folder") }}); g != nil {
		t.Error("a guard has no place for reports")
	}
}

// null returns a file that is no terminal.
func null(t *testing.T) *os.File {
	t.Helper()
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// ShowKeys writes a line for each key until the last one, and leaves the terminal as it was.
func TestShowKeys(t *testing.T) {
	does := map[string]string{"ctrl+d": "quit", "up": "scroll"}
	for _, tt := range []struct {
		sent string
		want []string // fields of the lines
	}{
		{"a\x04", []string{`"a" a`, `"\x04" ctrl+d quit`}},
		{"\x1b[A\x03b\x03\x03", []string{`"\x1b[A" up scroll`, `"\x03" ctrl+c`, `"b" b`, `"\x03" ctrl+c`, `"\x03" ctrl+c`}},
		{"\x1b\x1b[A\x04", []string{`"\x1b\x1b[A" alt+up`, `"\x04" ctrl+d quit`}},
		{"\x1b[?1u\x1b[?62c\x04", []string{`"\x1b[?1u" (the terminal has the kitty keyboard protocol: shift+enter starts a new line)`, `"\x1b[?62c" (the terminal answers queries)`, `"\x04" ctrl+d quit`}},
		{"\x1b[97;1:3u\x1b[I\x04", []string{`"\x1b[I" (uv.FocusEvent)`, `"\x04" ctrl+d quit`}},
		{"\x1b[200~\x1b[201~\x04", []string{`"\x1b[200~" (paste)`, `"\x1b[201~" (paste)`, `"\x04" ctrl+d quit`}},
	} {
		u := sit(t)
		done := make(chan error, 1)
		go func() { done <- ShowKeys(u.program, u.program, does, func(string) string { return "" }) }()
		u.waitFor(askKeyboard + pushKeyboard)
		u.WriteString(tt.sent)
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%q does not end it; the output is %q", tt.sent, u.output())
		}
		u.waitFor(popKeyboard)
		_, after, _ := strings.Cut(u.output(), askKeyboard+pushKeyboard)
		var got []string
		for line := range strings.SplitSeq(strings.TrimSuffix(after, "\r\n"+popKeyboard), "\r\n") {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
		if g, w := strings.Join(got, "\n"), strings.Join(tt.want, "\n"); g != w {
			t.Errorf("%q: got\n%s\nwant\n%s", tt.sent, g, w)
		}
		if u.modes() != u.before {
			t.Error("the modes are not restored")
		}
	}
	u, file := sit(t), null(t)
	for _, ends := range [][2]*os.File{{file, u.program}, {u.program, file}} {
		if err := ShowKeys(ends[0], ends[1], nil, func(string) string { return "" }); err == nil {
			t.Error("keys are shown without a terminal")
		}
	}
}
