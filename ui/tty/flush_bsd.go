//go:build unix && !linux

package tty

import "golang.org/x/sys/unix"

// FlushInput throws away what a terminal sent and nobody read, the line that is
// being typed included. Setting its modes (TIOCSETA) does not.
func FlushInput(fd uintptr) {
	const read = 1                                             // FREAD
	_ = unix.IoctlSetPointerInt(int(fd), unix.TIOCFLUSH, read) // it is no terminal: nothing was sent
}
