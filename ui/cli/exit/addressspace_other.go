//go:build !linux

package exit

// CheckAddressSpace does nothing: there is no such limit to look up.
func CheckAddressSpace() {}
