package llmtest

import (
	"os"
	"syscall"
	"testing"
)

// memory is where Linux keeps files in memory, and tmpfs the type of such a file system.
const (
	memory = "/dev/shm"
	tmpfs  = 0x01021994
)

// Folder returns a folder of a test that has no use for a disk: syncing a file takes no time
// there. In benchmarks, with Long, and where memory has no room, it is the test's TempDir.
func Folder(t testing.TB) string {
	t.Helper()
	var room syscall.Statfs_t
	_, timed := t.(*testing.B)
	if err := syscall.Statfs(memory, &room); timed || Long || err != nil || room.Type != tmpfs || room.Bavail < 1<<30/uint64(room.Bsize) {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "parley-test")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
