//go:build unix && !linux

package terminal

// modes returns the modes for stty to restore. The exact form differs between
// systems, so it returns "sane".
func (*Terminal) modes() string { return "sane" }
