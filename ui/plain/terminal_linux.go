package plain

import "golang.org/x/sys/unix"

// longestLine is how many bytes of a line the kernel's line editing keeps (N_TTY
// has a buffer of 4096, with the newline).
const longestLine = 4095

// forget throws away what was typed and not read, the line that is being typed
// included.
func (k *keyboard) forget() { unix.IoctlSetInt(int(k.in.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
