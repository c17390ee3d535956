//go:build unix && !linux

package terminal

// modes returns what stty is told to bring back: how it was exactly is written
// differently on each system.
func (*Terminal) modes() string { return "sane" }
