//go:build !unix

package console

import "os"

// console names the device a user types at.
const console = "CONIN$"

// LongestLine limits the bytes of a line that the console's line editing keeps.
const LongestLine = 8190

// Endings lists the signals that end the program in order, beside ctrl+c.
var Endings []os.Signal
