//go:build !linux && !darwin

package doctor

// freeSpace returns false: the free space is unknown on this system.
func freeSpace(string) (int64, bool) { return 0, false }
