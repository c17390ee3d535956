//go:build !linux

package renderer

import "os"

// Elsewhere SIGTSTP from outside stops the process as it is: Go cannot put the default action of a
// signal back, by which ctrl+z stops it.
func catchStops(chan os.Signal) {}

func releaseStops(chan os.Signal) {}
