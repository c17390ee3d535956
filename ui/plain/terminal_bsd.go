//go:build unix && !linux

package plain

import "golang.org/x/sys/unix"

// longestLine is how many bytes of a line the kernel's line editing keeps
// (MAX_CANON is 1024 on macOS, with the newline, and 255 or more elsewhere).
const longestLine = 1023

// forget throws away what was typed and not read, the line that is being typed
// included.
func (k *keyboard) forget() {
	const read = 1 // FREAD
	unix.IoctlSetPointerInt(int(k.in.Fd()), unix.TIOCFLUSH, read)
}
