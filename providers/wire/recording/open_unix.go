//go:build unix

package recording

import (
	"io/fs"
	"os"
	"syscall"
)

// openFlags follows no link and does not block on a pipe.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// ownedByUser reports whether a file belongs to the current user.
func ownedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
