//go:build unix

package tools

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// nonblock keeps opening a pipe from waiting for its other end.
const nonblock = syscall.O_NONBLOCK

// copyOwner gives f the owner and the group of old. Only root may change the
// owner, and a mode applied to another group would grant access to others.
func copyOwner(f *os.File, old fs.FileInfo) error {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	if ok && (is.Uid != was.Uid || is.Gid != was.Gid) {
		return f.Chown(int(was.Uid), int(was.Gid))
	}
	return nil
}

// isMount reports whether a rename failed because the target is a mount point.
func isMount(err error) bool { return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV) }

// linkCount returns the number of hard links to a file.
func linkCount(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Nlink)
	}
	return 1
}
