//go:build unix

package routes

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// outer is a terminal with a tmux in it, and a program's pane in that.
type outer struct {
	t      *testing.T
	socket string
	tty    *os.File

	mu  sync.Mutex
	got bytes.Buffer
}

func (o *outer) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.got.Write(p)
}

// tmux runs a command on its own server.
func (o *outer) tmux(args ...string) string {
	o.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", o.socket}, args...)...).Output()
	if err != nil {
		o.t.Fatalf("tmux %q: %v", args, err)
	}
	return string(out)
}

// open starts tmux on the test's own socket, in a terminal that has a
// clipboard.
func open(t *testing.T) *outer {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux here")
	}
	dir, err := os.MkdirTemp("", "clip") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	o := &outer{t: t, socket: filepath.Join(dir, "s")}
	cmd := exec.Command("tmux", "-S", o.socket, "-f", "/dev/null", "new-session", "-s", "p", "stty raw -echo; cat >/dev/null")
	cmd.Env = []string{"TERM=xterm-256color", "LANG=C.UTF-8", "HOME=" + dir, "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh"}
	if o.tty, err = pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 64<<10)
		for {
			n, err := o.tty.Read(buf)
			o.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		exec.Command("tmux", "-S", o.socket, "kill-server").Run()
		cmd.Wait()
		o.tty.Close()
		<-read
	})
	o.until("a client", func() bool {
		out, err := exec.Command("tmux", "-S", o.socket, "list-clients", "-F", "#{client_termfeatures}").Output()
		return err == nil && strings.Contains(string(out), "clipboard")
	})
	return o
}

func (o *outer) until(what string, cond func() bool) {
	o.t.Helper()
	for deadline := time.Now().Add(time.Minute); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			o.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// clipboard waits for text on the terminal's clipboard and returns it.
func (o *outer) clipboard() string {
	o.t.Helper()
	var seq []byte
	o.until("OSC 52 at the terminal", func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		_, rest, found := bytes.Cut(o.got.Bytes(), []byte("\x1b]52;"))
		end := bytes.IndexAny(rest, "\x07\x1b")
		if !found || end < 0 {
			return false
		}
		_, data, _ := bytes.Cut(rest[:end], []byte(";")) // tmux lets the terminal choose the clipboard
		seq = append([]byte("\x1b]52;c;"), data...)
		return true
	})
	return decoded(o.t, string(seq)+"\x07")
}

// board returns a Board for a program in the pane.
func (o *outer) board() *Board {
	o.t.Helper()
	pane, err := os.OpenFile(strings.TrimSpace(o.tmux("display-message", "-p", "-t", "p", "#{pane_tty}")), os.O_WRONLY, 0)
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { pane.Close() })
	env := map[string]string{"TMUX": o.socket + ",1,0", "TMUX_PANE": "%0", "TERM": "tmux-256color", "PATH": os.Getenv("PATH"), "LANG": "C.UTF-8"}
	return &Board{
		System: "linux", Getenv: func(name string) string { return env[name] }, timeout: patient,
		Terminal: func(seq string) {
			if _, err := pane.WriteString(seq); err != nil {
				o.t.Error(err)
			}
		},
	}
}

// TestTmux verifies that the reported routes match the text received by a real
// tmux, and by the terminal around it.
func TestTmux(t *testing.T) {
	long := strings.Repeat(sample, 300_000/len(sample))
	tests := []struct {
		name    string
		options [][]string
		text    string
		say     string
		arrives bool // at the terminal
	}{
		{"as it comes", nil, sample, "Copied 59 bytes to tmux buffer; also via the terminal (OSC 52)", true},
		{"set-clipboard on", [][]string{{"set", "-s", "set-clipboard", "on"}}, sample,
			"Copied 59 bytes to tmux buffer; also via the terminal (OSC 52)", true},
		{"set-clipboard off", [][]string{{"set", "-s", "set-clipboard", "off"}}, sample,
			"Copied 59 bytes to tmux buffer; also via the terminal (OSC 52)", true},
		{"allow-passthrough on", [][]string{{"set", "-wg", "allow-passthrough", "on"}}, sample,
			"Copied 59 bytes to tmux buffer; also via the terminal through tmux", true},
		{"40 KB plainly", [][]string{{"set", "-s", "set-clipboard", "on"}}, strings.ToValidUTF8(long[:40_000], ""),
			"Copied 40.0 KB to tmux buffer; also via the terminal (OSC 52)", true},
		{"300 KB", nil, long, "Copied 300.0 KB to tmux buffer", false},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := open(t)
			for _, option := range c.options {
				o.tmux(option...)
			}
			got := o.board().Copy(c.text)(context.Background())
			if got.String() != c.say {
				t.Errorf("says %q\nwant %q", got, c.say)
			}
			if buffer := o.tmux("show-buffer"); buffer != c.text {
				t.Errorf("the buffer of tmux has %d bytes, want %d", len(buffer), len(c.text))
			}
			if n := strings.Count(o.tmux("list-buffers"), "\n"); n != 1 {
				t.Errorf("there are %d buffers, want one", n)
			}
			if c.arrives && o.clipboard() != c.text {
				t.Errorf("the terminal got another text")
			}
		})
	}
}
