//go:build unix && !linux

package tty

import "golang.org/x/sys/unix"

// FlushInput discards unread input of a terminal, including the incomplete
// line. Setting the terminal's modes (TIOCSETA) does not.
func FlushInput(fd uintptr) {
	const read = 1                                             // FREAD
	_ = unix.IoctlSetPointerInt(int(fd), unix.TIOCFLUSH, read) // fails if fd is not a terminal
}
