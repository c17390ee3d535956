//go:build linux

package plain

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/providers/llmtest/parallel"
	"parley/session"
	_ "parley/session/storetest/copies"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/app/flows"
	"parley/ui/uitest"
)

// TestMain runs the front end instead of tests in the processes that launch starts.
func TestMain(m *testing.M) {
	if what := os.Getenv("PARLEY_PLAIN_CHILD"); what != "" {
		os.Exit(child(what))
	}
	uitest.RestoreHangup()
	parallel.Tests(16)
	goleak.VerifyTestMain(m)
}

// child runs the front end with a scripted model.
func child(what string) int {
	turns := map[string][]llmtest.Turn{
		"hang": {llmtest.Hang("It begins. "), llmtest.Say("It goes on.")},
		"ask":  {asks("echo $$ > ran; exec sleep 1000"), llmtest.Say("Done.")},
		"say":  {llmtest.Say("One."), llmtest.Say("Two."), llmtest.Say("Three.")},
		"panic": {func(context.Context, llm.Request, *llm.Out) error {
			panic("in a turn, with sk-canary-0123456789abcdef")
		}},
	}
	set, err := tools.Open(os.Getenv("HOME"))
	if err != nil {
		return 9
	}
	defer set.Close()
	lib, err := session.OpenStore(os.Getenv)
	if err != nil {
		return 9
	}
	defer lib.Close()
	s := session.New(session.Options{Model: endpoint("fake/m", llmtest.New(turns[what]...)), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: lib.Create(session.Info{})})
	return Run(app.Options{Flows: flows.Register, Session: s, Library: lib, Models: app.Models{Choices: func() []app.ModelChoice { return nil }}, Directory: os.Getenv("HOME"), Workspace: "~"})
}

// A stand is a process with the front end on its own terminal.
type stand struct {
	*exec.Cmd
	t      *testing.T
	tty    *os.File // the other side of its terminal
	home   string
	before unix.Termios

	mu   sync.Mutex
	out  bytes.Buffer
	news chan struct{} // signals new output

	heard int // bytes of out already searched by hears
}

func (s *stand) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
	return s.out.Write(b)
}

func (s *stand) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

func launch(t *testing.T, what string) *stand {
	t.Helper()
	s := &stand{t: t, Cmd: exec.Command(os.Args[0]), home: t.TempDir(), news: make(chan struct{}, 1)}
	s.Env = append(os.Environ(), "PARLEY_PLAIN_CHILD="+what, "TERM=dumb", "HOME="+s.home, "XDG_STATE_HOME="+s.home, "XDG_DATA_HOME="+s.home, "EDITOR=")
	blocking, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	blocking.Close()
	unix.SetNonblock(fd, true)
	tty := os.NewFile(uintptr(fd), "terminal") // reads of it can be interrupted
	control(t, tty, func(fd int) error { return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}) })
	s.tty, s.before = tty, termios(t, tty)
	s.Stdin, s.Stdout, s.Stderr = slave, slave, slave
	s.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	copied := make(chan struct{})
	go func() {
		io.Copy(s, tty)
		close(copied)
	}()
	stuck := time.AfterFunc(60*time.Second, func() { s.Process.Kill() })
	t.Cleanup(func() {
		stuck.Stop()
		tty.Close()
		s.Process.Kill()
		s.Wait()
		<-copied
	})
	s.hears("You: ")
	return s
}

// control does not use Fd, after which reads of f could not be interrupted.
func control(t *testing.T, f *os.File, do func(fd int) error) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
}

func termios(t *testing.T, f *os.File) (state unix.Termios) {
	t.Helper()
	control(t, f, func(fd int) error {
		found, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			state = *found
		}
		return err
	})
	return state
}

// hears waits until text was written after the text that it last heard, if any.
func (s *stand) hears(text string) *stand {
	s.t.Helper()
	if !s.hearsWithin(time.Minute, text) {
		s.t.Fatalf("%q is not, behind byte %d, in\n%s", text, s.heard, s.said())
	}
	return s
}

