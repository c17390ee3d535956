package tui

import (
	"cmp"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/ui/tui/terminal"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// answers are what terminals say when they are asked, some of it cut short, and
// what would do harm in a shell.
var answers = []string{
	"\x1b[?62;22c", "\x1b[>1;4000;0c", "\x1b[24;80R", "\x1b[0n", "\x1b[?2026;2$y", "\x1b[?1u", "\x1b[I",
	"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b]10;rgb:0000/0000/0000\a", "\x1bP>|xterm(1)\x1b\\", "\x1bP1$r0m\x1b\\", "\x1b_Gi=31;OK\x1b\\",
	"\x1b]11;rgb:ffff", "\x1b[", "id\n", "id\r",
}

// Answers that come when nobody reads any more go with the screen.
func TestRestoreDrops(t *testing.T) {
	t.Parallel()
	for _, abrupt := range []bool{false, true} {
		tty, slave, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer tty.Close()
		defer slave.Close()
		tty0 := terminal.Save(slave, slave)
		before := termios(t, tty)
		if _, err := term.MakeRaw(slave.Fd()); err != nil {
			t.Fatal(err)
		}
		arrive(t, tty, slave, strings.Join(answers, ""))
		tty0.Restore(abrupt)
		if after := termios(t, tty); after != before {
			t.Errorf("termios:\n got %+v\nwant %+v", after, before)
		}
		if left := unread(t, slave); left != "" {
			t.Errorf("abrupt %v: the shell would read %q", abrupt, left)
		}
	}
}

// A terminal's answers that nobody read are not typed into the shell, whichever
// way the screen goes: the queue of the terminal is empty then. The answers come
// while the process stands still, so that none is early and none late.
func TestAnswersDoNotReachTheShell(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		name, where string
		signal      syscall.Signal // 0: by the keys
		keys        string
	}{
		{name: "terminated", signal: syscall.SIGTERM},
		{name: "hung up", signal: syscall.SIGHUP},
		{name: "quit", signal: syscall.SIGQUIT},
		{name: "interrupted", signal: syscall.SIGINT},
		{name: "a panic", where: "update", keys: "!"},
		{name: "one elsewhere", where: "goroutine", keys: "!"},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s := launch(t, cmp.Or(way.where, "-"), "streaming")
			tty, err := os.Open(s.Stdin.(*os.File).Name())
			if err != nil {
				t.Fatal(err)
			}
			defer tty.Close()
			signal := func(sig syscall.Signal) {
				t.Helper()
				if err := s.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
			}
			signal(syscall.SIGSTOP)
			var status syscall.WaitStatus
			if _, err := syscall.Wait4(s.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
				t.Fatalf("it does not stand still: %v, %v", status, err)
			}
			arrive(t, s.tty, tty, strings.Join(answers, "")+way.keys+strings.Join(answers, ""))
			if way.signal != 0 {
				signal(way.signal)
			}
			signal(syscall.SIGCONT)
			_ = s.Wait()
			if left := unread(t, tty); left != "" {
				t.Errorf("the shell would read %q", left)
			}
		})
	}
}

// arrive types text at a raw terminal, and waits until it can be read: the kernel
// carries it over in its own time.
func arrive(t *testing.T, keyboard, tty *os.File, text string) {
	t.Helper()
	if _, err := keyboard.WriteString(text); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); waiting(t, tty) < len(text); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d bytes can be read: this test would pass for nothing", waiting(t, tty), len(text))
		}
	}
}

// unread is what the next program would read from a terminal.
func unread(t *testing.T, tty *os.File) string {
	t.Helper()
	if _, err := term.MakeRaw(tty.Fd()); err != nil { // else only whole lines count
		t.Fatal(err)
	}
	b := make([]byte, waiting(t, tty))
	if len(b) > 0 {
		n, _ := tty.Read(b)
		b = b[:n]
	}
	return string(b)
}

// waiting is how many bytes there are to read from a terminal.
func waiting(t *testing.T, tty *os.File) int {
	t.Helper()
	n, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCINQ)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
