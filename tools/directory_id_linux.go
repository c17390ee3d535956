package tools

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// directoryID returns an id that distinguishes an open directory from a later one at the same path;
// "" if there is none. Inode numbers are reused, and device numbers change on remount or reboot.
// The creation time is used instead where the file system stores it.
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
