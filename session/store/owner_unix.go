//go:build unix

package store

import (
	"os"
	"path/filepath"
	"syscall"
)

// inheritOwner gives a file that root made in another user's directory to that user, who could
// not use it otherwise. SQLite does the same with its sidecar files.
func inheritOwner(path string) {
	if os.Geteuid() != 0 {
		return
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != 0 && info.Mode()&os.ModeSticky == 0 {
		_ = os.Lchown(path, int(s.Uid), int(s.Gid))
	}
}
