//go:build unix

package attach

import (
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks f for the process that opened it, until f is closed or the process ends.
func tryLock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
