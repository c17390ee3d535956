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

// makePrivate removes the permissions of others from a directory and the files in it. Elsewhere than in
// the user's profile, it would inherit some.
func makePrivate(dir string) error {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return err
	}
	own, err := windows.SecurityDescriptorFromString("D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;" + user.User.Sid.String() + ")")
	if err != nil {
		return err
	}
	list, _, err := own.DACL()
	if err != nil {
		return err
	}
	err = windows.SetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, list, nil)
	if err == windows.ERROR_INVALID_FUNCTION || err == windows.ERROR_NOT_SUPPORTED {
		return nil // the file system has no permissions
	}
	return err
}
