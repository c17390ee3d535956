//go:build unix

package credentials

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// noFollow refuses links when a file is opened, and does not block on a pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// tryLock locks f for this process until it is closed.
func tryLock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// isOwnedByUser reports whether a file belongs to this user.
func isOwnedByUser(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || os.Geteuid() == 0 || int(stat.Uid) == os.Geteuid()
}

// makePrivate removes the permissions of others from a directory.
func makePrivate(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("%s is open to others (mode %04o): chmod 700 %[1]s", dir, info.Mode().Perm())
	}
	return nil
}
