package features

import (
	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
)

// Local looks for what on this machine can answer: once, when the first frame is drawn and
// the question about the directory, if there is one, was answered.
type Local struct {
	*Deps
	begun, drawn, ready bool
}

// A DiscoverMsg says that the first frame is on the terminal.
type DiscoverMsg struct{}

// Begin returns the command that waits for the first frame, the first time; nil afterwards.
func (f *Local) Begin() tea.Cmd {
	if f.begun {
		return nil
	}
	f.begun = true
	return f.Tick(0, DiscoverMsg{})
}

// Ready says that nothing else is to be asked before, and starts looking if the first frame
// is drawn.
func (f *Local) Ready() tea.Cmd {
	f.ready = true
	return f.look()
}

// Update starts looking, and reports whether msg is DiscoverMsg.
func (f *Local) Update(msg tea.Msg) (tea.Cmd, bool) {
	if _, ok := msg.(DiscoverMsg); !ok {
		return nil, false
	}
	f.drawn = true
	return f.look(), true
}

func (f *Local) look() tea.Cmd {
	if !f.drawn || !f.ready {
		return nil
	}
	f.drawn = false
	return f.Perform(app.DiscoverLocal(f.App))
}
