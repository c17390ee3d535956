//go:build !unix

package renderer

import tea "charm.land/bubbletea/v2"

// Supported reports whether Screens draw on this system: here Bubble Tea does.
const Supported = false

// Follow does nothing: Bubble Tea does.
func (s *Screen) Follow(func(tea.Msg)) {}

func stopped() error { return nil }
