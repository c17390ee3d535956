//go:build unix

package wire

import (
	"io/fs"
	"os"
	"syscall"
)

// openFlags follows no link, and does not wait for the other end of a pipe.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// ownedByUser reports whether a file belongs to who runs this.
func ownedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
