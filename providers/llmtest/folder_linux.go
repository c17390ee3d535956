package llmtest

import (
	"os"
	"syscall"
	"testing"
)

// memoryDir is the directory where Linux keeps files in memory, and tmpfs is the type of its file
// system.
const (
	memoryDir = "/dev/shm"
	tmpfs     = 0x01021994
)

// Folder returns a temporary directory in memory, where syncing a file takes no time. In
// benchmarks, with Long, or without enough memory, it returns the test's TempDir.
func Folder(t testing.TB) string {
	t.Helper()
	var room syscall.Statfs_t
	_, timed := t.(*testing.B)
	if err := syscall.Statfs(memoryDir, &room); timed || Long || err != nil || room.Type != tmpfs || room.Bavail < 1<<30/uint64(room.Bsize) {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memoryDir, "parley-test")
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
