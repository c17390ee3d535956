//go:build !linux

package tools

// ScrubEnvironment removes the variables that no command gets from the copy of parley's environment
// in /proc/PID/environ: a command of the same user, or of root, could read keys there. os.Getenv
// still has them. It reports whether it could.
func ScrubEnvironment() bool { return false }
