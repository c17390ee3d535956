//go:build linux

package tui

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"parley/providers/llmtest"
	"parley/ui/uitest/vt"
)

// flood returns an answer of 200,000 tokens that arrive at once.
func flood() []string {
	var tokens []string
	for n := range 200_000 {
		token := "word "
		switch {
		case n%400 == 0:
			token = fmt.Sprintf("\n\n## Part %d\n\n", n/400)
		case n%40 == 0:
			token = "\n- **item** "
		}
		tokens = append(tokens, token)
	}
	return append(tokens, "\n\nThis is its end.")
}

// TestEditor: the user's editor gets the terminal in its original state, and
// the screen returns with the edited text.
func TestEditor(t *testing.T) {
	t.Parallel()
	editor := filepath.Join(t.TempDir(), "editor")
	const script = "#!/bin/sh\necho editor begins\nstty -a\nprintf 'written elsewhere' >>\"$1\"\necho editor ends\n"
	llmtest.Executable(t, editor, script)
	s := launch(t, "-", "streaming", "/usr/bin/env", "VISUAL="+editor)
	io.WriteString(s.tty, "\x07")
	s.out.waitFor(t, "editor ends")
	_, within, _ := strings.Cut(s.out.String(), "editor begins")
	within, _, _ = strings.Cut(within, "editor ends")
	if !strings.Contains(within, " icanon") || strings.Contains(within, "-icanon") || strings.Contains(within, "\x1b[?1049h") {
		t.Errorf("the editor had the terminal as %q", within)
	}
	s.out.waitFor(t, "written elsewhere")
	_, after, _ := strings.Cut(s.out.String(), "editor ends")
	if !strings.Contains(after, "\x1b[?1049h") {
		t.Errorf("the screen is not back: %q", after)
	}
	io.WriteString(s.tty, "\x03\x03\x04")
	if status := wait(t, s.Cmd); status != 0 {
		t.Errorf("exit status %d", status)
	}
	s.restored()
}

// TestResizeStorm: after three hundred sizes at two milliseconds each (a thousand with
// PARLEY_LONG=1), from one cell to more than any screen has, the result is the same as without them.
func TestResizeStorm(t *testing.T) {
	t.Parallel()
	s := launch(t, "-", "streaming")
	sizes := []pty.Winsize{{Rows: 1, Cols: 1}, {Rows: 200, Cols: 500}, {Rows: 2, Cols: 9}, {Rows: 50, Cols: 132}, {Rows: 3, Cols: 300}, {Rows: 120, Cols: 2}}
	storm := 300
	if long {
		storm = 1000
	}
	for n := range storm {
		if err := pty.Setsize(s.tty, &sizes[n%len(sizes)]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond)
	}
	if err := pty.Setsize(s.tty, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	io.WriteString(s.tty, "alive")
	calm := launch(t, "-", "streaming")
	io.WriteString(calm.tty, "alive")
	seen := func(s *stand) string {
		v := vt.New(500, 200)
		io.WriteString(v, s.out.String())
		rows := v.Rows()[:23] // the last row shows the time
		for y, row := range rows {
			r := []rune(row)
			rows[y] = strings.TrimRight(string(r[:min(len(r), 80)]), " ")
			if strings.HasPrefix(row, "∙ ") { // so does the activity
				rows[y], _, _ = strings.Cut(row, " ")
			}
		}
		return strings.Join(rows, "\n")
	}
	want := func() string { return seen(calm) }
	for deadline := time.Now().Add(time.Minute); seen(s) != want() || !strings.Contains(want(), "alive"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after the storm:\n%s\nwithout:\n%s", seen(s), want())
		}
	}
	for _, one := range []*stand{s, calm} {
		one.Process.Signal(syscall.SIGTERM)
		if status := wait(t, one.Cmd); status != 143 {
			t.Errorf("exit status %d", status)
		}
		one.restored()
	}
}

// A modem accepts 20 KB/s and displays it.
type modem struct {
	mu sync.Mutex
	vt *vt.Terminal
}

func (m *modem) Write(b []byte) (int, error) {
	const rate = 20 << 10
	for chunk := range slices.Chunk(b, rate/100) {
		time.Sleep(10 * time.Millisecond)
		m.mu.Lock()
		m.vt.Write(chunk)
		m.mu.Unlock()
	}
	return len(b), nil
}

// waitFor waits until the terminal satisfies is.
func (m *modem) waitFor(t *testing.T, what string, is func(*vt.Terminal) bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		m.mu.Lock()
		done, rows := is(m.vt), m.vt.Rows()
		m.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s never came:\n%s", what, strings.Join(rows, "\n"))
		}
	}
}

func (m *modem) waitForText(t *testing.T, text string) {
	t.Helper()
	m.waitFor(t, text, func(v *vt.Terminal) bool {
		return slices.ContainsFunc(v.Rows(), func(row string) bool { return strings.Contains(row, text) })
	})
}

// TestFloodOnSlowTerminal: while 200,000 tokens arrive at once and the terminal
// can read only a fraction of the output, keys are handled and shown, the end is
// reached, and pending output does not pile up.
func TestFloodOnSlowTerminal(t *testing.T) {
	t.Parallel()
	m := &modem{vt: vt.New(80, 24)}
	s := launchOn(t, m, "flood")
	m.waitForText(t, "Queue a message")
	for _, word := range []string{"these ", "keys ", "arrive"} {
		io.WriteString(s.tty, word)
	}
	m.waitForText(t, "these keys arrive")
	m.waitForText(t, "This is its end.")
	calm := launch(t, "-", "streaming")
	usual := peakMemory(t, calm.Process.Pid)
	calm.Process.Signal(syscall.SIGTERM)
	wait(t, calm.Cmd)
	if peak, most := peakMemory(t, s.Process.Pid), usual+floodTakes(); peak > most {
		t.Errorf("%d KB of memory, want at most %d: %d is usual", peak, most, usual)
	}
	io.WriteString(s.tty, "\x03\x03\x04")
	if status := wait(t, s.Cmd); status != 0 {
		t.Errorf("exit status %d", status)
	}
	m.waitFor(t, "the shell's screen", func(v *vt.Terminal) bool { return !v.On("1049") })
	if len(m.vt.Wrong) > 0 {
		t.Errorf("%q", m.vt.Wrong)
	}
}

// floodTakes returns how much memory a flood may take, in KB: 1 MB of text, and
// the same again for each of a few copies. The race detector stores about four
// more bytes per byte.
func floodTakes() int {
	const most = 60 << 10
	if llmtest.Race {
		return 5 * most
	}
	return most
}

// peakMemory returns the peak memory of a process, in KB.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	status := read(t, fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(status, "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb
}
