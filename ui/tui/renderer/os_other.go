//go:build !unix

package renderer

import tea "charm.land/bubbletea/v2"

// Supported reports whether Screens draw on this system. Here Bubble Tea draws.
const Supported = false

// Follow does nothing, because Bubble Tea follows the terminal.
func (s *Screen) Follow(func(tea.Msg)) {}

func stopped() error { return nil }
