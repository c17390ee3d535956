//go:build unix

package tools

import (
	"io/fs"
	"os"
	"syscall"
)

// nonblock keeps the opening of a pipe from waiting for its other end.
const nonblock = syscall.O_NONBLOCK

// keep gives f the mode and, where that is allowed, the owner of old.
func keep(f *os.File, old fs.FileInfo) error {
	if was, ok := old.Sys().(*syscall.Stat_t); ok {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		is, ok := info.Sys().(*syscall.Stat_t)
		if ok && (is.Uid != was.Uid || is.Gid != was.Gid) {
			_ = f.Chown(int(was.Uid), int(was.Gid)) // only root may give files away
		}
	}
	return f.Chmod(old.Mode().Perm())
}

// links is how many names a file has.
func links(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Nlink)
	}
	return 1
}
