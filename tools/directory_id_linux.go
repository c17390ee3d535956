package tools

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// directoryID tells an open directory from another one that stands at its path later; "" if nothing
// does. Numbers of files are used again, and those of devices change when one is mounted again or
// the machine starts: where the file system keeps it, the time of creation counts instead.
func directoryID(dir *os.File) string {
	var s unix.Statx_t
	if err := unix.Statx(int(dir.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &s); err != nil {
		return ""
	}
	if s.Mask&unix.STATX_BTIME != 0 {
		return fmt.Sprintf("%d created %d.%09d", s.Ino, s.Btime.Sec, s.Btime.Nsec)
	}
	return fmt.Sprintf("%d on %d:%d", s.Ino, s.Dev_major, s.Dev_minor)
}
