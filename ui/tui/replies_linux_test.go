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

// answers are replies of terminals, some of them truncated, and text that would
// do harm in a shell.
var answers = []string{
	"\x1b[?62;22c", "\x1b[>1;4000;0c", "\x1b[24;80R", "\x1b[0n", "\x1b[?2026;2$y", "\x1b[?1u", "\x1b[I",
	"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b]10;rgb:0000/0000/0000\a", "\x1bP>|xterm(1)\x1b\\", "\x1bP1$r0m\x1b\\", "\x1b_Gi=31;OK\x1b\\",
	"\x1b]11;rgb:ffff", "\x1b[", "id\n", "id\r",
}

// Replies that arrive after the last read are discarded with the screen.
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

// Unread replies of a terminal are not typed into the shell, however the screen
// ends: the terminal's queue is empty then. The replies arrive while the process
// is stopped, so that none is early and none late.
func TestAnswersDoNotReachTheShell(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		name, where string
		signal      syscall.Signal // 0 to end by keys
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

// arrive types text at a raw terminal, and waits until it can be read, because
// the kernel delivers it asynchronously.
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

// unread returns the text that the next program would read from a terminal.
func unread(t *testing.T, tty *os.File) string {
	t.Helper()
	if _, err := term.MakeRaw(tty.Fd()); err != nil { // otherwise only complete lines count
		t.Fatal(err)
	}
	b := make([]byte, waiting(t, tty))
	if len(b) > 0 {
		n, _ := tty.Read(b)
		b = b[:n]
	}
	return string(b)
}

// waiting returns the number of readable bytes of a terminal.
func waiting(t *testing.T, tty *os.File) int {
	t.Helper()
	n, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCINQ)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
