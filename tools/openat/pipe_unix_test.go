//go:build unix

package openat

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe without a writer is refused at once.
func TestPipe(t *testing.T) {
	dir, d := tree(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.OpenFile("pipe"); !errors.Is(err, ErrNotRegular) {
		t.Errorf("got %v", err)
	}
}
