//go:build !linux && !darwin

package cli

// freeSpace returns false: the free space is unknown on this system.
func freeSpace(string) (int64, bool) { return 0, false }
