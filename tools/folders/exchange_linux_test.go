package folders

import "golang.org/x/sys/unix"

// exchange exchanges two paths.
func exchange(a, b string) {
	_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
