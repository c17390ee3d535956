//go:build unix && !linux

package ui

// flushInput does nothing: switching the terminal back drops what was not read.
func flushInput(uintptr) {}
