//go:build !unix

package console

import "os"

// console is the device that the user types on.
const console = "CONIN$"

// LongestLine is the maximum number of bytes of a line that the console's line editing keeps.
const LongestLine = 8190

// Endings lists the signals that end the program cleanly, besides ctrl+c.
var Endings []os.Signal
