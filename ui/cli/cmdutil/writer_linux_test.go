package cmdutil

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A pipe is waited for if another program writes to it, but not if we only have it open, or the other program reads it.
func TestInputHasWriter(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if inputHasWriter(r) {
		t.Error("a pipe of our own has a writer")
	}
	for _, tt := range []struct {
		name   string
		cmd    *exec.Cmd
		writes bool
	}{
		{"a reader", &exec.Cmd{Stdin: r}, false},
		{"a writer", &exec.Cmd{Stdin: r, Stdout: w}, true},
	} {
		if tt.cmd.Path, err = exec.LookPath("sleep"); err != nil {
			t.Skip(err)
		}
		tt.cmd.Args = []string{"sleep", "60"}
		if err := tt.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if got := inputHasWriter(r); got != tt.writes {
			t.Errorf("%s: got %v", tt.name, got)
		}
		tt.cmd.Process.Kill()
		tt.cmd.Wait()
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if inputHasWriter(null) {
		t.Error("a device has a writer")
	}
	null.Close()
	if inputHasWriter(null) {
		t.Error("a closed file has a writer")
	}
}

// A file is read to its end, but not one that is too large.
func TestReadStdinFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large")
	for size, want := range map[int64]string{maxInput: "", maxInput + 1: "standard input has more than 32 MB"} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if !inputHasWriter(f) {
			t.Error("a file is not waited for")
		}
		got, err := ReadStdin(f, true, func(text string) { t.Error(text) })
		if want == "" && int64(len(got)) != size || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%d bytes: got %d, %v, want %q", size, len(got), err, want)
		}
		f.Close()
	}
	folder, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if _, err := ReadStdin(folder, false, nil); err == nil || !strings.HasPrefix(err.Error(), "standard input: read ") {
		t.Errorf("a folder: got %v", err)
	}
}
