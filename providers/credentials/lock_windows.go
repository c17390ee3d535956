package credentials

import (
	"os"

	"golang.org/x/sys/windows"
)

// noFollow is no flag on Windows: the file is checked before it is opened.
const noFollow = 0

// tryLock locks f for this process until it is closed.
func tryLock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
}

// isOwnedByUser returns true: Windows stores ownership in access control lists.
func isOwnedByUser(os.FileInfo) bool { return true }
