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

// Directories on the way to one are closed again: each new file descriptor is the lowest that is free.
func TestOpenClosesTheWay(t *testing.T) {
	_, d := tree(t)
	var fds []int
	for range 3 {
		c, err := d.Open("a/b/c")
		if err != nil {
			t.Fatal(err)
		}
		fds = append(fds, c.Fd())
		c.Close()
		if _, err := d.Open("a/b/none"); err == nil {
			t.Error("what does not exist is opened")
		}
	}
	if fds[0] != fds[1] || fds[1] != fds[2] {
		t.Errorf("the file descriptors are %d", fds)
	}
}
