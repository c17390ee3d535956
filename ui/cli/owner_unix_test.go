//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Files created by root get the owner of the home folder. The target of a link that the owner puts in their place, and
// a file with several names, stay root's.
func TestReturnFiles(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("for root only")
	}
	const user = 12345
	home, etc := t.TempDir(), t.TempDir()
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	write := func(path string) string {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	owned := func(path string) int {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return int(info.Sys().(*syscall.Stat_t).Uid)
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(home, ".config/parley")
	must(os.MkdirAll(config, 0o700))
	for _, dir := range []string{home, filepath.Dir(config), config} {
		must(os.Chown(dir, user, user))
	}
	secret, linked := write(filepath.Join(etc, "secret")), write(filepath.Join(etc, "linked"))

	atEnd := returnFiles()
	made := []string{write(filepath.Join(home, ".local/share/parley/undo/objects/a")), write(filepath.Join(home, ".local/state/parley/b"))}
	must(os.Link(linked, filepath.Join(home, ".local/share/parley/linked")))
	moved := write(filepath.Join(home, "key")) // an older file of root's
	must(os.Chtimes(moved, time.Time{}, time.Now().Add(-time.Hour)))
	must(os.Rename(moved, filepath.Join(home, ".local/share/parley/key")))
	moved = filepath.Join(home, ".local/share/parley/key")
	must(os.Remove(config))
	must(os.Symlink(etc, config))
	must(os.Symlink(etc, filepath.Join(home, ".cache"))) // it was missing before
	cached := write(filepath.Join(etc, "parley/cached"))
	atEnd()

	for _, path := range append(made, filepath.Join(home, ".local"), filepath.Join(home, ".local/share/parley/undo")) {
		if owned(path) != user {
			t.Errorf("%s is still root's", path)
		}
	}
	for _, path := range []string{etc, secret, linked, moved, cached, filepath.Dir(cached)} {
		if owned(path) != 0 {
			t.Errorf("%s was given away", path)
		}
	}
}
