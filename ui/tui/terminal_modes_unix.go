//go:build unix && !linux

package tui

// modes is what stty is told to bring back: how it was exactly is written
// differently on each system.
func (*terminal) modes() string { return "sane" }
