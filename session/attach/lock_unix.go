//go:build unix

package attach

import (
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks f for whoever opened it, until it is closed or they die.
func tryLock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
