package tools

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// smallDisk returns a workspace on a disk of 1 MB with a file of old content, and fills what is
// left of the disk but for room.
func smallDisk(t *testing.T, old string, room int) fixture {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	write(t, filepath.Join(dir, "f"), old)
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer filler.Close()
	var stat unix.Statfs_t
	if err := unix.Fstatfs(int(filler.Fd()), &stat); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(filler, strings.Repeat("x", int(stat.Bavail)*int(stat.Bsize)-room)); err != nil {
		t.Fatal(err)
	}
	set, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return fixture{Set: set, t: t}
}

// If the disk fills up while a file is written, its old content stays whole, nothing is left of
// the new one, the model is told why, and once there is room the same call works.
func TestFullDisk(t *testing.T) {
	old := strings.Repeat("old\n", 2000) + "end\n"
	large := strings.Repeat("new content\n", 40<<10/12)
	for name, c := range map[string]struct {
		tool  string
		pairs []any
		room  int
		want  string // content once there is room
	}{
		"write, no room":        {"write", []any{"path", "f", "content", large}, 0, large},
		"write, some room":      {"write", []any{"path", "f", "content", large}, 16 << 10, large},
		"edit, no room":         {"edit", []any{"path", "f", "old", "end\n", "new", large}, 0, strings.TrimSuffix(old, "end\n") + large},
		"edit, some room":       {"edit", []any{"path", "f", "old", "end\n", "new", large}, 16 << 10, strings.TrimSuffix(old, "end\n") + large},
		"a new file, no room":   {"write", []any{"path", "new/g", "content", large}, 0, large},
		"a new file, some room": {"write", []any{"path", "new/g", "content", large}, 16 << 10, large},
	} {
		t.Run(name, func(t *testing.T) {
			f := smallDisk(t, old, c.room)
			f.must("read", "path", "f")
			f.fails(c.tool, c.pairs, "no space left on device")
			if got := f.content("f"); got != old {
				t.Errorf("the old content is gone: %d bytes, were %d", len(got), len(old))
			}
			filepath.WalkDir(f.Root(), func(path string, e os.DirEntry, err error) error {
				if err != nil || !e.IsDir() && e.Name() != "f" && e.Name() != "filler" {
					t.Errorf("left: %s, %v", path, err)
				}
				return nil
			})
			if err := os.Remove(f.at("filler")); err != nil {
				t.Fatal(err)
			}
			f.must(c.tool, c.pairs...)
			if got := f.content(c.pairs[1].(string)); got != c.want {
				t.Errorf("with room again %d bytes, want %d", len(got), len(c.want))
			}
		})
	}
}
