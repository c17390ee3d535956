package credentials

import (
	"os"

	"golang.org/x/sys/windows"
)

// noFollow has no flag here: refuse looks before the file is opened.
const noFollow = 0

// tryLock locks f for this process until it is closed.
func tryLock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
}

// isOwnedByUser reports whether a file belongs to this user, which Windows says by its lists of
// rights.
func isOwnedByUser(os.FileInfo) bool { return true }
