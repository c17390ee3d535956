//go:build unix

package attach

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe that nobody writes to would keep the program waiting for ever.
func TestFileIsNoPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{path, "/dev/zero"} {
		if _, err := FromFile(name, Limits{}); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
