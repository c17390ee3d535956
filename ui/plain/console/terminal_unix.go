//go:build unix

package console

import (
	"os"
	"syscall"
)

// console is the terminal of this process.
const console = "/dev/tty"

// Endings lists the signals that end the program cleanly.
var Endings = []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
