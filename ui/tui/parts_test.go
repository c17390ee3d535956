package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

type part struct {
	cmd     tea.Cmd
	handles bool
}

func (p part) Update(tea.Msg) (tea.Cmd, bool) { return p.cmd, p.handles }

// The command of a part that leaves a message to others is run, too.
func TestOfferKeepsCommands(t *testing.T) {
	all := parts{part{cmd: func() tea.Msg { return "first" }}, part{handles: true}, part{cmd: func() tea.Msg { return "last" }}}
	if cmd, ok := all.offer(nil); !ok || cmd == nil || cmd() != "first" {
		t.Errorf("handled: %t, has a command: %t", ok, cmd != nil)
	}
}
