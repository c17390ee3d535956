//go:build !linux

package renderer

import "os"

// Elsewhere SIGTSTP from other processes stops the process immediately: Go cannot restore the
// default action of a signal, which ctrl+z needs to stop it.
func catchStops(chan os.Signal) {}

func releaseStops(chan os.Signal) {}
