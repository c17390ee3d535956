package ui

import "golang.org/x/sys/unix"

// flushInput throws away what the terminal sent and nobody read.
func flushInput(fd uintptr) {
	unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH)
}
