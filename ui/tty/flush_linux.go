// Package tty does with terminals what both interactive front ends need.
package tty

import "golang.org/x/sys/unix"

// FlushInput throws away what a terminal sent and nobody read, the line that is
// being typed included.
func FlushInput(fd uintptr) {
	_ = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) // it is no terminal: nothing was sent
}
