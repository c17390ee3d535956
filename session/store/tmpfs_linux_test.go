package store

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley/providers/llm"
)

// A full disk costs nothing that was said, whether it was full when parley began
// or became full in the middle: all of it is written once there is room.
func TestFullDisk(t *testing.T) {
	for _, size := range []string{"2m", "4m", "8m"} {
		for _, full := range []string{"before", "between"} {
			t.Run(size+" "+full, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
					t.Skipf("a small disk cannot be mounted here: %v", err)
				}
				t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
				path := filepath.Join(dir, "parley.db")
				db := reopen(t, path)
				first := db.Create(Session{})
				talk(t, first, "there was room", "yes")
				if full == "before" {
					if err := db.Close(); err != nil {
						t.Fatal(err)
					}
					clog(t, dir)
					var err error
					if db, err = Open(path); err != nil {
						t.Fatal(err)
					}
				} else {
					clog(t, dir)
				}
				if list, err := db.List(Query{}); err != nil || len(list) != 1 {
					t.Errorf("listed %d sessions, %v", len(list), err)
				}
				l := db.Create(Session{})
				long := strings.Repeat("there is none ", 10<<10)
				if err := l.Put(says(1, llm.RoleUser, long)); err == nil {
					t.Fatal("a message was kept nowhere")
				}
				if n, err := l.Pending(); n != 1 || err == nil || db.ReadOnly() == nil && full == "before" {
					t.Errorf("%d pending: %v; read-only: %v", n, err, db.ReadOnly())
				}
				if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
					t.Fatal(err)
				}
				if err := l.Put(says(2, llm.RoleAssistant, "again there is")); err != nil {
					t.Fatalf("with room again: %v", err)
				}
				if n, err := l.Pending(); n != 0 || err != nil {
					t.Errorf("%d pending: %v", n, err)
				}
				id := l.Session().ID
				if err := db.Close(); err != nil {
					t.Error(err)
				}
				db = reopen(t, path)
				if _, nodes, err := db.Read(id); err != nil || len(nodes) != 2 || nodes[0].Text() != long {
					t.Errorf("kept %d messages, %v", len(nodes), err)
				}
				if err := db.Check(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// clog takes what room there is on a small disk.
func clog(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	_ = f.Close()
}
