package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/tools/act"
	"parley/tools/process"
)

// The helper of a program starts before the program may run, and the program only then.
func TestProgramGetsReadyBeforeItMayRun(t *testing.T) {
	for _, off := range []bool{false, true} {
		t.Run(fmt.Sprintf("sandbox off: %v", off), func(t *testing.T) {
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			f := open(t, nil)
			f.EnableSandbox(SandboxConfig{Off: off})
			f.Sandbox()
			ready, done := make(chan struct{}), make(chan act.Outcome)
			a, err := f.Plan(t.Context(), "shell", args("command", "cat looked"))
			if err != nil {
				t.Fatal(err)
			}
			go func() { done <- a.Run(act.WithReady(t.Context(), ready), nil) }()
			for end := time.Now().Add(time.Minute); !hasHelper(f.Root()); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("no helper starts")
				}
			}
			write(t, f.at("looked"), "yes\n")
			close(ready)
			if out := <-done; out.Failed || !strings.HasPrefix(out.Text, "yes\n") {
				t.Errorf("got %+v", out)
			}
		})
	}
}

// hasHelper reports whether this process has a child that works in dir.
func hasHelper(dir string) bool {
	all, err := process.List()
	if err != nil {
		return false
	}
	for _, pid := range process.Descendants(all, os.Getpid()) {
		if at, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err == nil && at == dir {
			return true
		}
	}
	return false
}

// A tool that starts no program changes nothing before it may.
func TestWriteWaitsUntilItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, nil)
		ready, done := make(chan struct{}), make(chan act.Outcome)
		a, err := f.Plan(t.Context(), "write", args("path", "new", "content", "text"))
		if err != nil {
			t.Fatal(err)
		}
		go func() { done <- a.Run(act.WithReady(t.Context(), ready), nil) }()
		synctest.Wait()
		if found, _ := filepath.Glob(f.at("*")); len(found) > 0 {
			t.Errorf("it did not wait: %v", found)
		}
		close(ready)
		if out := <-done; out.Failed || f.content("new") != "text" {
			t.Errorf("got %+v", out)
		}
	})
}
