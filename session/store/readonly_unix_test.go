//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"parley/providers/llm"
)

func init() { children["readonly"] = childReadOnly }

// childReadOnly lists and talks where nothing can be written, as nobody: root
// may write everywhere.
func childReadOnly(path, id string) error {
	if os.Getuid() == 0 {
		if err := errors.Join(syscall.Setgid(65534), syscall.Setuid(65534)); err != nil {
			fmt.Println("skip", err)
			return nil
		}
	}
	db, err := Open(path)
	if err != nil {
		return err
	}
	if db.ReadOnly() == nil {
		return errors.New("it can be written")
	}
	list, err := db.List(Query{})
	if err != nil || len(list) != 1 {
		return fmt.Errorf("%d sessions, %w", len(list), err)
	}
	l, err := db.Resume(id)
	if err != nil {
		return err
	}
	if err := l.Put(says(3, llm.RoleUser, "still there?")); err == nil {
		return errors.New("a message was kept nowhere")
	}
	if n, err := l.Pending(); n != 1 || err == nil || len(l.Nodes()) != 3 {
		return fmt.Errorf("%d pending, %d nodes, %w", n, len(l.Nodes()), err)
	}
	fmt.Println("fine", db.ReadOnly())
	return nil
}

// A directory or file that cannot be written can be read, and the talk goes on.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	for name, modes := range map[string][2]os.FileMode{"folder": {0o555, 0o666}, "file": {0o777, 0o444}, "both": {0o555, 0o444}} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			for _, up := range []string{filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))} {
				if err := os.Chmod(up, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(dir, "parley.db")
			db := reopen(t, path)
			l := db.Create(Session{})
			talk(t, l, "hello", "hi")
			id := l.Session().ID
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Chmod(path, modes[1]), os.Chmod(dir, modes[0])); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
			cmd, out := child(t, "readonly", path, id)
			said := line(t, out)
			_ = cmd.Wait()
			if len(said) > 4 && said[:4] == "skip" {
				t.Skip(said)
			}
			if len(said) < 4 || said[:4] != "fine" {
				t.Error(said)
			}
		})
	}
}

// Whatever the umask, conversations are for their owner only.
func TestModes(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	db := reopen(t, filepath.Join(t.TempDir(), "share", "parley", "parley.db"))
	talk(t, db.Create(Session{}), "hello")
	want := map[string]os.FileMode{
		db.path: 0o600, db.path + "-wal": 0o600, db.path + "-shm": 0o600,
		filepath.Dir(db.path): 0o700, filepath.Dir(filepath.Dir(db.path)): 0o700,
	}
	for path, mode := range want {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, mode)
		}
	}
	if err := os.Chmod(db.path, 0o644); err != nil {
		t.Fatal(err)
	}
	reopen(t, db.path)
	if info, err := os.Stat(db.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("left with %v, %v", info.Mode(), err)
	}
}