func (s *stand) hearsWithin(most time.Duration, text string) bool {
	for timeout := time.After(most); ; {
		if i := strings.Index(s.said()[s.heard:], text); i >= 0 {
			s.heard += i + len(text)
			return true
		}
		select {
		case <-s.news:
		case <-timeout:
			return false
		}
	}
}

// answers types line until an open question accepts it and reply is written. Earlier input is
// discarded, and nothing tells when that stops.
func (s *stand) answers(line, reply string) *stand {
	s.t.Helper()
	for range 10 {
		time.Sleep(answerDelay + 100*time.Millisecond)
		if s.types(line+"\n").hearsWithin(15*time.Second, reply) {
			return s
		}
	}
	s.t.Fatalf("%q is no answer in\n%s", line, s.said())
	return s
}

func (s *stand) types(text string) *stand {
	s.t.Helper()
	if _, err := io.WriteString(s.tty, text); err != nil {
		s.t.Fatal(err)
	}
	return s
}

// pauses waits until a line can be a command.
func (s *stand) pauses() *stand {
	time.Sleep(alone + 100*time.Millisecond)
	return s
}

// ends waits for the end, and verifies that a screen reader can read the
// complete output.
func (s *stand) ends(status int) {
	s.t.Helper()
	s.Wait()
	if got := s.ProcessState.ExitCode(); got != status {
		s.t.Errorf("exit status %d, want %d:\n%s", got, status, s.said())
	}
	if got := s.said(); strings.ContainsAny(got, "\x1b\u009b\x07\b") {
		s.t.Errorf("there is a control character in\n%q", got)
	}
}

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
)

func TestTerminal(t *testing.T) {
	t.Parallel()
	t.Run("ctrl+d quits, and the modes were never changed", func(t *testing.T) {
		t.Parallel()
		s := launch(t, "say")
		if now := termios(t, s.tty); now != s.before {
			t.Errorf("termios\n got %+v\nwant %+v", now, s.before)
		}
		s.types("hello\n").hears("One.").hears("Answer finished").types(ctrlD)
		s.hears("Goodbye.").ends(0)
	})
	t.Run("ctrl+c stops a reply, and the next prompt is answered", func(t *testing.T) {
		t.Parallel()
		s := launch(t, "hang")
		s.types("hello\n").hears("It begins.").types(ctrlC).hears("Stopped.").types("go on\n").hears("It goes on.").hears("Answer finished")
		s.pauses().types("/quit\n").ends(0)
	})
	t.Run("ctrl+c twice quits", func(t *testing.T) {
		t.Parallel()
		s := launch(t, "say")
		s.types(ctrlC).hears("again to quit.").types(ctrlC).ends(130)
	})
	t.Run("a line is edited by the terminal", func(t *testing.T) {
		t.Parallel()
		s := launch(t, "say")
		s.types("abc\x15/model\x7fx\x1b[A\n").hears("Unknown command /modex.").types(ctrlD).ends0(t)
	})
	t.Run("pasted lines are one message", func(t *testing.T) {
		t.Parallel()
		s := launch(t, "say")
		s.types("one\ntwo\nthree\n").hears("Read as one message of 3 lines.").hears("One.").hears("Answer finished").types(ctrlD).ends(0)
	})
	t.Run("a pasted command of several lines is not sent", func(t *testing.T) {
		t.Parallel()
		s := launch(t, "say")
		s.types("/system one\ntwo\n").hears("Not run yet: it is a command of several lines. /send runs it.").types(ctrlD).ends(0)
	})
	t.Run("a line that is too long is not sent", func(t *testing.T) {
		t.Parallel()
		s := launch(t, "say")
		s.types(strings.Repeat("x", 5000) + "\n").hears("Not sent: the terminal takes lines of at most 4095 bytes").types(ctrlD).ends(0)
	})
	t.Run("what was typed ahead answers nothing", func(t *testing.T) {
		t.Parallel()
		s := launch(t, "ask")
		s.types("go\ny").hears("(? for details): ") // typed before the question
		// The question is asked again once the text typed meanwhile is discarded. A
		// ctrl+d before that would be discarded, too.
		s.answers("", "Type one of the numbers or letters").hears("(? for details): ")
		if _, err := os.Stat(filepath.Join(s.home, "ran")); err == nil {
			t.Errorf("it ran:\n%s", s.said())
		}
		s.types(ctrlD).ends(0)
	})
}

