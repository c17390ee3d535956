//go:build !linux

package exit

// CheckAddressSpace does nothing: this system has no such limit.
func CheckAddressSpace() {}
