// Package tty holds the terminal functions shared by both interactive front ends.
package tty

import "golang.org/x/sys/unix"

// FlushInput discards unread input of a terminal, including the incomplete line.
func FlushInput(fd uintptr) {
	_ = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) // fails if fd is not a terminal
}