// ends0 is like ends, for a line in which the terminal has echoed an escape.
func (s *stand) ends0(t *testing.T) {
	t.Helper()
	s.Wait()
	if got := strings.ReplaceAll(s.said(), "^[", ""); s.ProcessState.ExitCode() != 0 || strings.ContainsRune(got, '\x1b') {
		t.Errorf("status %d\n%q", s.ProcessState.ExitCode(), got)
	}
}

// TestSignals: a terminating signal saves the conversation, ends running
// commands, and leaves the terminal unchanged.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s := launch(t, "ask")
			s.types("go\n").hears("(? for details): ").answers("y", "Running…")
			pid := s.pid()
			s.Process.Signal(sig)
			s.ends(128 + int(sig))
			if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
				t.Errorf("what ran is left: %v", err)
			}
			if now := termios(t, s.tty); now != s.before {
				t.Errorf("termios\n got %+v\nwant %+v", now, s.before)
			}
			s.kept("go")
		})
	}
	t.Run("the terminal is gone", func(t *testing.T) {
		t.Parallel()
		s := launch(t, "hang")
		s.types("hello\n").hears("It begins.")
		s.tty.Close()
		s.Wait()
		// The hangup may follow the end of the input, when everything is saved: a shell reports both
		// as 129.
		if ended, ok := s.ProcessState.Sys().(syscall.WaitStatus); !ok || ended.Signal() != syscall.SIGHUP && ended.ExitStatus() != 129 {
			t.Errorf("%v, want exit status 129 or a hangup", s.ProcessState)
		}
		s.kept("hello")
	})
}

// pid waits for the process of the tool.
func (s *stand) pid() int {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		b, _ := os.ReadFile(filepath.Join(s.home, "ran"))
		if pid := number(string(b)); pid > 0 {
			return pid
		}
	}
	s.t.Fatal("the tool does not run")
	return 0
}

// number parses a number; 0 if the line is not complete yet.
func number(line string) int {
	digits, whole := strings.CutSuffix(line, "\n")
	n, err := strconv.Atoi(digits)
	if !whole || err != nil {
		return 0
	}
	return n
}

// kept verifies that the conversation is on disk.
func (s *stand) kept(prompt string) {
	s.t.Helper()
	lib, err := session.OpenStore(func(name string) string { return map[string]string{"HOME": s.home, "XDG_DATA_HOME": s.home}[name] })
	if err != nil {
		s.t.Fatal(err)
	}
	defer lib.Close()
	found, err := lib.List(session.Query{})
	if err != nil || len(found) != 1 || found[0].Preview != prompt {
		s.t.Errorf("kept %+v, %v", found, err)
	}
}

// TestCrash: a panic ends the program cleanly, with a report in a file.
func TestCrash(t *testing.T) {
	t.Parallel()
	s := launch(t, "panic")
	s.types("hello\n").hears("the report is in")
	s.ends(2)
	reports, _ := filepath.Glob(filepath.Join(s.home, "parley", "crash-*"))
	if len(reports) != 1 || strings.Contains(s.said(), "goroutine") || strings.Contains(s.said(), "sk-canary") {
		t.Errorf("reports %v:\n%s", reports, s.said())
	}
}
