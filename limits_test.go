package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// builtWithC reports whether this binary was linked by a C linker.
func builtWithC() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "1"})
}

// What the program cannot work with ends it with a sentence that says what to do.
func TestLimits(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("limits are those of Linux")
	}
	t.Run("address space", func(t *testing.T) {
		t.Parallel()
		k := newKilled(t, wires[0])
		parley := filepath.Join(k.home, "parley")
		if err := os.Symlink(k.exe, parley); err != nil {
			t.Fatal(err)
		}
		limits := []string{"1500000"}
		if builtWithC() {
			limits = append(limits, "100000") // which Go's runtime alone does not begin with
		}
		for _, kilobytes := range limits {
			cmd := exec.Command("sh", "-c", `ulimit -v `+kilobytes+`; exec "$0" -p hello`, parley)
			cmd.Env = k.command().Env
			out, err := cmd.CombinedOutput()
			if text := string(out); err == nil || strings.Count(text, "\n") != 1 || !strings.Contains(text, "ulimit -v 2097152") {
				t.Errorf("with %s kB: %v\n%s", kilobytes, err, text)
			}
		}
	})
	t.Run("size of the terminal", func(t *testing.T) {
		t.Parallel()
		k := newKilled(t, wires[0])
		tty := k.terminalOf(&pty.Winsize{Rows: 65535, Cols: 65535})
		k.await("the end", func() bool { return tty.shows("65535 × 65535 cells, too many to paint: set its size") })
		if err := tty.cmd.Wait(); err == nil || tty.shows("goroutine") {
			t.Errorf("it ended with %v:\n%s", err, tty.seen)
		}
	})
}
