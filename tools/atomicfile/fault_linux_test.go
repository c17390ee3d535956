package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMain runs what the child of a test does, or the tests.
func TestMain(m *testing.M) {
	name := os.Getenv("PARLEY_ATOMICFILE_CHILD")
	if name == "" {
		os.Exit(m.Run())
	}
	write := func() error { return Replace(name, []byte(newText)) }
	if _, err := os.Lstat(name); err != nil {
		write = func() error { return Create(name, writes(newText)) }
	}
	if err := write(); err != nil {
		fmt.Println(err)
		os.Exit(failed)
	}
	os.Exit(0)
}

const (
	oldText, newText = "what was there", "all of what is new"
	failed           = 17 // the status of a child that could not write
)

// On a disk that fails at any of the calls that write a file, a new one is whole or not there, and one that is
// replaced has its old or its new content, as was told; the error names the file and the cause.
func TestFailingDisk(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed: what a failing disk leaves is not checked")
	}
	if out, err := exec.Command(strace, "-o", os.DevNull, "-e", "inject=getppid:error=EIO", "true").CombinedOutput(); err != nil {
		t.Skipf("strace cannot have calls fail here, so what a failing disk leaves is not checked: %s", out)
	}
	for _, tt := range []struct{ call, errno, says string }{
		{"write", "ENOSPC", "no space left on device: free some space"},
		{"write", "EIO", "input/output error"},
		{"fsync", "EIO", "input/output error"},
		{"fsync", "EDQUOT", "disk quota exceeded: free some space"},
		{"renameat,renameat2,linkat", "EIO", "input/output error"},
	} {
		for _, there := range []string{"", oldText} {
			told := 0
			for _, when := range []string{"1", "2", "1+"} { // 2 is of the folder, or of nothing
				if failingDisk(t, fmt.Sprintf("inject=%s:error=%s:when=%s", tt.call, tt.errno, when), there, tt.says) {
					told++
				}
			}
			if told == 0 {
				t.Errorf("%s %s, with %q there: it never failed", tt.call, tt.errno, there)
			}
		}
	}
}

// failingDisk writes a file on a disk whose calls fail, and reports whether that was told.
func failingDisk(t *testing.T, inject, there, says string) bool {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if there != "" {
		if err := os.WriteFile(name, []byte(there), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("strace", "-f", "-o", os.DevNull, "-e", inject, os.Args[0])
	cmd.Env = append(os.Environ(), "PARLEY_ATOMICFILE_CHILD="+name)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	want, ended := newText, err == nil
	if errors.As(err, &exit) && exit.ExitCode() == failed {
		want, ended = there, true
		if text := string(out); text != "" && text != fmt.Sprintf("saving %s: %s\n", name, says) { // standard output may fail as well
			t.Errorf("%s, with %q there: told %q", inject, there, text)
		}
	}
	if !ended {
		t.Fatalf("%s: %v: %s", inject, err, out)
	}
	left, _ := os.ReadDir(filepath.Dir(name))
	if content(name) != want || len(left) > 1 || want == "" && len(left) > 0 {
		t.Errorf("%s, with %q there, told %q: %q, want %q; left %v", inject, there, out, content(name), want, left)
	}
	return want == there
}
