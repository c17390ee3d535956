//go:build unix

package files

import (
	"path/filepath"
	"syscall"
	"testing"
)

// Opening a pipe waits for its other end; a walk must not wait.
func TestPipesAreLeftAlone(t *testing.T) {
	dir := tree(t, "a")
	for _, name := range []string{".gitignore", "pipe"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Skip(err)
		}
	}
	found, _ := walked(t, dir).Find("", 10)
	if got := names(found); got != "a" {
		t.Errorf("got %s", got)
	}
}
